"""Settings that several kinds of models have, and the files of a run: declared once, here (`tagline.settings`)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from tagline.errors import InputError
from tagline.messages import message
from tagline.settings import FILLED, READ, WRITTEN, Setting, Settings, declared
from tagline.training.choices import ALGORITHMS, algorithm_of
from tagline.training.neural.settings import NETWORK

if TYPE_CHECKING:
    from tagline.training.choices import AlgorithmSettings
    from tagline.training.running.callbacks import Callback

DATA, MODEL, TRAINING = message("Data"), message("Model"), message("Training")
SERIES = message("Series: hmm without labels")
PANELS = ("", DATA, MODEL, SERIES, NETWORK, TRAINING)
"""The panels of the help of `tagline train`, in order."""


def read_scheme(text: Any) -> str | None:
    """Read the name of a tag scheme, "auto", or "none" for no rules."""
    from tagline.readers.rules import scheme

    if isinstance(text, str) and text.lower() == "none":
        return None
    return "auto" if text == "auto" else scheme(text).name


def read_label_weights(text: Any) -> Any:
    """Read ``balanced``, or ``LABEL=NUMBER`` with commas between; a table of a file is as it is.

    >>> read_label_weights("B-PER=2,O=0.5")
    {'B-PER': 2.0, 'O': 0.5}
    """
    if text == "balanced" or not isinstance(text, str):
        return text
    weights = {}
    for part in text.split(","):
        label, _, number = part.rpartition("=")
        try:
            weights[label] = float(number)
        except ValueError:
            label = ""
        if not label:
            raise InputError("--label-weights: expected balanced or LABEL=NUMBER,…, got {!r}", part)
    return weights


def read_files(text: Any) -> Any:
    """Read names of files with commas between."""
    return text.split(",") if isinstance(text, str) else text


def read_patience(passes: Any) -> Any:
    """Read passes to wait; 0 is None, for ever."""
    return passes or None


# What is said of labels.

Scheme: TypeAlias = Annotated[
    str | None,
    Setting(
        "The tag scheme whose rules hold: IOB1, IOB2, BIOES, BMES …; auto detects it, none is no rules.",
        check="tagline.models.labelled:check_scheme",
        parse=read_scheme,
        panel=MODEL,
        trained=True,
    ),
]
OnIllegal: TypeAlias = Annotated[
    str,
    Setting(
        "Tags that break the rules: repair, drop the sentence, or error.",
        choices="tagline.models.labelled:ON_ILLEGAL",
        panel=MODEL,
    ),
]
LabelWeights: TypeAlias = Annotated[
    Any,
    Setting(
        "How much sentences with a label count: balanced, or B-PER=2,B-LOC=0.5.",
        check="tagline.models.labelled:check_label_weights",
        parse=read_label_weights,
        panel=MODEL,
        trained=True,
    ),
]
MinFrequency: TypeAlias = Annotated[
    float, Setting("Leave out attributes that are rarer.", least=0, panel=MODEL, tune=[1, 2, 3], trained=True)
]

# What is said of training.

AlgorithmChoice: TypeAlias = Annotated[
    "str | AlgorithmSettings",
    Setting(
        "auto (stochastic passes, then L-BFGS), lbfgs, owlqn, sgd, gd, iis, ap, pa, arow; settings of its own stand "
        "behind a colon: lbfgs:memory=20,epsilon=1e-6.",
        check="tagline.training.choices:check_algorithm",
        parse=lambda value: str(algorithm_of(value)),
        choices=tuple(ALGORITHMS),
        panel=TRAINING,
        flags=("-a", "--algorithm"),
        trained=True,
    ),
]

C1: TypeAlias = Annotated[
    float,
    Setting(
        "Penalty c1·Σ|w|; makes weights 0.",
        least=0,
        panel=TRAINING,
        tune=[0.0, 0.01, 0.03, 0.1, 0.3, 1.0],
        trained=True,
    ),
]
C2: TypeAlias = Annotated[
    float,
    Setting(
        "Penalty c2·Σw²; CRF++'s -c C is 1/(2C).",
        least=0,
        panel=TRAINING,
        tune={"low": 0.003, "high": 10.0, "log": True},
        trained=True,
    ),
]
MaxIterations: TypeAlias = Annotated[
    int | None, Setting("Passes at most; no limit if left out, 100 of an HMM.", least=0, panel=TRAINING)
]
MaxSeconds: TypeAlias = Annotated[
    float | None,
    Setting(
        "Stop after this time and keep what there is.",
        check="tagline.checks:check_seconds",
        panel=TRAINING,
    ),
]
Patience: TypeAlias = Annotated[
    int | None,
    Setting(
        "With --dev: stop after so many passes without a better score; 0 never.",
        least=1,
        parse=read_patience,
        panel=TRAINING,
    ),
]
RandomState: TypeAlias = Annotated[
    int | None,
    Setting(
        "Of what is random.",
        least=0,
        check="tagline.checks:check_seed",
        panel=TRAINING,
        flags=("--seed",),
    ),
]
WarmStart: TypeAlias = Annotated[bool, Setting("Begin `fit` where the last one ended.")]
Verbose: TypeAlias = Annotated[
    bool | int,
    Setting(
        "True shows on stderr how training goes: a bar in terminals and notebooks, a line a pass elsewhere.",
        check="tagline.checks:check_verbose",
    ),
]
Callbacks: TypeAlias = Annotated[
    "Sequence[Callback]",
    Setting(
        "Called with a `TrainingState` after each pass; True stops.",
        check="tagline.checks:check_functions",
    ),
]

# What `tagline train` is told of files: options, no parameters of estimators.

TemplateFile: TypeAlias = Annotated[
    str | None,
    Setting(
        "A CRF++ template, or a ready-made set: english_ner, chinese_ner, chunking, pos, segmentation. "
        "Left out: the set that suits the data.",
        flags=("-t", "--template"),
        panel="",
        file=READ,
    ),
]
DictionaryFiles: TypeAlias = Annotated[
    Any,
    Setting(
        "Phrases whose matches are features: a phrase a line and, after a TAB, its type, else the file's name; several "
        "files with commas between.",
        parse=read_files,
        panel=MODEL,
        file=READ,
    ),
]

Checkpoint: TypeAlias = Annotated[
    str | None,
    Setting(
        "A file for the state of training, written between passes, and after each epoch of a network.",
        panel=TRAINING,
        file=WRITTEN,
    ),
]
Resume: TypeAlias = Annotated[bool, Setting("Go on from --checkpoint, if it is there.", panel=TRAINING)]
SaveEvery: TypeAlias = Annotated[
    float | None,
    Setting(
        "Seconds between two checkpoints; 30 if left out, and of networks one an epoch. 0: after each pass.",
        least=0,
        panel=TRAINING,
    ),
]
Log: TypeAlias = Annotated[
    str | None, Setting("Add a line of JSON to this file after each pass.", panel=TRAINING, file=WRITTEN)
]
TensorBoard: TypeAlias = Annotated[
    str | None,
    Setting("A folder for TensorBoard, which must be installed.", panel=TRAINING, file=FILLED),
]
Documents: TypeAlias = Annotated[
    str | None,
    Setting(
        "Where documents are, for --stages, --mentions and --context: a column, by name, or a file with the number of "
        "sentences of each. Left out: -DOCSTART- begins one.",
        panel=DATA,
        file=READ,
    ),
]
DevDocuments: TypeAlias = Annotated[
    str | None,
    Setting(
        "The same for --dev; left out: as --documents, where that is a column.",
        panel=DATA,
        file=READ,
    ),
]


@declared
class NoFiles(Settings):
    """What `tagline train` reads and writes for models that have no option for it."""


@declared
class RunFiles(Settings):
    """What a run leaves on the way."""

    checkpoint: Checkpoint = None
    resume: Resume = False
    save_every: SaveEvery = None
    log: Log = None
    tensorboard: TensorBoard = None
