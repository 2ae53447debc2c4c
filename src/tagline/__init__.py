"""Tagline: linear-chain sequence labelling. The public names, resolved when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tagline import compiled as _compiled  # noqa: F401 - for its warning where there is none

if TYPE_CHECKING:
    from tagline import chain, datasets, evaluation, features, plots, readers, scale
    from tagline.compiled import set_threads, threads
    from tagline.errors import InputError, NoPathError, StorageError, TaglineError, TrainingError
    from tagline.features.functions import FeatureFunctions
    from tagline.features.lexicons.dictionaries import Dictionary
    from tagline.features.templates.template import Template
    from tagline.models.crf.compilation import CompiledCorpus, compile_corpus
    from tagline.models.crf.estimator import CRF
    from tagline.models.crf.memm import MEMM, MaxEnt
    from tagline.models.files import load
    from tagline.models.frames import entities_frame
    from tagline.models.hmm.estimator import HMM
    from tagline.models.neural.bilstm import BiLSTMCRF
    from tagline.models.neural.transformer import TransformerCRF
    from tagline.models.semicrf.estimator import SemiCRF
    from tagline.models.trigram.estimator import TrigramTagger
    from tagline.readers.corpus import Corpus, Sentence
    from tagline.showing import show
    from tagline.training.running.callbacks import TrainingState
    from tagline.types import Chain, Counts, Gradients, Marginals, Paths, RankedPaths, ViterbiTable

__version__ = "0.1.0"

_HOMES = {
    "tagline.compiled": ("set_threads", "threads"),
    "tagline.errors": ("InputError", "NoPathError", "StorageError", "TaglineError", "TrainingError"),
    "tagline.features.lexicons.dictionaries": ("Dictionary",),
    "tagline.features.functions": ("FeatureFunctions",),
    "tagline.features.templates.template": ("Template",),
    "tagline.models.crf.compilation": ("CompiledCorpus", "compile_corpus"),
    "tagline.models.files": ("load",),
    "tagline.models.frames": ("entities_frame",),
    "tagline.readers.corpus": ("Corpus", "Sentence"),
    "tagline.showing": ("show",),
    "tagline.training.running.callbacks": ("TrainingState",),
    "tagline.types": ("Chain", "Counts", "Gradients", "Marginals", "Paths", "RankedPaths", "ViterbiTable"),
}
_MODULES = ("chain", "datasets", "evaluation", "features", "nn", "plots", "readers", "scale")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CRF",
    "HMM",
    "MEMM",
    "BiLSTMCRF",
    "Chain",
    "CompiledCorpus",
    "Corpus",
    "Counts",
    "Dictionary",
    "FeatureFunctions",
    "Gradients",
    "InputError",
    "Marginals",
    "MaxEnt",
    "NoPathError",
    "Paths",
    "RankedPaths",
    "SemiCRF",
    "Sentence",
    "StorageError",
    "TaglineError",
    "Template",
    "TrainingError",
    "TrainingState",
    "TransformerCRF",
    "TrigramTagger",
    "ViterbiTable",
    "__version__",
    "chain",
    "compile_corpus",
    "datasets",
    "entities_frame",
    "evaluation",
    "features",
    "load",
    "plots",
    "readers",
    "scale",
    "set_threads",
    "show",
    "threads",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"tagline.{name}")
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value
    if name in __all__:  # an estimator
        return _estimator(name)
    raise AttributeError(f"module 'tagline' has no attribute {name!r}")


def _estimator(name: str) -> Any:
    from tagline.models.registry import kinds

    value = next(kind.estimator for kind in kinds().values() if kind.class_name == name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
