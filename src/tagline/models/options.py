"""The options of `tagline train` that belong to kinds of models: each is written down once, here.

From this table come the signature of the command and its help, the keys of a network's TOML file, the checks before
anything is read, and the arguments of the estimators. A kind of model names those that it takes (`registry`); one that
is not in the table can bring its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tagline.errors import InputError
from tagline.messages import message

DATA, MODEL, TRAINING = message("Data"), message("Model"), message("Training")
NETWORK, SERIES = message("Networks: bilstm, transformer"), message("Series: hmm without labels")
"""The panels of the help."""

READ, WRITTEN, FILLED = "read", "written", "filled"
"""What is done with the file that an option names, or with the folder."""


@dataclass(frozen=True)
class Option:
    """An option on the command line.

    Attributes:
        name: the setting that it is for: the name of the estimator's parameter, and its key in a TOML file.
        type: str, int, float or bool; a bool is a switch.
        help: one sentence.
        default: on the command line; None leaves the setting to the estimator.
        flags: how it is written; ``--`` and the name where left out.
        panel: where it stands in the help.
        least, most: of numbers; `most` may be ``module:NAME``.
        choices: what text may be, as ``module:NAME`` or a tuple.
        parse: what makes a setting of the text.
        of_run: whether it is no setting of the estimator but says how a run goes: files on the way, a template.
        file: `READ` or `WRITTEN` where its value names files, `FILLED` where it names a folder to write into.
    """

    name: str
    type: type
    help: str
    default: Any = None
    flags: tuple[str, ...] = ()
    panel: str = MODEL
    least: float = -math.inf
    most: float | str = math.inf
    choices: tuple[str, ...] | str = ()
    parse: Callable[[Any], Any] | None = None
    of_run: bool = False
    file: str = ""

    @property
    def flag(self) -> str:
        """The long form, for messages.

        >>> option_named("max_seconds").flag, option_named("random_state").flag
        ('--max-seconds', '--seed')
        """
        return self.flags[-1] if self.flags else "--" + self.name.replace("_", "-")

    def possible(self) -> Sequence[str]:
        """List what text may be; nothing where it may be anything."""
        return list(_resolved(self.choices)) if isinstance(self.choices, str) else self.choices

    def checked(self, value: Any) -> Any:
        """Return the setting that a value on the command line stands for; raise where it cannot be meant.

        >>> option_named("label_weights").checked("B-PER=2,O=0.5")
        {'B-PER': 2.0, 'O': 0.5}
        """
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float) and self.type is not str:
            most = self.most if isinstance(self.most, int | float) else _resolved(self.most)
            if not self.least <= value <= most:
                span = f"{self.least:g} or more" if most == math.inf else f"{self.least:g} to {most:g}"
                raise InputError(f"{self.flag}: expected a number, {span}, got {value}")
            return value
        choices = self.possible()
        if choices and value not in choices:
            raise InputError(f"{self.flag}: expected one of {', '.join(choices)}, got {value!r}")
        return value if self.parse is None else self.parse(value)


def _resolved(home: str) -> Any:
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def _scheme(text: Any) -> str | None:
    """Read the name of a tag scheme, "auto", or "none" for no rules."""
    from tagline.readers.rules import scheme

    if isinstance(text, str) and text.lower() == "none":
        return None
    return "auto" if text == "auto" else scheme(text).name


def _label_weights(text: Any) -> Any:
    """Read ``balanced``, or ``LABEL=NUMBER`` with commas between; a table of a file is as it is."""
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
            raise InputError(f"--label-weights: expected balanced or LABEL=NUMBER,…, got {part!r}")
    return weights


def _files(text: Any) -> Any:
    """Read names of files with commas between."""
    return text.split(",") if isinstance(text, str) else text


_TABLE = (
    Option(
        "template",
        str,
        "A CRF++ template, or a ready-made set: english_ner, chinese_ner, chunking, pos, segmentation. "
        "Left out: the set that suits the data.",
        flags=("-t", "--template"),
        panel="",
        of_run=True,
        file=READ,
    ),
    Option(
        "cache",
        str,
        "A folder for compiled training data, which need not fit into memory then.",
        panel=DATA,
        of_run=True,
        file=FILLED,
    ),
    Option(
        "teacher",
        str,
        "A model that knows the labels, whose probabilities are learned: a large one teaches a small one.",
        panel=DATA,
        of_run=True,
        file=READ,
    ),
    Option(
        "teacher_weight",
        float,
        "The share of the teacher where there are tags, above 0; 1 if left out, which leaves the tags out of account.",
        panel=DATA,
        least=0,
        most=1,
        of_run=True,
    ),
    Option(
        "unlabelled",
        str,
        "Sentences without tags for --teacher: columns, JSON lines or raw text.",
        panel=DATA,
        of_run=True,
        file=READ,
    ),
    Option(
        "scheme",
        str,
        "The tag scheme whose rules hold: IOB1, IOB2, BIOES, BMES …; auto detects it, none is no rules.",
        "auto",
        parse=_scheme,
    ),
    Option(
        "on_illegal",
        str,
        "Tags that break the rules: repair, drop the sentence, or error.",
        "repair",
        choices="tagline.models.labelled:ON_ILLEGAL",
    ),
    Option("min_frequency", int, "Leave out attributes that are rarer.", 1, least=0),
    Option(
        "min_feature_frequency",
        int,
        "Leave out an attribute with a label, or a label pair, that is rarer; CRFsuite's feature.minfreq.",
        0,
        least=0,
    ),
    Option(
        "max_length",
        int,
        "Tokens of the longest segment of a semicrf; that of the training data, up to 12, if left out.",
        least=1,
        most="tagline.models.semicrf.settings:MOST_TOKENS",
    ),
    Option("all_possible_states", bool, "Weights for attributes with labels never seen together.", False),
    Option("all_possible_transitions", bool, "Weights for label pairs that were never seen.", False),
    Option("start_end", bool, "Weights for the first and the last label.", False),
    Option(
        "label_weights",
        str,
        "How much sentences with a label count: balanced, or B-PER=2,B-LOC=0.5.",
        parse=_label_weights,
    ),
    Option(
        "hash_bits",
        int,
        "Number attributes by so many bits of a hash and keep no names.",
        least=1,
        most="tagline.features.expansion:MOST_HASH_BITS",
    ),
    Option(
        "clusters",
        str,
        "Words and their clusters, as tagline cluster writes them; several files with commas between.",
        parse=_files,
        file=READ,
    ),
    Option("vectors", str, "Word vectors as features: GloVe, word2vec or fastText as text, .gz or not.", file=READ),
    Option("vector_scale", float, "What the numbers of --vectors are multiplied by; 1."),
    Option(
        "order",
        int,
        "2: weights of label triples, too, as the training data show them.",
        least=1,
        most=2,
    ),
    Option(
        "prune",
        float,
        "With --order 2: leave out labels that order 1 finds less probable at a token, 0.001 for instance; 0, none.",
        least=0,
        most="tagline.models.crf.file:MOST_PRUNED",
    ),
    Option(
        "stages",
        int,
        "2: a first model's labels in the rest of the document are features; -DOCSTART- begins a document.",
        least=1,
        most=2,
    ),
    Option(
        "mentions",
        int,
        "Look at the words beside so many other mentions of a word in its document.",
        least=0,
        most="tagline.features.templates.word_functions:MOST_MENTIONS",
    ),
    Option(
        "dictionary",
        str,
        "Phrases whose matches are features: a phrase a line and, after a TAB, its type, else the file's name; several "
        "files with commas between.",
        parse=_files,
        of_run=True,
        file=READ,
    ),
    Option(
        "learn_dictionary",
        bool,
        "Matches of the entities of other training sentences are features.",
        False,
        of_run=True,
    ),
    Option(
        "documents",
        str,
        "Where documents are, for --stages, --mentions and --context: a column, by name, or a file with the number of "
        "sentences of each. Left out: -DOCSTART- begins one.",
        panel=DATA,
        of_run=True,
        file=READ,
    ),
    Option(
        "dev_documents",
        str,
        "The same for --dev; left out: as --documents, where that is a column.",
        panel=DATA,
        of_run=True,
        file=READ,
    ),
    Option(
        "smoothing",
        str,
        "Of an HMM's counts: add-k, witten-bell or dirichlet (no prior).",
        "add-k",
        choices="tagline.models.hmm.smoothing:SMOOTHING",
    ),
    Option("k", float, "Pseudo-count of --smoothing add-k.", 0.1, flags=("--add-k",), least=0),
    Option(
        "unknown",
        str,
        "Words that an HMM never saw: smooth, or error.",
        "smooth",
        choices="tagline.models.hmm.settings:UNKNOWN_SYMBOLS",
    ),
    Option(
        "n_states",
        int,
        "Learn so many hidden states of an HMM without labels; TRAIN is a series then, a .csv or .tsv file.",
        flags=("--states",),
        panel=SERIES,
        least=1,
    ),
    Option(
        "emission",
        str,
        "What a state emits: gaussian, mixture (of Gaussians), poisson (counts), bernoulli, categorical (symbols) …; "
        "gaussian.",
        panel=SERIES,
        choices="tagline.models.hmm.emissions:FAMILIES",
    ),
    Option(
        "columns",
        str,
        "Columns to learn from, by name, with commas between; all that have numbers if left out.",
        panel=SERIES,
        of_run=True,
    ),
    Option("group", str, "The column that says which sequence a row belongs to.", panel=SERIES, of_run=True),
    Option(
        "covariance",
        str,
        "Of Gaussians: spherical, diag, full or tied; diag.",
        panel=SERIES,
        choices="tagline.models.hmm.emissions:COVARIANCES",
    ),
    Option("n_components", int, "Gaussians of each state, with --emission mixture.", panel=SERIES, least=1),
    Option("n_init", int, "Random starts, of which the best is kept; 1.", panel=SERIES, least=1),
    Option(
        "embeddings",
        str,
        "Word vectors for bilstm: GloVe, word2vec or fastText as text, .gz or not, or a folder with a pretrained "
        "encoder, whose vectors are taken.",
        panel=NETWORK,
        file=READ,
    ),
    Option(
        "encoder",
        str,
        "For transformer: a folder with a pretrained encoder, or its name on the Hugging Face hub.",
        panel=NETWORK,
        file=READ,
    ),
    Option(
        "context",
        int,
        "For transformer: words of neighbouring sentences of the document to read on each side; 0.",
        panel=NETWORK,
        least=0,
    ),
    Option("hidden", int, "Size of the LSTM in each direction; 200.", panel=NETWORK, least=1),
    Option(
        "head",
        str,
        "crf, or softmax, which decides on each token by itself; crf.",
        panel=NETWORK,
        choices=("crf", "softmax"),
    ),
    Option("epochs", int, "Passes at most; 30 for bilstm, 5 for transformer.", panel=NETWORK, least=1),
    Option("batch_size", int, "Sentences of a step; 16 for bilstm, 32 for transformer.", panel=NETWORK, least=1),
    Option("learning_rate", float, "The highest; 2e-3 for bilstm, 5e-5 for transformer.", panel=NETWORK, least=0),
    Option("device", str, "cpu, cuda, cuda:1 …; a GPU where there is one.", panel=NETWORK),
    Option(
        "config",
        str,
        "A TOML file with these and all other settings of a network, by their names in Python; options win over it. "
        "The whole configuration is saved beside the model.",
        panel=NETWORK,
        of_run=True,
        file=READ,
    ),
    Option(
        "algorithm",
        str,
        "auto (stochastic passes, then L-BFGS), lbfgs, owlqn, sgd, gd, iis, ap, pa, arow.",
        "auto",
        flags=("-a", "--algorithm"),
        panel=TRAINING,
        choices="tagline.training.algorithms:ALGORITHMS",
    ),
    Option("c1", float, "Penalty c1·Σ|w|; makes weights 0.", 0.0, panel=TRAINING, least=0),
    Option("c2", float, "Penalty c2·Σw²; CRF++'s -c C is 1/(2C).", 1.0, panel=TRAINING, least=0),
    Option("max_iterations", int, "Passes at most; no limit if left out, 100 of an HMM.", panel=TRAINING, least=1),
    Option("max_seconds", float, "Stop after this time and keep what there is.", panel=TRAINING, least=0),
    Option(
        "patience",
        int,
        "With --dev: stop after so many passes without a better score; 0 never.",
        10,
        panel=TRAINING,
        least=0,
    ),
    Option("passes", int, "Of stochastic and online algorithms; by default their own.", panel=TRAINING, least=0),
    Option("epsilon", float, "Converged where ‖gradient‖ / max(1, ‖w‖) is below.", 1e-5, panel=TRAINING, least=0),
    Option(
        "delta",
        float,
        "Converged where the objective changes by less in --period passes.",
        1e-5,
        panel=TRAINING,
        least=0,
    ),
    Option(
        "tolerance",
        float,
        "Stop where the objective is proven to be within this share of its optimum (1e-4: 0.01 %), not by --epsilon or "
        "--delta.",
        panel=TRAINING,
        least=0,
    ),
    Option("period", int, "Passes for --delta.", 10, panel=TRAINING, least=0),
    Option(
        "random_state",
        int,
        "Of what is random.",
        0,
        flags=("--seed",),
        panel=TRAINING,
        least=0,
    ),
    Option(
        "checkpoint",
        str,
        "A file for the state of training, written between passes, and after each epoch of a network.",
        panel=TRAINING,
        of_run=True,
        file=WRITTEN,
    ),
    Option("resume", bool, "Go on from --checkpoint, if it is there.", False, panel=TRAINING, of_run=True),
    Option(
        "save_every",
        float,
        "Seconds between two checkpoints; 30 if left out, and of networks one an epoch. 0: after each pass.",
        panel=TRAINING,
        least=0,
        of_run=True,
    ),
    Option("log", str, "Add a line of JSON to this file after each pass.", panel=TRAINING, of_run=True, file=WRITTEN),
    Option(
        "tensorboard",
        str,
        "A folder for TensorBoard, which must be installed.",
        panel=TRAINING,
        of_run=True,
        file=FILLED,
    ),
)

_BY_NAME = {option.name: option for option in _TABLE}


def in_order(groups: Iterable[Iterable[Option]]) -> list[Option]:
    """Return the options of several groups, each once: those of the table in its order, then the others."""
    distinct = {option.name: option for group in groups for option in group}
    places = {option.name: place for place, option in enumerate(_TABLE)}
    return sorted(distinct.values(), key=lambda option: places.get(option.name, len(places)))


def option_named(name: str) -> Option:
    """Return an option of the table by the name of its setting."""
    return _BY_NAME[name]


def options_named(*names: str) -> tuple[Option, ...]:
    """Return options of the table by the names of their settings."""
    return tuple(_BY_NAME[name] for name in names)
