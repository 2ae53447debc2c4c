"""The kinds of models: what each is called, where its estimator lives, which options it takes. A new kind is one entry.

`tagline.load`, `tagline train --model`, the help of the command line and the public names of the package all look
here. Nothing heavy is imported: estimators are imported when they are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from tagline.errors import InputError, MissingPackageError
from tagline.settings import Declared, declarations, resolved


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Attributes:
        name: as ``--model`` and model files have it.
        home: module and class of the estimator, ``module:Class``; it fulfils `tagline.models.contract.Model`.
        advice: when to pick it, for the help.
        settings: module and class that declares what its estimator may be told (`tagline.settings`).
        files: the same of what `tagline train` reads and writes for it besides sentences and model; empty for nothing.
        recipe: how `tagline train` trains it, ``module:Class``; a `tagline.models.recipes.Recipe`.
        tagger: module and class of what answers for a model without scikit-learn, ``module:Class``; empty where the
            estimator does.
        packages, extra: what it needs beyond the base package, and the name under which pip installs that.
        exports: whether its class has `export`, which writes a network as ONNX.
    """

    name: str
    home: str
    advice: str
    settings: str
    files: str = "tagline.models.settings:NoFiles"
    recipe: str = "tagline.models.recipes:Recipe"
    tagger: str = ""
    packages: tuple[str, ...] = ()
    extra: str = ""
    exports: bool = False

    @property
    def class_name(self) -> str:
        """The name of the estimator's class."""
        return self.home.partition(":")[2]

    @property
    def estimator(self) -> Any:
        """The estimator's class."""
        self._require()
        return resolved(self.home)

    @property
    def tagger_class(self) -> Any:
        """The class of what answers."""
        self._require()
        return resolved(self.tagger or self.home)

    def _require(self) -> None:
        if missing := [name for name in self.packages if not is_installed(name)]:
            raise MissingPackageError(self.class_name, ", ".join(missing), f"pip install 'tagline[{self.extra}]'")

    @property
    def recipe_class(self) -> Any:
        """The class of the recipe."""
        return resolved(self.recipe)

    @property
    def files_class(self) -> Any:
        """The class of what `tagline train` reads and writes."""
        return resolved(self.files)

    @property
    def options(self) -> dict[str, Declared]:
        """The options of `tagline train` that it takes, besides those that every kind takes, by their settings."""
        owners = (resolved(self.settings), self.files_class)
        declared = {name: entry for owner in owners for name, entry in declarations(owner).items()}
        return {name: entry for name, entry in declared.items() if entry.setting.panel is not None}


def is_installed(package: str) -> bool:
    """Say whether a package is there, without importing it."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # who blocks it, or left an empty entry among the modules
        return False


_KINDS: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Add a kind of model; its name must be new."""
    if kind.name in _KINDS:
        raise InputError("kind: expected a new name, got {!r}, which is {}", kind.name, _KINDS[kind.name].home)
    _KINDS[kind.name] = kind


def unregister(name: str) -> None:
    """Take a kind away again."""
    del _KINDS[name]


def kinds() -> Mapping[str, Kind]:
    """Return all kinds by their names."""
    return MappingProxyType(_KINDS)


def kind_named(name: str) -> Kind:
    """Return a kind by its name, or say which there are."""
    if name not in _KINDS:
        raise InputError("--model: expected one of {}, got {!r}", ", ".join(_KINDS), name)
    return _KINDS[name]


_CRF = "tagline.models.crf.settings:CRFSettings"
_NETWORK_FILES = "tagline.models.networks:NetworkFiles"

register(
    Kind(
        "crf",
        "tagline.models.crf.estimator:CRF",
        "features of words and their neighbours, by a template: accurate, trained on a CPU in seconds to minutes, "
        "looks at all columns. The one to begin with",
        _CRF,
        "tagline.models.crf.settings:CRFFiles",
        tagger="tagline.models.crf.tagger:CRFTagger",
        recipe="tagline.models.crf.recipe:CRFRecipe",
    )
)
register(
    Kind(
        "memm",
        "tagline.models.crf.memm:MEMM",
        "a CRF's features, each token normalised by itself after the label before it: passes are shorter with many "
        "labels, label bias costs accuracy; a baseline",
        _CRF,
        "tagline.models.crf.settings:FeatureFiles",
        tagger="tagline.models.crf.tagger:MEMMTagger",
        recipe="tagline.models.crf.recipe:CRFRecipe",
    )
)
register(
    Kind(
        "maxent",
        "tagline.models.crf.memm:MaxEnt",
        "a CRF's features, each token labelled by itself: for labels that do not depend on their neighbours, and to "
        "see what transitions are worth",
        _CRF,
        "tagline.models.crf.settings:FeatureFiles",
        tagger="tagline.models.crf.tagger:MaxEntTagger",
        recipe="tagline.models.crf.recipe:CRFRecipe",
    )
)
register(
    Kind(
        "semicrf",
        "tagline.models.semicrf.estimator:SemiCRF",
        "a CRF whose units are whole segments, words or names, with features of the segment: its string, length, "
        "words beside it, how often it was seen. For word segmentation and long names; slower than crf",
        "tagline.models.semicrf.settings:SemiCRFSettings",
        "tagline.models.semicrf.settings:SemiCRFFiles",
        recipe="tagline.models.semicrf.recipe:SemiCRFRecipe",
    )
)
register(
    Kind(
        "hmm",
        "tagline.models.hmm.estimator:HMM",
        "each tag emits words and follows a tag: counted in a second, one column; a baseline, or few data. With "
        "--states it learns hidden states of a series, a .csv file",
        "tagline.models.hmm.settings:HMMSettings",
        "tagline.models.hmm.settings:HMMFiles",
        recipe="tagline.models.hmm.recipe:HMMRecipe",
    )
)
register(
    Kind(
        "trigram",
        "tagline.models.trigram.estimator:TrigramTagger",
        "parts of speech by two tags before and word endings: counted in seconds, tags the fastest",
        "tagline.models.trigram.settings:TrigramSettings",
    )
)
register(
    Kind(
        "bilstm",
        "tagline.models.neural.bilstm:BiLSTMCRF",
        "a network that reads words and their characters in both directions, a CRF on top: for thousands of "
        "sentences, best with --embeddings; takes minutes on a CPU. Needs PyTorch",
        "tagline.models.networks:BiLSTMSettings",
        _NETWORK_FILES,
        recipe="tagline.models.neural.recipe:NetworkRecipe",
        packages=("torch",),
        extra="torch",
        exports=True,
    )
)
register(
    Kind(
        "transformer",
        "tagline.models.neural.transformer:TransformerCRF",
        "a pretrained --encoder (BERT and its kin), a CRF over its words: it knows the language already, so the "
        "most accurate on unseen words and with few sentences; wants a GPU. Needs PyTorch and transformers",
        "tagline.models.networks:TransformerSettings",
        "tagline.models.networks:TransformerFiles",
        recipe="tagline.models.neural.recipe:NetworkRecipe",
        packages=("torch", "transformers", "tokenizers"),
        extra="transformers",
        exports=True,
    )
)
