"""What `CRF`, `MEMM` and `MaxEnt` may be told, and the files that `tagline train` reads and writes for them."""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any

from tagline.messages import message
from tagline.models.settings import (
    C1,
    C2,
    DATA,
    MODEL,
    TRAINING,
    AlgorithmChoice,
    Callbacks,
    DevDocuments,
    DictionaryFiles,
    Documents,
    LabelWeights,
    MaxIterations,
    MaxSeconds,
    MinFrequency,
    OnIllegal,
    Patience,
    RandomState,
    RunFiles,
    Scheme,
    TemplateFile,
    Verbose,
    WarmStart,
    read_files,
)
from tagline.settings import FILLED, READ, Clash, Setting, Settings, declarations, declared
from tagline.training.choices import ALGORITHMS, algorithm_of

if TYPE_CHECKING:
    from tagline.features.lexicons.dictionaries import Dictionary
    from tagline.models.crf.extraction import Way


def _moved(name: str, *algorithms: str) -> str:
    written = message(" or ").join(f'algorithm="{algorithm}:{name}=…"' for algorithm in algorithms)
    return message("it belongs to the algorithm: {} (tagline.training has the classes)", written)


MOVED = {
    **{name: _moved(name, "auto", "lbfgs") for name in ("memory", "epsilon", "period", "delta")},
    "passes": _moved("passes", "auto", "sgd"),
    "options": message('they belong to the algorithm: algorithm="sgd:rate=0.1" (tagline.training has the classes)'),
    "precision": message("numbers are float64 for up to 5,000 tokens and with tolerance=1e-6 or less, else float32"),
    "edge_pairs": message(
        "edge attributes are crossed with the label pairs of the training sentences, or with all: "
        "all_possible_transitions=True"
    ),
    "vector_scale": message(
        "scale the numbers themselves: vectors=WordVectors.of(file, scale) of tagline.features.vectors"
    ),
}


def of_version_1(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a file of version 0.1, which has those of the algorithm beside it, as they are now."""
    own = {**{name: settings.get(name) for name in MOVED}, **(settings.get("options") or {})}
    rest = {name: value for name, value in settings.items() if name not in MOVED}
    kind = ALGORITHMS.get(str(settings.get("algorithm", "auto")))
    said = {} if kind is None else {name: own[name] for name in declarations(kind) if own.get(name) is not None}
    return {**rest, "algorithm": str(kind(**said))} if kind is not None and said else rest


def _without(penalty: str) -> Clash:
    """A penalty, not 0 and not the default, where the algorithm has none."""
    usual = {"c1": (0.0,), "c2": (0.0, 1.0)}[penalty]
    able = ", ".join(name for name, kind in ALGORITHMS.items() if penalty in kind.penalties)
    return Clash(
        penalty,
        lambda value: value not in usual,
        "algorithm",
        lambda value: penalty not in algorithm_of(value).penalties,
        message("it has no such penalty; algorithms that have it: {}", able),
        expected="0",
    )


def _able(attribute: str) -> str:
    return ", ".join(name for name, kind in ALGORITHMS.items() if getattr(kind, attribute))


@declared
class CRFSettings(Settings):
    """What a feature CRF may be told."""

    moved = MOVED

    features: Annotated[
        "Way",
        Setting(
            'A template (`Template`, the name of a ready-made set such as "english_ner", a path, or a text), a '
            "function sentence → features of each token, or None where X holds dicts or lists of strings already.",
            trained=True,
        ),
    ] = field(default=None, kw_only=False)
    algorithm: AlgorithmChoice = "auto"
    c1: C1 = 0.0
    c2: C2 = 1.0
    scheme: Scheme = "auto"
    on_illegal: OnIllegal = "repair"
    min_frequency: MinFrequency = 0
    min_feature_frequency: Annotated[
        float,
        Setting(
            "Leave out an attribute with a label, or a label pair, that is rarer; CRFsuite's feature.minfreq.",
            least=0,
            panel=MODEL,
            trained=True,
        ),
    ] = 0
    all_possible_states: Annotated[
        bool, Setting("Weights for attributes with labels never seen together.", panel=MODEL, trained=True)
    ] = False
    all_possible_transitions: Annotated[
        bool, Setting("Weights for label pairs that were never seen.", panel=MODEL, trained=True)
    ] = False
    start_end: Annotated[bool, Setting("Weights for the first and the last label.", panel=MODEL, trained=True)] = False
    label_weights: LabelWeights = None
    hash_bits: Annotated[
        int | None,
        Setting(
            "Number attributes by so many bits of a hash and keep no names.",
            least=1,
            most="tagline.features.expansion:MOST_HASH_BITS",
            panel=MODEL,
            trained=True,
        ),
    ] = None
    dictionary: Annotated[
        "Dictionary | None", Setting("Phrases and their types, used as their priority says.", trained=True)
    ] = None
    clusters: Annotated[
        Any,
        Setting(
            "Words and their clusters, as tagline cluster writes them; several files with commas between.",
            parse=read_files,
            file=READ,
            panel=MODEL,
            trained=True,
        ),
    ] = None
    vectors: Annotated[
        Any,
        Setting(
            "Word vectors as features: GloVe, word2vec or fastText as text, .gz or not.",
            file=READ,
            panel=MODEL,
            trained=True,
        ),
    ] = None
    order: Annotated[
        int,
        Setting(
            "2: weights of label triples, too, as the training data show them.",
            least=1,
            most=2,
            panel=MODEL,
            trained=True,
        ),
    ] = 1
    prune: Annotated[
        float | None,
        Setting(
            "With --order 2: leave out labels that order 1 finds less probable at a token, 0.001 for instance; 0, "
            "none.",
            least=0,
            most="tagline.models.crf.file:MOST_PRUNED",
            panel=MODEL,
            trained=True,
        ),
    ] = None
    stages: Annotated[
        int,
        Setting(
            "2: a first model's labels in the rest of the document are features; -DOCSTART- begins a document.",
            least=1,
            most=2,
            panel=MODEL,
            trained=True,
        ),
    ] = 1
    mentions: Annotated[
        int,
        Setting(
            "Look at the words beside so many other mentions of a word in its document.",
            least=0,
            most="tagline.features.templates.word_functions:MOST_MENTIONS",
            panel=MODEL,
            trained=True,
        ),
    ] = 0
    max_iterations: MaxIterations = None
    max_seconds: MaxSeconds = None
    tolerance: Annotated[
        float | None,
        Setting(
            "Stop where the objective is proven to be within this share of its optimum (1e-4: 0.01 %), not by the "
            "algorithm's epsilon or delta.",
            above=0,
            panel=TRAINING,
        ),
    ] = None
    patience: Patience = 10
    warm_start: WarmStart = False
    random_state: RandomState = 0
    verbose: Verbose = False
    callbacks: Callbacks = ()

    clashes = (
        _without("c1"),
        _without("c2"),
        Clash("prune", bool, "order", 1, "models with order=2 are pruned"),
        Clash("warm_start", bool, "order", 2, "label triples are learned anew"),
        Clash("warm_start", bool, "stages", 2, "both stages are learned anew"),
        Clash(
            "algorithm",
            lambda value: not algorithm_of(value).triples,
            "order",
            2,
            "it does not learn label triples",
            expected=message("one of {}", _able("triples")),
        ),
        Clash(
            "tolerance",
            lambda value: value is not None,
            "algorithm",
            lambda value: not algorithm_of(value).proves,
            message(
                "its passes know no gradient of the whole objective; algorithms that prove how far the optimum is: {}",
                _able("proves"),
            ),
        ),
        Clash(
            "tolerance",
            lambda value: value is not None,
            "c2",
            lambda value: not value > 0,
            "without the penalty c2 nothing is proven about the optimum: raise c2, or stop by epsilon and delta",
        ),
        *(
            Clash(
                "min_feature_frequency",
                bool,
                asked,
                bool,
                "a feature that was never seen has frequency 0; leave one of the two out",
            )
            for asked in ("all_possible_states", "all_possible_transitions")
        ),
        Clash(
            "dictionary",
            lambda value: getattr(value, "priority", "") == "feature",
            "stages",
            2,
            "its matches would be features of both stages",
            expected=message('priority "over" or "under"'),
        ),
    )


LOCAL_CLASHES = (
    *CRFSettings.clashes,
    Clash("order", 2, "", None, "a CRF has label triples"),
    Clash("stages", 2, "", None, "a CRF has two stages"),
)
"""What models that are normalised at each token refuse."""

MEMM_CLASHES = (
    *LOCAL_CLASHES,
    Clash(
        "algorithm",
        lambda value: not algorithm_of(value).local,
        "",
        None,
        "it learns whole labellings; use a CRF for it",
        expected=message("one of {}", _able("local")),
    ),
)
"""What models refuse that are normalised at each token, after the label before it."""

UNCHAINED_CLASHES = (
    *LOCAL_CLASHES,
    Clash("all_possible_transitions", bool, "", None, "its labels do not see each other; a CRF has label pairs"),
)
"""What models refuse whose labels do not see each other."""


@declared
class FeatureFiles(RunFiles):
    """What `tagline train` reads and writes for models with features: MEMM and MaxEnt."""

    template: TemplateFile = None
    cache: Annotated[
        str | None,
        Setting(
            "A folder for compiled training data, which need not fit into memory then.",
            panel=DATA,
            file=FILLED,
        ),
    ] = None
    dictionary: DictionaryFiles = None
    learn_dictionary: Annotated[
        bool, Setting("Matches of the entities of other training sentences are features.", panel=MODEL)
    ] = False
    documents: Documents = None
    dev_documents: DevDocuments = None

    clashes = (
        Clash("dictionary", bool, "learn_dictionary", True, "a dictionary is read or learned"),
        *(
            Clash(asked, bool, "cache", bool, "compiled data hold the attributes of the template alone")
            for asked in ("dictionary", "learn_dictionary", "documents")
        ),
    )


@declared
class CRFFiles(FeatureFiles):
    """What `tagline train` reads and writes for a CRF."""

    teacher: Annotated[
        str | None,
        Setting(
            "A model that knows the labels, whose probabilities are learned: a large one teaches a small one.",
            panel=DATA,
            file=READ,
        ),
    ] = None
    teacher_weight: Annotated[
        float | None,
        Setting(
            "The share of the teacher where there are tags, above 0; 1 if left out, which leaves the tags out of "
            "account.",
            least=0,
            most=1,
            panel=DATA,
        ),
    ] = None
    unlabelled: Annotated[
        str | None,
        Setting("Sentences without tags for --teacher: columns, JSON lines or raw text.", panel=DATA, file=READ),
    ] = None

    clashes = (
        *FeatureFiles.clashes,
        Clash("teacher", bool, "cache", bool, "a teacher reads the sentences"),
        *(
            Clash(asked, lambda value: value is not None, "teacher", None, "it is about a teacher: add --teacher MODEL")
            for asked in ("teacher_weight", "unlabelled")
        ),
    )
