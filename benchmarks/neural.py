"""How fast and how good are the neural taggers?

    python benchmarks/neural.py                          speed here, on the CPU or the GPU (--device)
    python benchmarks/neural.py quality --only NAME      one row of the quality table: three seeds, mean and deviation
    python benchmarks/neural.py quality                  all rows; hours on a CPU, minutes on a GPU

Speed: a BiLSTM-CNN-CRF (batch 32, hidden 2 × 200) on conll2003, its training step against a plain PyTorch script of the
same network, batches and optimiser with pytorch-crf on top, and how much of the step the CRF takes, by
stamps around its loss and its part of the backward pass: on a GPU in its own time, which begins when a step's launches
are all there, and from steps that are not replayed as a whole. Losses are compared first. Tagging: the valid
file in batches of like lengths against one sentence at a time, after comparing their tags.

Corpora are those of TAGLINE_DATA, or of ../shared/data; encoders are folders, given by --encoders.
"""

from __future__ import annotations

import argparse
import ast
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from feature_crf.corpora import find
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tagline import BiLSTMCRF, Corpus, TransformerCRF
from tagline.models.sentences import words_of
from tagline.nn.heads import Tagger
from tagline.ragged import padded
from tagline.readers import read
from tagline.readers.scheme_conversion import convert
from tagline.training.neural.batching import bucketed
from tagline.training.neural.optimisers import optimiser_of
from tagline.training.neural.settings import Descent

GLOVE = "embeddings/glove.6B.50d.top100k.txt.gz"
BATCHES = 60
AHEAD = 60_000_000  # cycles of the GPU in which the host launches a whole step
BARS = {"cuda": (5.0, 0.05), "cpu": (None, 0.15)}  # times as fast as the script, share of the CRF
TAGGING_BAR = 10.0


# Speed.


class Script(nn.Module):
    """What people write by hand: embeddings and a character CNN for every token, a packed LSTM, pytorch-crf."""

    def __init__(self, vectors: Tensor, num_characters: int, num_labels: int) -> None:
        super().__init__()
        from torchcrf import CRF

        self.words = nn.Embedding.from_pretrained(vectors.clone(), freeze=False, padding_idx=0)
        self.cases = nn.Embedding(8, 8, padding_idx=0)
        self.characters = nn.Embedding(num_characters, 30, padding_idx=0)
        self.convolution = nn.Conv1d(30, 50, 3, padding=1)
        self.lstm = nn.LSTM(vectors.shape[1] + 58, 200, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(0.5)
        self.linear = nn.Linear(400, num_labels)
        self.crf = CRF(num_labels, batch_first=True)

    def forward(self, words: Tensor, cases: Tensor, characters: Tensor, lengths: Tensor, tags: Tensor) -> Tensor:
        B, T, C = characters.shape
        letters = self.characters(characters.view(B * T, C)).transpose(1, 2)
        letters = self.convolution(letters).relu().amax(2).view(B, T, -1)
        tokens = self.dropout(torch.cat([self.words(words), self.cases(cases), letters], 2))
        packed = pack_padded_sequence(tokens, lengths, batch_first=True, enforce_sorted=False)
        states = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]
        mask = torch.arange(T) < lengths[:, None]
        return -self.crf(self.linear(self.dropout(states)), tags, mask.to(words.device), reduction="mean")


@dataclass(eq=False)
class Work:
    """The same batches for both contenders, on the device before the clock starts."""

    model: BiLSTMCRF
    ours: list[tuple[Any, ...]]
    theirs: list[tuple[Tensor, ...]]
    tokens: int


def prepare(train: Corpus, device: torch.device) -> Work:
    """Make a network, without training it, and the batches."""
    model = BiLSTMCRF(
        str(find(GLOVE)),
        epochs=1,
        batch_size=32,
        hidden=200,
        device=str(device),
        max_seconds=0.0,
        scheme=None,
        word_dropout=0.0,
    )
    model.fit(train)  # no rules: the script knows none
    network = model.network_
    coded = network.coder.read(train)
    column, bounds = words_of(train), train.offsets
    places = {label: number for number, label in enumerate(network.labels)}
    table = np.array([places[label] for label in train.columns["tag"].vocabulary])
    tags = table[train.columns["tag"].ids].astype(np.int64)
    plan = bucketed(np.diff(bounds), batch_size=32, rng=np.random.default_rng(0))[:BATCHES]
    ours, theirs = [], []
    for sentences in plan:
        gold = torch.from_numpy(padded(tags, bounds, sentences)).to(device)
        ours.append((coded.batch(sentences, device), gold))
        forms, rows = coded.forms, padded(column.ids.astype(np.int64) + 1, bounds, sentences)
        words, cases = (np.append(0, part)[rows] for part in (forms.words, forms.cases))
        characters = np.concatenate([np.zeros((1, forms.characters.shape[1]), np.int32), forms.characters])[rows]
        width = max(1, int((characters != 0).any((0, 1)).sum()))
        parts = (words, cases, characters[:, :, :width].astype(np.int64))
        sent = (torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in parts)
        theirs.append((*sent, torch.from_numpy(np.diff(bounds)[sentences]), gold))
    return Work(model, ours, theirs, int(np.diff(bounds)[np.concatenate(plan)].sum()))


def stepper(module: nn.Module, groups: list[dict[str, Any]]) -> Callable[[tuple[Any, ...]], None]:
    """Return a training step: loss, gradient, clipping, AdamW."""
    optimiser = optimiser_of(groups, Descent(learning_rate=2e-3))
    parameters = [part for group in optimiser.param_groups for part in group["params"]]
    module.train()

    def step(batch: tuple[Any, ...]) -> None:
        optimiser.zero_grad(set_to_none=True)
        module(*batch).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 5.0)
        optimiser.step()

    return step


def over(step: Callable[[tuple[Any, ...]], None], batches: list[tuple[Any, ...]]) -> Callable[[], None]:
    """Return a pass over the batches."""

    def run() -> None:
        for batch in batches:
            step(batch)

    return run


class Watch:
    """Stamps around the CRF's loss and around its part of the backward pass: CUDA events, or a clock.

    A hook keeps a GPU from replaying the whole step at once.
    """

    def __init__(self, tagger: Tagger, device: torch.device) -> None:
        self.hook = tagger.encoder.register_forward_hook(lambda *_: None)
        self.head, self.cuda, self.pairs, self.loss = tagger.head, device.type == "cuda", [], tagger.head.loss
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(4 * BATCHES if self.cuda else 0)]
        for event in self.events:  # made when first used
            event.record()

    def __enter__(self) -> Watch:
        self.head.loss = self  # type: ignore[method-assign,assignment]
        return self

    def __exit__(self, *_: object) -> None:
        del self.head.loss
        self.hook.remove()

    def __call__(self, emissions: Tensor, *rest: Any) -> Tensor:
        begun = self.stamp()
        loss = self.loss(emissions, *rest)
        self.pairs.append([begun, self.stamp()])
        loss.register_hook(lambda _: self.pairs.append([self.stamp()]))
        emissions.register_hook(lambda _: self.pairs[-1].append(self.stamp()))
        return loss

    def stamp(self) -> Any:
        if not self.cuda:
            return time.perf_counter()
        event = self.events.pop()
        event.record()
        return event

    def seconds(self) -> float:
        """The time between the stamps, all together."""
        if not self.cuda:
            return sum(end - begin for begin, end in self.pairs)
        torch.cuda.synchronize()
        return sum(begin.elapsed_time(end) for begin, end in self.pairs) / 1e3


def share_of_crf(work: Work, run: Callable[[], None], device: torch.device, rounds: int) -> float:
    """The median share of a pass that is spent in the CRF."""
    tagger, samples = work.model.network_.tagger, []
    for _ in range(rounds):
        with Watch(tagger, device) as watch:
            total = seconds(run, device, 1, warm=False)
        samples.append(watch.seconds() / total)
    return statistics.median(samples)


def on_gpu(work: Work, step: Callable[[tuple[Any, ...]], None], device: torch.device) -> tuple[float, float]:
    """The GPU's own time of a step, and that of the CRF in it: the launches all wait in the stream."""
    crf, whole = 0.0, 0.0
    with Watch(work.model.network_.tagger, device):  # records what is not there yet, which waits for the GPU
        over(step, work.ours)()
    for batch in work.ours:
        begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        _ahead(begun, step, batch)
        ended.record()
        torch.cuda.synchronize()
        whole += begun.elapsed_time(ended) / 1e3
        with Watch(work.model.network_.tagger, device) as watch:
            _ahead(begun, step, batch)
            crf += watch.seconds()
    return whole / len(work.ours), crf / len(work.ours)


def _ahead(begun: torch.cuda.Event, step: Callable[[tuple[Any, ...]], None], batch: tuple[Any, ...]) -> None:
    torch.cuda._sleep(AHEAD)
    begun.record()
    step(batch)
    if begun.query():
        raise RuntimeError("the GPU did not wait for the launches of a step; raise AHEAD")


def seconds(call: Callable[[], None], device: torch.device, rounds: int, warm: bool = True) -> float:
    """The median time of a pass, after one that is not counted; CUDA events on a GPU."""
    taken = []
    for number in range(not warm, rounds + 1):
        if device.type == "cuda":
            begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begun.record()
            call()
            ended.record()
            torch.cuda.synchronize()
            spent = begun.elapsed_time(ended) / 1e3
        else:
            begin = time.perf_counter()
            call()
            spent = time.perf_counter() - begin
        if number:
            taken.append(spent)
    return statistics.median(taken)


def agree(work: Work, script: Script) -> str | None:
    """Say whether both contenders have the same loss for the same weights, without dropout."""
    tagger = work.model.network_.tagger.eval()
    script.eval()
    own, crf = tagger.state_dict(), tagger.head.crf  # type: ignore[union-attr]
    lstm = {name.removeprefix("encoder.layers.0."): part for name, part in own.items() if "layers.0" in name}
    script.lstm.load_state_dict(lstm)
    script.linear.load_state_dict(tagger.head.linear.state_dict())
    for part, name in ((script.words, "words"), (script.cases, "cases"), (script.characters, "characters.vectors")):
        part.load_state_dict({"weight": own[f"encoder.{name}.weight"]})
    convolution = {key: own[f"encoder.characters.filters.0.{key}"] for key in ("weight", "bias")}
    script.convolution.load_state_dict(convolution)
    script.crf.load_state_dict({name: crf.state_dict()[name] for name in script.crf.state_dict()})
    with torch.no_grad():
        losses = [float(tagger.forward(*work.ours[0])), float(script(*work.theirs[0]))]
    gap = abs(losses[0] - losses[1]) / abs(losses[1])
    return None if gap < 1e-4 else f"no times: losses {losses[0]:.6f} and {losses[1]:.6f}"


def speed(device: torch.device, rounds: int) -> bool:
    """Print the table of speeds; return whether the bars are met."""
    train, valid = read(find("conll2003/train.txt")), read(find("conll2003/valid.txt"))
    work = prepare(train, device)
    network = work.model.network_
    script = Script(network.tagger.encoder.words.weight.detach().cpu(), 2 + len(network.coder.table.characters), 9)
    if problem := agree(work, script.to(device)):
        print(problem)
        return False
    step, other = (
        stepper(network.tagger, network.tagger.groups({})),
        stepper(script, [{"params": [*script.parameters()]}]),
    )
    run = over(step, work.ours)
    ours, theirs = seconds(run, device, rounds), seconds(over(other, work.theirs), device, rounds)
    bar, most = BARS[device.type]
    rate = theirs / ours
    print("| work | Tagline | script with pytorch-crf | ratio | bar |\n|---|---|---|---|---|")
    wanted = "" if bar is None else f"≥ {bar:g}×"
    per = [f"{work.tokens / spent:,.0f} tokens/s, {spent / BATCHES * 1e3:.2f} ms a step" for spent in (ours, theirs)]
    print(f"| training, batch 32 | {per[0]} | {per[1]} | {rate:.1f}× | {wanted} |")
    if device.type == "cuda":
        whole, crf = on_gpu(work, step, device)
        print(f"| the GPU's own time of a step | {whole * 1e3:.2f} ms | | | |")
        share = crf / whole
    else:
        share = share_of_crf(work, run, device, rounds)
        crf = share * ours / BATCHES
    print(f"| … of it the CRF | {crf * 1e3:.3f} ms | | {share:.1%} | ≤ {most:.0%} |")
    tagged = tagging(work.model, valid, device, rounds)
    return (bar is None or rate >= bar) and share <= most and tagged


def tagging(model: BiLSTMCRF, valid: Corpus, device: torch.device, rounds: int) -> bool:
    """Print how fast a file is tagged in batches, and sentence by sentence."""
    model.network_.tagger.eval()
    few = valid[:400]
    if model.predict(few) != model.predict(few, batch_size=1):
        print("no times: tags depend on the batch")
        return False
    many = seconds(lambda: _used(model.predict(valid)), device, rounds) / valid.num_tokens
    single = (
        seconds(lambda: _used([model.predict_single(x) for x in few]), device, max(1, rounds // 3)) / few.num_tokens
    )
    rates = f"{1 / many:,.0f} tokens/s | {1 / single:,.0f}"
    print(f"| tagging, batched against one by one | {rates} | {single / many:.1f}× | ≥ {TAGGING_BAR:g}× |")
    return single / many >= TAGGING_BAR


def _used(_: object) -> None:
    """Nothing more is done with it."""


# Quality.


@dataclass(frozen=True)
class Case:
    """A row of the quality table.

    Attributes:
        corpus: a folder; its train.txt is learned from, its valid.txt scores.
        settings: of the estimator.
        encoder: the name of a folder under --encoders, for a TransformerCRF.
        vectors: the name of a folder under --encoders whose vectors of words a BiLSTMCRF begins with.
        bioes: IOB2 is written as BIOES first; the scores are the same spans'.
        test: the file that scores instead of valid.txt, once at the end; epochs are chosen on the last 1,000 training
            sentences.
        bar: for the mean F1.
    """

    corpus: str
    settings: dict[str, Any] = field(default_factory=dict)
    encoder: str | None = None
    vectors: str | None = None
    bioes: bool = False
    test: str | None = None
    bar: float | None = None


GLOVE_NER = {"embeddings": GLOVE, "hidden": 300, "char_size": 100, "word_dropout": 0, "batch_size": 32, "epochs": 15}
CHUNKING = {"hidden": 300, "char_size": 100, "average": 0.999, "batch_size": 32, "epochs": 15}
CHINESE = {
    **{"on_illegal": "repair", "epochs": 25, "batch_size": 16, "characters": None, "case_dim": 0, "hidden": 300},
    **{"bigram_dim": 50, "word_dropout": 0.05, "dropout": 0.6, "smoothing": 0.05, "average": 0.999},
}
FINE_TUNED = {"epochs": 8, "learning_rate": 2e-4, "layer_decay": 0.9}
CASES = {
    "conll2003": Case("conll2003", GLOVE_NER, bioes=True, bar=93.0),
    "conll2003-softmax": Case("conll2003", {**GLOVE_NER, "head": "softmax", "scheme": None}, bioes=True),
    "conll2000": Case("conll2000", CHUNKING, bioes=True, test="conll2000/test.txt", bar=93.0),
    "resume": Case("resume_ner", CHINESE, vectors="m3e", bar=93.5),
    "weibo": Case("weibo_ner", CHINESE, vectors="m3e"),
    "resume-alone": Case("resume_ner", {**CHINESE, "epochs": 40}),
    "minilm-conll2003": Case("conll2003", FINE_TUNED, "minilm", bioes=True, bar=92.0),
    "minilm-conll2003-context": Case(
        "conll2003", {**FINE_TUNED, "context": 150, "max_tokens": 16384}, "minilm", bioes=True, bar=93.0
    ),
    "minilm-conll2003-softmax": Case(
        "conll2003", {**FINE_TUNED, "head": "softmax", "scheme": None}, "minilm", bioes=True
    ),
    "m3e-resume": Case("resume_ner", {**FINE_TUNED, "on_illegal": "repair", "epochs": 10}, "m3e"),
    "m3e-weibo": Case("weibo_ner", {**FINE_TUNED, "on_illegal": "repair", "epochs": 15}, "m3e"),
}


def quality(names: list[str], seeds: list[int], encoders: Path, others: dict[str, Any]) -> bool:
    """Print a row for each case; return whether the bars are met."""
    print("| network | scored on | F1, mean ± deviation | of seeds | seconds a seed | bar |\n|---|---|---|---|---|---|")
    met = True
    for name in names:
        case = CASES[name]
        begin = time.perf_counter()
        scores = [trained(case, encoders, {**others, "random_state": seed}) * 100 for seed in seeds]
        spent = (time.perf_counter() - begin) / len(seeds)
        mean, spread = statistics.mean(scores), statistics.stdev(scores) if len(scores) > 1 else 0.0
        met &= case.bar is None or mean >= case.bar
        scored = case.test or f"{case.corpus}/valid.txt"
        each = ", ".join(f"{score:.2f}" for score in scores)
        bar = "" if case.bar is None else f"≥ {case.bar}"
        print(f"| {name} | {scored} | {mean:.2f} ± {spread:.2f} | {each} | {spent:.0f} | {bar} |", flush=True)
    return met


def trained(case: Case, encoders: Path, others: dict[str, Any]) -> float:
    """Train one network and return its F1 of spans."""
    train = read(find(f"{case.corpus}/train.txt"))
    if case.test is not None:
        train, dev = train[: len(train) - 1000], train[len(train) - 1000 :]
        scored = read(find(case.test))
    else:
        scored = dev = read(find(f"{case.corpus}/valid.txt"))
    if case.bioes:
        train, dev, scored = (convert(corpus, "IOB2", "BIOES") for corpus in (train, dev, scored))
    settings = {**case.settings, **others}
    if isinstance(settings.get("embeddings"), str):
        settings["embeddings"] = str(find(settings["embeddings"]))
    elif case.vectors is not None:
        settings["embeddings"] = encoders / case.vectors
    make = BiLSTMCRF(**settings) if case.encoder is None else TransformerCRF(encoders / case.encoder, **settings)
    if not settings.get("context"):
        make.fit(train, X_dev=dev)
        return make.evaluate(scored).spans.f1
    # One document a line: how many sentences it has.
    files = [find(f"{case.corpus}/{part}.documents") for part in ("train", "valid")]
    counts = [[int(line) for line in file.read_text().split()] for file in files]
    make.fit(train, X_dev=dev, documents=counts[0], documents_dev=counts[1])
    return make.evaluate(scored, documents=counts[1]).spans.f1


def main() -> int:
    """Measure, print, and tell by the exit status whether the bars are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("speed", "quality"), default="speed")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--only", nargs="+", choices=CASES, help="rows of the quality table")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--encoders", type=Path, default=Path("encoders"), help="a folder with minilm/ and m3e/")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings of the estimator")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    device = torch.device(options.device)
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.machine()
    print(f"{name}; Python {platform.python_version()}, torch {torch.__version__}; {time.strftime('%Y-%m-%d')}\n")
    if options.what == "speed":
        return 0 if speed(device, options.rounds) else 1
    others = {name: ast.literal_eval(value) for name, _, value in (setting.partition("=") for setting in options.set)}
    others = {"device": options.device, **others}
    return 0 if quality(options.only or list(CASES), options.seeds, options.encoders, others) else 1


if __name__ == "__main__":
    sys.exit(main())
