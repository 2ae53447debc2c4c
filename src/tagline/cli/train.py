"""What `tagline train` does: read, choose a template where the model needs one, train, save, score the dev set.

Options and the place to write to are tried before anything is read, so that an hour's work is not lost to a typing
mistake.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from tagline.cli.configuration import save_config
from tagline.cli.kinds import kind_of
from tagline.cli.networks import fit_network, network_of, speaks
from tagline.cli.outcome import Training
from tagline.cli.plans import Plan
from tagline.cli.progress import Reporter, Silent
from tagline.cli.settings import check_settings
from tagline.errors import InputError, StorageError
from tagline.evaluation.report import Report, evaluate
from tagline.features.choosing import choose_set, named_template
from tagline.features.sets import load_set
from tagline.features.templates import Template
from tagline.models.answers import ChainModel as SequenceModel
from tagline.models.crf.compilation import CompiledCorpus, compile_corpus
from tagline.models.crf.estimator import CRF
from tagline.readers import format_of
from tagline.readers.columns import iter_columns
from tagline.readers.corpus import TAG, Corpus
from tagline.readers.detection import detect


def train_file(plan: Plan, tell: Reporter | None = None) -> Training:
    """Train a model on a file and save it.

    Ctrl-C during training ends it, and what was learned is saved. Before the first pass is done there is nothing to
    save: then it is a `KeyboardInterrupt`.
    """
    tell, begun = tell or Silent(), time.perf_counter()
    check_settings(plan.settings)
    check_writable(plan.output)
    _check_apart(plan)
    if not kind_of(plan.model).template:
        return _by_words(plan, tell, begun)
    if plan.cache is not None and plan.settings.get("min_frequency", 0) > 1:
        raise InputError("--cache, --min-frequency: expected one of them, got both; compiled data keep every attribute")
    named = None if plan.template is None else named_template(plan.template)
    dev = None if plan.dev is None else plan.source.read(plan.dev)
    tell.stage(f"reading {plan.train}")
    sample = plan.source.read(plan.train) if plan.cache is None else _first_block(plan)
    name, why = ("", "") if named is not None else choose_set(sample)
    template = named or load_set(name)
    for corpus in (sample, dev):
        if corpus is not None:
            template.check_columns([column for column in corpus.names if column != TAG])
    data = sample if plan.cache is None else _compiled(plan, template, tell)
    _introduce(data, template, why, sample.problems, tell)
    model = _fitted(plan, template, data, dev, tell)
    tell.stage(f"saving {plan.output}")
    _save(model, plan.output)
    tell.stage("scoring")
    report = None if dev is None else score(model, dev)
    seconds = time.perf_counter() - begun
    return Training(plan.output, model, len(data), data.num_tokens, template, len(sample.problems), seconds, report)


def _by_words(plan: Plan, tell: Reporter, begun: float) -> Training:
    """Train a model that looks at words alone: count, or train a network."""
    network = kind_of(plan.model).network
    plan.run.check()
    model = network_of(plan.model, plan.settings, tell) if network else kind_of(plan.model).estimator(**plan.settings)
    dev = None if plan.dev is None else plan.source.read(plan.dev)
    tell.stage(f"reading {plan.train}")
    data = plan.source.read(plan.train)
    tell.say(f"learning from {len(data):,} sentences, {data.num_tokens:,} tokens")
    if data.problems:
        tell.say(f"skipped {len(data.problems)} broken sentences; the first: {data.problems[0]}")
    if len(data.names) > 2:
        tell.say(f"looking at the column {data.names[0]} alone; --model crf looks at the others, too")
    if network:
        fit_network(model, data, dev, plan.run, tell)
    else:
        tell.stage("counting")
        model.fit(data)
    config = _saved(plan, model, tell) if speaks() else None
    report = score(model, dev) if dev is not None and speaks() else None
    seconds = time.perf_counter() - begun
    return Training(plan.output, model, len(data), data.num_tokens, None, len(data.problems), seconds, report, config)


def _saved(plan: Plan, model: Any, tell: Reporter) -> str | None:
    """Write a model, and beside it the configuration of a network, whose path is returned."""
    tell.stage(f"saving {plan.output}")
    _save(model, plan.output)
    config = save_config(plan.run.config, plan.output) if plan.run.config else None
    tell.stage("scoring")
    return config


def _fitted(plan: Plan, template: Template, data: Corpus | CompiledCorpus, dev: Corpus | None, tell: Reporter) -> CRF:
    model = CRF(template, **plan.settings, callbacks=(tell.passed,))
    tell.stage("numbering features")
    model.fit(data, X_dev=dev)
    model.callbacks = ()
    if not model.training_log_ and model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    if not model.training_log_ and model.stop_reason_ == "time budget":
        raise InputError(f"--max-seconds: expected time for one pass at least, got {model.max_seconds}")
    return model


def _save(model: Any, path: str) -> None:
    """Write a model; where that fails after all, among the temporary files, and say so."""
    try:
        model.save(path)
    except StorageError as error:
        number, spare = tempfile.mkstemp(suffix=".tagline")
        os.close(number)
        model.save(spare)
        raise StorageError(f"{error}; what was learned is not lost: it lies in {spare}") from None


def _check_apart(plan: Plan) -> None:
    """Raise where a file that is written is one that is read, or another that is written."""
    read = {"the training file": plan.train, "--dev": plan.dev, "--template": plan.template}
    read |= {"--embeddings": plan.settings.get("embeddings")}
    written = {"-o": plan.output, "--checkpoint": plan.run.checkpoint, "--log": plan.run.log, "--cache": plan.cache}
    seen = {os.path.realpath(path): name for name, path in read.items() if isinstance(path, str) and path != "-"}
    for name, path in written.items():
        if path is not None:
            place = os.path.realpath(path)
            if place in seen:
                raise InputError(f"{name}: expected a file of its own, got {path}, which is also {seen[place]}")
            seen[place] = name


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


def _introduce(
    data: Corpus | CompiledCorpus, template: Template, why: str, problems: tuple[str, ...], tell: Reporter
) -> None:
    tell.say(f"learning from {len(data):,} sentences, {data.num_tokens:,} tokens")
    name = template.source.removesuffix(".txt") if why else template.source
    tell.say(f"template {name}: {why}; --template names another" if why else f"template {name}")
    for note in template.notes:
        tell.say(note)
    if problems:
        tell.say(f"skipped {len(problems)} broken sentences; the first: {problems[0]}")


def score(model: SequenceModel, dev: Corpus) -> Report:
    """Score a model on labelled sentences: spans where the tags mark any, else tokens."""
    rule = None if detect(dev).scheme is None else "conlleval"
    return evaluate(dev, model.predict(dev), rule)


def _first_block(plan: Plan) -> Corpus:
    """The beginning of the training file, to choose by."""
    if format_of(plan.train, plan.source.form) != "columns" or plan.train == "-":
        raise InputError(f"--cache: expected a column file to compile, got {plan.train}; leave --cache out")
    for block in iter_columns(plan.train, encoding=plan.source.encoding, strict=not plan.source.lenient):
        if len(block):
            return plan.source.choose(block)
    raise InputError(f"{plan.train}: expected sentences, got none")


def _compiled(plan: Plan, template: Template, tell: Reporter) -> CompiledCorpus:
    """The compiled corpus of a file; the one of last time where neither the file nor how it is read has changed."""
    folder, bits = Path(plan.cache or ""), plan.settings.get("hash_bits")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--cache: expected a folder, got {plan.cache} ({error.strerror})") from None
    status = os.stat(plan.train)
    facts = (os.path.abspath(plan.train), status.st_size, status.st_mtime_ns, template.text, bits, plan.source)
    path = folder / f"{Path(plan.train).stem}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}.compiled"
    if path.exists():
        tell.say(f"using {path}, compiled before")
        return CompiledCorpus.open(path)
    blocks = iter_columns(plan.train, encoding=plan.source.encoding, strict=not plan.source.lenient)
    chosen = (plan.source.choose(block) for block in blocks if len(block))

    def compiling(done: int) -> None:
        tell.stage(f"compiling {plan.train}: {done:,} tokens")

    return compile_corpus(chosen, path, template, hash_bits=bits, progress=compiling)
