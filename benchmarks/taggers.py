"""The taggers that `family.py` compares: their settings on each corpus, and how one of them is measured.

Settings of feature CRFs and networks are those of the tables in docs/benchmarks.md (`feature_crf.quality`, `neural`),
but all English BiLSTMs begin with GloVe, and MiniLM reads conll2000 with the settings of conll2003. Those of the others
did best on the last 1,000 training sentences: Witten–Bell against add-k for the HMM, c2 of the CRF on words alone. A
MEMM has the features and the penalties of the CRF beside it.

Every tagger learns from the whole training file. Networks train for a fixed number of epochs: no file chooses one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import timing
import trigram
from feature_crf import corpora, quality
from feature_crf.children import Clocks, now, since

import tagline
from tagline import CRF, HMM, Corpus, Template, TrigramTagger, compiled
from tagline.evaluation import evaluate_spans
from tagline.readers.schemes import convert

if TYPE_CHECKING:
    from tagline import BiLSTMCRF, TransformerCRF

TASKS = {
    "conll2003": quality.TASKS["english_ner"],
    "resume_ner": quality.TASKS["chinese_ner"],
    "conll2000": quality.TASKS["chunking"],
}
WORDS_ONLY = "U00:%x[0,0]\nB\n"
C2_OF_WORDS = {"conll2003": 0.03, "resume_ner": 0.3, "conll2000": 0.03}
GLOVE = "embeddings/glove.6B.50d.top100k.txt.gz"
WIDE = {"hidden": 300, "char_size": 100, "batch_size": 32, "epochs": 15}
BILSTMS: dict[str, dict[str, Any]] = {
    "conll2003": {**WIDE, "word_dropout": 0},
    "resume_ner": {
        **{"on_illegal": "repair", "epochs": 25, "batch_size": 16, "characters": None, "case_dim": 0, "hidden": 300},
        **{"bigram_dim": 50, "word_dropout": 0.05, "dropout": 0.6, "smoothing": 0.05, "average": 0.999},
    },
    "conll2000": {**WIDE, "average": 0.999},
}
FINE_TUNED = {"epochs": 8, "learning_rate": 2e-4, "layer_decay": 0.9}
TRANSFORMERS: dict[str, dict[str, Any]] = {
    "conll2003": FINE_TUNED,
    "resume_ner": {**FINE_TUNED, "on_illegal": "repair", "epochs": 10},
    "conll2000": FINE_TUNED,
}
ENCODERS = {"conll2003": "minilm", "resume_ner": "m3e", "conll2000": "minilm"}  # folders under --encoders
SOFTMAX = {"head": "softmax", "scheme": None}
ROUNDS = 5


@dataclass(frozen=True)
class Work:
    """What is measured.

    Attributes:
        row, corpus: names in `ROWS` and `TASKS`.
        device: "cpu" or "cuda".
        seed: of a network.
        train: False leaves a network as it begins: its speed and size are those of a trained one, its scores are not.
        speed: False leaves the tagging speed out.
        sentences: so many of each file alone, and one epoch, to try the program; 0 for all.
        encoders: a folder with ``minilm/`` and ``m3e/``.
    """

    row: str
    corpus: str
    device: str = "cpu"
    seed: int = 0
    train: bool = True
    speed: bool = True
    sentences: int = 0
    encoders: str = "encoders"


@dataclass(frozen=True)
class Row:
    """A line of the table: its title, how its tagger is made, and whether that is a network."""

    title: str
    make: Callable[[Work], Any]
    network: bool = False


def rules_of(corpus: str) -> dict[str, Any]:
    """The tag scheme of a corpus, as an estimator is told it."""
    settings = TASKS[corpus].settings
    return {"scheme": settings["scheme"], "on_illegal": settings.get("on_illegal", "error")}


def words_crf(work: Work) -> CRF:
    """A CRF whose one attribute is the word."""
    return CRF(Template.parse(WORDS_ONLY), c2=C2_OF_WORDS[work.corpus], **rules_of(work.corpus))


def bilstm(work: Work, **changes: Any) -> BiLSTMCRF:
    """A BiLSTM with vectors of words: GloVe's, or for Chinese those of m3e-small."""
    vectors = encoder_of(work) if work.corpus == "resume_ner" else corpora.find(GLOVE)
    return tagline.BiLSTMCRF(vectors, **{**BILSTMS[work.corpus], **changes, **how(work)})


def transformer(work: Work, **changes: Any) -> TransformerCRF:
    """A small transformer: MiniLM, or for Chinese m3e-small."""
    return tagline.TransformerCRF(encoder_of(work), **{**TRANSFORMERS[work.corpus], **changes, **how(work)})


def encoder_of(work: Work) -> Path:
    """The folder of the encoder for the language of a corpus."""
    return Path(work.encoders) / ENCODERS[work.corpus]


def how(work: Work) -> dict[str, Any]:
    """Settings of a network that are those of the run."""
    short = {"epochs": 1} if work.sentences or not work.train else {}
    return {"device": work.device, "random_state": work.seed, **short, **({} if work.train else {"max_seconds": 0.0})}


ROWS = {
    "hmm": Row("`HMM`", lambda work: HMM(smoothing="witten-bell", **rules_of(work.corpus))),
    "trigram": Row("`TrigramTagger`", lambda work: TrigramTagger()),
    "memm": Row(
        "`MEMM`, features", lambda work: tagline.MEMM(TASKS[work.corpus].features, **TASKS[work.corpus].settings)
    ),
    "words": Row("`CRF`, words alone", words_crf),
    "features": Row("`CRF`, features", lambda work: CRF(TASKS[work.corpus].features, **TASKS[work.corpus].settings)),
    "bilstm-softmax": Row("BiLSTM, softmax", lambda work: bilstm(work, **SOFTMAX), network=True),
    "bilstm": Row("`BiLSTMCRF`", bilstm, network=True),
    "transformer-softmax": Row("small transformer, softmax", lambda work: transformer(work, **SOFTMAX), network=True),
    "transformer": Row("`TransformerCRF`, small", transformer, network=True),
}


def missing(row: str) -> str:
    """Why a row cannot be measured in this version; nothing where it can."""
    return "not in this version" if row == "memm" and not hasattr(tagline, "MEMM") else ""


def sentences_of(work: Work) -> tuple[Corpus, Corpus, str]:
    """Return what to learn from, what to tag, and the tag scheme of both."""
    task = TASKS[work.corpus]
    scheme = task.written or str(task.source)
    if ROWS[work.row].network and task.source == "IOB2":
        scheme = "BIOES"  # as in the quality table of the networks
    train, scored = quality.sentences_of(task, dev=False)
    if work.sentences:
        train, scored = train[: work.sentences], train[work.sentences : 2 * work.sentences]
    if scheme != task.source:
        train, scored = (convert(part, str(task.source), scheme) for part in (train, scored))
    return train, scored, scheme


def measure(work: Work) -> dict[str, Any]:
    """Train a tagger, score it, and measure how long both take; of a network without training its speed and size."""
    train, scored, scheme = sentences_of(work)
    neighbours = timing.Neighbours()
    tagger = ROWS[work.row].make(work)
    begin = now()
    tagger.fit(train)
    trained = since(begin)
    predicted = tagger.predict(scored)
    part: dict[str, Any] = {"bytes": size_of(tagger)}
    if work.train:
        scores = {rule: evaluate_spans(scored, predicted, f"{rule}:{scheme}").f1 for rule in ("strict", "conlleval")}
        part |= {"f1": {work.seed: scores}, "training": trained}
    if work.speed:
        part["tagging"] = rates(tagger, scored)
    return {**part, "on": facts(work), "neighbours": neighbours.cores()}


def size_of(tagger: Any) -> int:
    """Bytes of the model file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.tagline"
        tagger.save(path)
        return path.stat().st_size


def rates(tagger: Any, scored: Corpus) -> Clocks:
    """Tokens a second of CPU time and of the wall clock, for a corpus that was read before; medians."""
    contender = trigram.Tagger("", tagger, (0.0, 0.0), lambda: tagger.predict(scored))
    cpu, wall = trigram.take_turns([contender], ROUNDS)[0]
    return scored.num_tokens / cpu, scored.num_tokens / wall


def facts(work: Work) -> str:
    """What the numbers were measured on and with."""
    machine, packages = timing.machine(), ("numpy", "torch", "transformers") if ROWS[work.row].network else ("numpy",)
    if work.device == "cuda":
        import torch

        machine = torch.cuda.get_device_name()
    core = compiled.cpu() if compiled.core is not None else "no compiled core"
    versions = f"tagline {tagline.__version__} ({core}), {timing.versions(packages)}"
    return f"{machine}; {versions}; {time.strftime('%Y-%m-%d')}"
