"""What `tagline tag --ray` does: shards of files on Ray, written as `tagline tag -o FOLDER` writes them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import tagline
from tagline.cli.meter import Meter
from tagline.cli.speech import say
from tagline.cli.tagging import Listener, Questions, Source, load_tagger, output_for, tag_stream
from tagline.cli.targets import targets_of
from tagline.errors import InputError
from tagline.messages import message
from tagline.scale.cluster import connected
from tagline.scale.tagging import SIDE, Outcome, TaggingShard, Told, Work, begin, run_shards, skipped_before
from tagline.training.running.progress import duration

LINE_SECONDS = 10.0  # between two lines about the progress, where there is no bar


@dataclass(frozen=True)
class TagWork:
    """Loads the model in an actor; it is mapped, so the actors of a node share its pages.

    Attributes:
        model: a file that every node sees.
        digest: of the file, as the driver has it.
        questions, source: as `tag_stream` takes them.
    """

    model: str
    digest: str
    questions: Questions
    source: Source

    def __call__(self) -> Work:
        if digest_of(self.model) != self.digest:
            raise InputError("{}: expected the model that the command was given, got another file here", self.model)
        model = load_tagger(self.model)

        def work(path: str, told: Told) -> Iterator[str]:
            def count(sentences: int) -> None:
                told.sentences += sentences

            listener = Listener(told.notices.append, told.skipped.append, sentences=count)
            return tag_stream(model, [path], self.questions, self.source, listener)

        return work


def digest_of(path: str) -> str:
    """Return what tells the bytes of a file from others."""
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            "{}: expected a model that can be read on every node, got: {}; put it where all nodes see "
            "it, under the same name",
            path,
            error.strerror,
        ) from None


def tag_shards(
    model: str,
    paths: Sequence[str],
    folder: str | None,
    questions: Questions,
    source: Source,
    *,
    address: str | None = None,
    workers: int | None = None,
    quiet: bool = False,
) -> None:
    """Tag files on Ray, a file of answers each; finished ones of a run that was killed are kept.

    Arguments:
        model: a file.
        paths: files, no streams.
        folder: of the answers.
        questions, source: as `tag_stream` takes them.
        address, workers: as `connected` and `run_shards` take them.
        quiet: no progress.
    """
    if folder is None or folder == "-":
        raise InputError("--ray: expected a folder for the answers, got none; give -o FOLDER")
    if "-" in paths:
        raise InputError("--ray: expected files or folders, got standard input; name them")
    if workers is not None and workers < 1:
        raise InputError("--workers: expected 1 or more, got {}", workers)
    questions = replace(questions, output=output_for(paths, source, questions))
    targets = targets_of(os.path.join(folder, ""), paths, str(questions.output), {"--model": model})
    shards = [TaggingShard.of(inputs[0], str(target)) for target, inputs in targets]
    load_tagger(model)  # what is wrong with it is said before Ray is started
    work = TagWork(os.path.abspath(model), digest_of(model), questions, source)
    job = {"tagline": tagline.__version__, "model": work.digest, **asdict(questions), **asdict(source)}
    left = begin(folder, shards, job)
    kept = len(shards) - len(left)
    if kept:
        say(
            message("{} of {} files were tagged before and are kept", kept, len(shards)),
            err=True,
        )
    outcomes: list[Outcome] = []
    skipped = skipped_before(shards)
    try:
        if left:
            with connected(address, cpus=workers) as cluster, _Progress(left, quiet) as progress:
                # Actors have other working folders.
                whole = [replace(shard, target=os.path.abspath(shard.target)) for shard in left]
                for outcome in run_shards(cluster, whole, work, workers):
                    outcomes.append(outcome)
                    progress.tell(outcome)
                for line in cluster.spilled():
                    say(line, err=True)
    except KeyboardInterrupt:
        done = sum(os.path.exists(shard.target) for shard in shards)
        say(
            message("stopped; {} of {} files are tagged: the same command goes on with the others", done, len(shards)),
            err=True,
        )
        raise SystemExit(130) from None
    _report(shards, outcomes, skipped, folder, quiet)


def _report(
    shards: Sequence[TaggingShard], outcomes: Sequence[Outcome], skipped: int, folder: str, quiet: bool
) -> None:
    skipped += sum(outcome.skipped for outcome in outcomes)
    if skipped:
        say(
            message(
                "broken sentences that were skipped: {}; they are in {}, in files that end with {}",
                skipped,
                folder,
                SIDE,
            ),
            err=True,
        )
    if broken := [outcome for outcome in outcomes if outcome.error]:
        raise InputError(
            "node {}: {}; {} of {} files were not tagged: mend what is wrong and run "
            "the command again, it keeps the others",
            broken[0].node,
            broken[0].error,
            len(broken),
            len(shards),
        )
    if not quiet:
        say(message("wrote {} files to {}", len(shards), folder), err=True)


class _Progress:
    """Tells how far the shards have come: a bar on a terminal, else a line now and then."""

    def __init__(self, shards: Sequence[TaggingShard], quiet: bool) -> None:
        self.meter, self.quiet = Meter([shard.source for shard in shards], shown=not quiet), quiet
        self.total, self.size = len(shards), sum(shard.size for shard in shards)
        self.done = self.read = self.sentences = 0
        self.begun = self.said = time.monotonic()

    def __enter__(self) -> _Progress:
        self.meter.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.meter.__exit__()

    def tell(self, outcome: Outcome) -> None:
        """Note a shard."""
        self.done, self.read = self.done + 1, self.read + outcome.size
        self.sentences += outcome.sentences
        self.meter.sentences(outcome.sentences)
        self.meter.finish(outcome.size)
        for line in outcome.notices:
            self.meter.say(line)
        now = time.monotonic()
        if not self.quiet and not self.meter.drawn and now - self.said > LINE_SECONDS:
            self.said, seconds = now, now - self.begun
            left = duration(seconds * (self.size - self.read) / max(1, self.read))
            rate = self.sentences / seconds
            self.meter.say(
                message("{} of {} files, {:,.0f} sentences a second, {} left", self.done, self.total, rate, left)
            )
