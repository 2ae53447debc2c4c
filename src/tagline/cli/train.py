"""What `tagline train` does: read, choose a template, train, score the dev set, save, and tell all of it.

The place to write to is tried before training, so that an hour's work is not lost to a missing folder.
"""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tagline.cli.labelled import Source, choose_set, named_template
from tagline.cli.progress import Reporter, Silent, duration
from tagline.cli.render import score_lines
from tagline.errors import InputError
from tagline.evaluation.report import Report, evaluate
from tagline.features.expansion import MOST_HASH_BITS
from tagline.features.sets import load_set
from tagline.features.templates import Template
from tagline.models.compilation import CompiledCorpus, compile_corpus
from tagline.models.crf import CRF
from tagline.models.fitting import ALGORITHMS
from tagline.models.inspection import Summary
from tagline.models.targets import ON_ILLEGAL
from tagline.readers import format_of
from tagline.readers.columns import iter_columns
from tagline.readers.corpus import TAG, Corpus
from tagline.readers.detection import detect
from tagline.readers.roles import scheme
from tagline.training.auto import STOCHASTIC_PASSES
from tagline.training.monitor import Pass

# Settings that are numbers: the least and the most they may be.
RANGES: dict[str, tuple[float, float]] = {
    "c1": (0, math.inf),
    "c2": (0, math.inf),
    "min_frequency": (0, math.inf),
    "hash_bits": (1, MOST_HASH_BITS),
    "max_iterations": (1, math.inf),
    "max_seconds": (0, math.inf),
    "patience": (0, math.inf),
    "passes": (0, math.inf),
    "epsilon": (0, math.inf),
    "delta": (0, math.inf),
    "period": (0, math.inf),
    "random_state": (0, math.inf),
}


@dataclass(frozen=True, eq=False)
class Training:
    """What was trained, and how it went.

    Attributes:
        path: of the model; None where nothing was saved.
        model: the estimator.
        sentences, tokens: learned from.
        template: and why it was chosen, where it was not named.
        skipped: broken sentences that were left out.
        seconds: of the whole.
        size: of the file in bytes.
        dev: scores on the dev set.
    """

    path: str | None
    model: CRF
    sentences: int
    tokens: int
    template: Template
    chosen: str
    skipped: int
    seconds: float
    size: int
    dev: Report | None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.reason == "interrupted"

    @property
    def reason(self) -> str:
        """Why training stopped."""
        return self.model.training_.reason

    @property
    def best_pass(self) -> Pass | None:
        """The pass with the best dev score, whose weights are kept where there is patience."""
        scored = [one for one in self.model.training_log_ if one.dev_score is not None]
        return max(scored, key=lambda one: (one.dev_score or 0.0, -one.iteration)) if scored else None

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain numbers, lists and strings."""
        summary: Summary = self.model.summary()
        best = self.best_pass
        return {
            "model": self.path,
            "bytes": self.size,
            "sentences": self.sentences,
            "tokens": self.tokens,
            "skipped": self.skipped,
            "template": self.template.source,
            **{key: value for key, value in summary.as_dict().items() if key not in ("features", "training")},
            "training": summary.training,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
            "best_pass": None if best is None else best.iteration,
            "dev": None if self.dev is None else self.dev.as_dict(),
        }


@dataclass(frozen=True)
class Plan:
    """What is to be trained.

    Attributes:
        train, output: the file to learn from and the model to write.
        template: the name of a ready-made set or a path; chosen from the data when None.
        dev: a file to score after each pass.
        source: how files are read.
        settings: of `CRF`, by name.
        cache: a folder for the compiled corpus, where the data are larger than memory.
    """

    train: str
    output: str
    template: str | None = None
    dev: str | None = None
    source: Source = field(default_factory=Source)
    settings: Mapping[str, Any] = field(default_factory=dict)
    cache: str | None = None


def train_file(plan: Plan, tell: Reporter | None = None) -> Training:
    """Train a model on a file and save it."""
    tell = tell or Silent()
    begun = time.perf_counter()
    check_settings(plan.settings)
    check_writable(plan.output)
    template = None if plan.template is None else named_template(plan.template)
    dev = None if plan.dev is None else plan.source.read(plan.dev)
    tell.stage(f"reading {plan.train}")
    corpus: Corpus | CompiledCorpus
    if plan.cache is None:
        corpus = sample = plan.source.read(plan.train)
    else:
        sample = _first_block(plan)
    chosen = ""
    if template is None:
        name, chosen = choose_set(sample)
        template = load_set(name)
    for note in template.notes:
        tell.say(note)
    template.check_columns([name for name in sample.names if name != TAG])
    if dev is not None:
        _same_columns(dev, sample, template)
    if plan.cache is not None:
        corpus = _compiled(plan, template, tell)
    _introduce(corpus, template, chosen, sample.problems, tell)
    model = CRF(template, **plan.settings, callbacks=(tell.passed,))
    tell.stage("numbering features")
    model.fit(corpus, X_dev=dev)
    model.callbacks = ()
    if not model.training_log_:
        tell.say(f"stopped before the first pass was done ({model.stop_reason_}); {plan.output} was not written")
        raise KeyboardInterrupt
    tell.stage(f"saving {plan.output}")
    model.save(plan.output)
    report = None
    if dev is not None:
        tell.stage(f"scoring {plan.dev}")
        report = score(model, dev)
    return Training(
        plan.output,
        model,
        len(corpus),
        corpus.num_tokens,
        template,
        chosen,
        len(sample.problems),
        time.perf_counter() - begun,
        os.path.getsize(plan.output),
        report,
    )


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise where a setting cannot be meant, before anything is read."""
    for name, value in settings.items():
        option = "--" + {"random_state": "seed"}.get(name, name).replace("_", "-")
        least, most = RANGES.get(name, (-math.inf, math.inf))
        if isinstance(value, int | float) and not least <= value <= most:
            span = f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"
            raise InputError(f"{option}: expected a number, {span}, got {value}")
        choices = {"algorithm": ALGORITHMS, "on_illegal": ON_ILLEGAL}.get(name)
        if choices is not None and value not in choices:
            raise InputError(f"{option}: expected one of {', '.join(choices)}, got {value!r}")
    if settings.get("scheme") not in (None, "auto"):
        scheme(settings["scheme"])


def check_writable(path: str) -> None:
    """Raise unless a file can be written there; nothing that is there is touched."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{path}: expected a file to write, got a folder; name a file in it")
    if not target.parent.is_dir():
        raise InputError(f"{path}: expected an existing folder to write into, got none; make {target.parent} first")
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}-"):
            pass
    except OSError as error:
        raise InputError(f"{path}: expected a place to write to, got: {error.strerror}; choose another") from None


def _same_columns(dev: Corpus, train: Corpus, template: Template) -> None:
    if len(dev.names) - 1 < template.num_columns:
        raise InputError(
            f"{dev.source}: expected {len(train.names)} columns, as {train.source} has, got {len(dev.names)}"
        )


def _introduce(
    corpus: Corpus | CompiledCorpus, template: Template, chosen: str, problems: tuple[str, ...], tell: Reporter
) -> None:
    tell.say(f"learning from {len(corpus):,} sentences, {corpus.num_tokens:,} tokens")
    name = template.source.removesuffix(".txt")
    tell.say(f"template {name}: {chosen}; --template names another" if chosen else f"template {name}")
    if problems:
        tell.say(f"skipped {len(problems)} broken sentences; the first: {problems[0]}")


def score(model: CRF, dev: Corpus) -> Report:
    """Score a model on labelled sentences: spans where the tags mark any, else tokens."""
    rule = None if detect(dev).scheme is None else "conlleval"
    return evaluate(dev, model.predict(dev), rule)


def _first_block(plan: Plan) -> Corpus:
    """The beginning of the training file, to choose by."""
    if format_of(plan.train, plan.source.form) != "columns":
        raise InputError(
            f"--cache: expected a column file to compile, got {plan.train}; leave --cache out, or convert it"
        )
    for block in iter_columns(plan.train, encoding=plan.source.encoding, block_bytes=1 << 20):
        if len(block):
            return plan.source.choose(block)
    raise InputError(f"{plan.train}: expected sentences, got none")


def _compiled(plan: Plan, template: Template, tell: Reporter) -> CompiledCorpus:
    """The compiled corpus of a file; the one of last time where neither the file nor the template has changed."""
    assert plan.cache is not None
    folder, bits = Path(plan.cache), plan.settings.get("hash_bits")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--cache: expected a folder, got {plan.cache}: {error.strerror}") from None
    status = os.stat(plan.train)
    facts = (os.path.abspath(plan.train), status.st_size, status.st_mtime_ns, template.text, bits, plan.source)
    path = folder / f"{Path(plan.train).stem}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}.compiled"
    if path.exists():
        tell.say(f"using {path}, compiled before")
        return CompiledCorpus.open(path)
    blocks = iter_columns(plan.train, encoding=plan.source.encoding, strict=not plan.source.lenient)
    chosen = (plan.source.choose(block) for block in blocks if len(block))
    return compile_corpus(
        chosen,
        path,
        template,
        hash_bits=bits,
        progress=lambda done: tell.stage(f"compiling {plan.train}: {done:,} tokens"),
    )


def report_lines(done: Training) -> list[str]:
    """Say how training ended, how good the model is, and what to try next."""
    summary = done.model.summary()
    passes = len(done.model.training_log_)
    lines = [*summary.training.get("notes", ())]
    lines.append(f"stopped after {passes} passes, {duration(done.seconds)} in all: {_reason(done)}")
    counted = sum(summary.weights.values())
    lines.append(
        f"{len(summary.labels)} labels ({summary.scheme or 'no tag scheme'}), {summary.attributes:,} attributes, "
        f"{counted:,} weights, {summary.active:,} of them not 0"
    )
    if done.dev is not None:
        lines += ["", *score_lines(done.dev), ""]
    lines.append(f"saved {done.path} ({done.size / 1e6:.1f} MB)")
    return [*lines, *_advice(done)]


def _reason(done: Training) -> str:
    best = done.best_pass
    words = {
        "patience": "the dev score no longer rises",
        "max_iterations": "--max-iterations is reached, before it had converged",
        "time budget": "--max-seconds are over, before it had converged",
        "interrupted": "interrupted; what was learned so far is kept",
        "passes": "all passes are made",
    }.get(done.reason, done.reason)
    if best is not None and done.model.patience is not None:
        words += f"; pass {best.iteration} is kept, dev {100 * (best.dev_score or 0.0):.2f}"
    return words


def _advice(done: Training) -> list[str]:
    commands = [
        (f"tagline tag -m {done.path} FILE", "tags a file"),
        (f"tagline inspect {done.path}", "shows what was learned"),
    ]
    if done.dev is None:
        commands.append(("tagline train … --dev FILE", "scores each pass and stops in time"))
    width = max(len(command) for command, _ in commands)
    return ["next:", *(f"  {command:{width}}  {why}" for command, why in commands)]


def most_passes(algorithm: str, max_iterations: int | None, passes: int | None) -> int | None:
    """Return how many passes there can be at most, as the algorithm counts them; None for no limit.

    >>> most_passes("auto", 50, None), most_passes("lbfgs", 50, None), most_passes("auto", None, None)
    (60, 50, None)
    """
    if algorithm not in ("auto", "lbfgs", "owlqn", "gd"):
        return min((limit for limit in (max_iterations, passes) if limit is not None), default=None)
    stochastic = (STOCHASTIC_PASSES if passes is None else passes) if algorithm == "auto" else 0
    if max_iterations is None or max_iterations <= stochastic:
        return max_iterations
    return stochastic + max_iterations


def label_weights_of(text: str | None) -> str | dict[str, float] | None:
    """Read ``balanced``, or ``LABEL=NUMBER`` with commas between.

    >>> label_weights_of("B-PER=2,O=0.5")
    {'B-PER': 2.0, 'O': 0.5}
    """
    if text is None or text == "balanced":
        return text
    found = {}
    for part in text.split(","):
        label, _, number = part.rpartition("=")
        try:
            found[label] = float(number)
        except ValueError:
            label = ""
        if not label:
            raise InputError(f"--label-weights: expected balanced or LABEL=NUMBER,…, got {part!r}")
    return found
