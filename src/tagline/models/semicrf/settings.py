"""What `SemiCRF` may be told, and the files that `tagline train` reads and writes for it."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, ClassVar

from tagline.messages import message
from tagline.models.crf.settings import MOVED
from tagline.models.settings import (
    C1,
    C2,
    MODEL,
    AlgorithmChoice,
    Callbacks,
    DictionaryFiles,
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
)
from tagline.settings import Clash, Setting, Settings, declared
from tagline.training.choices import algorithm_of

if TYPE_CHECKING:
    from tagline.features.lexicons.dictionaries import Dictionary
    from tagline.models.crf.extraction import Way

MOST_TOKENS = 1000  # of a segment: tables have a column for each length
NAMED = ("string", "shape", "before", "after", "first", "last")
KINDS = ("length", "lexicon", *NAMED)
"""What `segment_features` may name; a dictionary adds its own."""


@declared
class SemiCRFSettings(Settings):
    """What a semi-CRF may be told."""

    moved: ClassVar[Mapping[str, str]] = {name: MOVED[name] for name in ("memory", "epsilon", "period", "delta")}

    features: Annotated[
        "Way",
        Setting(
            "Of tokens, crossed with tags: a template, the name of a ready-made set, or a function sentence → features "
            "of each token.",
            trained=True,
        ),
    ] = field(default="english_ner", kw_only=False)
    segment_features: Annotated[
        Sequence[str],
        Setting(
            'Of segments, crossed with labels: some of "length", "lexicon" (how often the string was a segment of the '
            'label in other training sentences), "string", "shape", "before", "after", "first", "last" (words beside '
            "it, its first and its last one).",
            check="tagline.models.semicrf.attributes:check_kinds",
            trained=True,
        ),
    ] = KINDS
    algorithm: AlgorithmChoice = "auto"
    max_length: Annotated[
        int | None,
        Setting(
            "Tokens of the longest segment of a semicrf; that of the training data, up to 12, if left out.",
            least=1,
            most=MOST_TOKENS,
            panel=MODEL,
            trained=True,
        ),
    ] = None
    c1: C1 = 0.0
    c2: C2 = 1.0
    scheme: Scheme = "auto"
    on_illegal: OnIllegal = "repair"
    min_frequency: MinFrequency = 0
    min_segment_frequency: Annotated[
        float, Setting("Attributes of segments that fewer training segments have are left out.", least=0, trained=True)
    ] = 1
    label_weights: LabelWeights = None
    dictionary: Annotated[
        "Dictionary | None",
        Setting(
            "Phrases and their types; a match is an attribute of the segment that covers it.",
            check="tagline.models.semicrf.attributes:check_dictionary",
        ),
    ] = None
    max_iterations: MaxIterations = None
    max_seconds: MaxSeconds = None
    patience: Patience = 10
    random_state: RandomState = 0
    verbose: Verbose = False
    callbacks: Callbacks = ()

    clashes = (
        Clash(
            "algorithm",
            lambda value: algorithm_of(value).name != "auto",
            "",
            None,
            "after a first-order CRF's passes there is L-BFGS, OWL-QN where c1 > 0",
            expected="auto",
        ),
        Clash(
            "scheme",
            lambda value: value is None or str(value).lower() == "none",
            "",
            None,
            "segments are read from tags",
            expected=message('"auto" or the name of a tag scheme'),
        ),
    )


@declared
class SemiCRFFiles(RunFiles):
    """What `tagline train` reads and writes for a semi-CRF."""

    template: TemplateFile = None
    dictionary: DictionaryFiles = None
