"""Training a feature CRF on workers, as its driver sees it: what all shards have in common, then sums, pass by pass.

1. Every shard is surveyed: labels, tag scheme, tokens. From these follow the lanes (`training.lanes`).
2. Workers compile their lanes and count the attributes; the driver merges the names, in the order of their first use.
3. Workers say which weights their sentences ask for; the driver joins them.
4. In each pass the driver sends the weights, workers answer with sums over branches of lanes, and the driver adds these
   up as a tree. The optimisers are those of `tagline.training`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

import tagline
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import Structure
from tagline.messages import message
from tagline.models.crf.extraction import Extraction
from tagline.models.crf.fitting import settings_of
from tagline.models.crf.parameters import Parameters
from tagline.ragged import row_offsets
from tagline.readers.training_files import LabelledFiles
from tagline.scale.averaging import AveragedPasses, Descents
from tagline.scale.cluster import import_ray
from tagline.scale.holders import Job, Names, Numbering, Plan, added
from tagline.scale.shards import Shard
from tagline.scale.surveys import (
    Settlement,
    Survey,
    detected_scheme,
    final_settlement,
    find_cuts,
    first_settlement,
    pieces_of_lanes,
    survey,
    survey_settled,
    targets_by_shard,
)
from tagline.scale.workers import Workers, spread
from tagline.training.algorithms import precision_of
from tagline.training.iteration import Algorithm
from tagline.training.lanes import Tree, lane_count
from tagline.types import Float64Array, IntArray

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Setting:
    """Where and how the work is done.

    Attributes:
        shards, files: what is read, and how.
        workers, threads: how many processes hold lanes, 0 for all that can be, and threads of each.
        scratch: a folder on the workers' disks; None for that of temporary files.
        place: the name of the option or function, for messages.
    """

    shards: tuple[Shard, ...]
    files: LabelledFiles
    workers: int
    threads: int = 1
    scratch: str | None = None
    place: str = "--ray"


@dataclass(frozen=True)
class Overview:
    """What all shards hold together.

    Attributes:
        surveys: of each shard, of the sentences that are learned from.
        settlement: labels and rules.
        notes: what was repaired or dropped.
        fingerprint: of sentences and labels.
        broken: surveys of shards with sentences that were skipped.
    """

    surveys: tuple[Survey, ...]
    settlement: Settlement
    notes: tuple[str, ...]
    fingerprint: str
    broken: tuple[Survey, ...] = ()

    @property
    def sentences(self) -> int:
        """B."""
        return sum(part.sentences for part in self.surveys)

    @property
    def tokens(self) -> int:
        """N."""
        return sum(part.tokens for part in self.surveys)

    @property
    def label_counts(self) -> dict[str, int]:
        """How many tokens have each label."""
        return {label: sum(part.labels.get(label, 0) for part in self.surveys) for label in self.settlement.labels}


def look_over(setting: Setting, scheme: str | None, on_illegal: str, tell: Tell) -> Overview:
    """Survey all shards."""
    tell(message("reading {} files", len(setting.shards)))
    before = each_shard(setting, survey, [() for _ in setting.shards])
    settlement = first_settlement(before, detected_scheme(before, scheme), on_illegal)
    after = before
    notes: tuple[str, ...] = ()
    if settlement.judged_by is not None:
        after = each_shard(setting, survey_settled, [(settlement,)] * len(setting.shards))
        settlement, notes = final_settlement(settlement, after, before, on_illegal)
    marks = [part.fingerprint for part in before]
    mark = marks[0] if len(marks) == 1 else hashlib.blake2b("".join(marks).encode(), digest_size=8).hexdigest()
    return Overview(tuple(after), settlement, notes, mark, tuple(part for part in before if part.problems[0]))


def each_shard(
    setting: Setting, ask: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], cpus: int = 1
) -> list[Any]:
    """Ask about every shard, each in a task; answers in the order of the shards.

    Arguments:
        cpus: that a task waits for; 0 while workers hold all of them and are idle.
    """
    ray = import_ray(setting.place)
    task = ray.remote(num_cpus=cpus, max_retries=3)(ask)
    asked = [task.remote(shard, setting.files, *more) for shard, more in zip(setting.shards, arguments, strict=True)]
    answers: list[Any] = ray.get(asked)
    return answers


def jobs_of(setting: Setting, overview: Overview, extraction: Extraction) -> list[Job]:
    """Cut the corpus into lanes and deal these out to workers."""
    lanes = lane_count(overview.tokens)
    targets = targets_by_shard([part.tokens for part in overview.surveys], lanes)
    wanted = [s for s, here in enumerate(targets) if here]
    cuts: list[list[int]] = [[] for _ in setting.shards]
    if wanted:
        ray = import_ray(setting.place)
        task = ray.remote(num_cpus=1, max_retries=3)(find_cuts)
        asked = [task.remote(setting.shards[s], setting.files, overview.settlement, targets[s]) for s in wanted]
        for s, found in zip(wanted, ray.get(asked), strict=True):
            cuts[s] = found
    pieces = [tuple(lane) for lane in pieces_of_lanes(setting.shards, cuts, lanes)]
    text = None if extraction.template is None else extraction.template.text
    facts = tagline.__version__, setting.shards, setting.files, overview, text, extraction.hash_bits, lanes
    run = hashlib.sha256(repr(facts).encode(errors="surrogatepass")).hexdigest()[:16]
    rest = setting.files, overview.settlement, extraction.way, extraction.hash_bits, setting.scratch, setting.threads
    return [Job(run, tuple(pieces[first:last]), first, *rest) for first, last in spread(lanes, setting.workers)]


def merged_names(parts: Sequence[Names], min_frequency: float, hash_bits: int | None) -> Names:
    """Join the attributes of all workers, in the order of their first use, and leave rare ones out."""
    out: list[Any] = []
    for kind in ("states", "edges"):
        names: Vocabulary | None = None
        counts = np.zeros(0, np.int64)
        for part in parts:
            more: Vocabulary | None = getattr(part, kind)
            numbers: IntArray | None = None
            if more is not None:
                listed = more.names()
                names = more if names is None else names.extended(listed)
                numbers = names.find_all(listed).astype(np.int64)
            counts = added(counts, getattr(part, f"{kind.removesuffix('s')}_counts"), numbers)
        if names is not None and min_frequency > 1:
            kept = np.flatnonzero(counts >= min_frequency)
            names, counts = names.take(kept), counts[kept]
        if names is None and hash_bits is not None and len(counts):
            counts = added(np.zeros(1 << hash_bits, np.int64), counts, None)
        out += [names, counts]
    return Names(*out)


def joined_structure(structures: Sequence[Structure]) -> Structure:
    """Give a weight to each pair that some structure has one for; all are of the same attributes and labels."""
    return reduce(_joined_two, structures)


def _joined_two(one: Structure, other: Structure) -> Structure:
    L = one.num_labels

    def rows(offsets: str, labels: Callable[[Structure], IntArray], width: int) -> tuple[IntArray, IntArray]:
        count = len(getattr(one, offsets)) - 1
        keys = [
            np.repeat(np.arange(count), np.diff(getattr(part, offsets))) * width + labels(part) for part in (one, other)
        ]
        union = np.union1d(*keys)
        return row_offsets(union // width, count), union % width

    def numbers(pairs: Any) -> IntArray:
        return np.asarray(pairs[:, 0].astype(np.int64) * L + pairs[:, 1])

    def split(keys: IntArray) -> Any:
        return np.stack([keys // L, keys % L], axis=1).astype(np.int32)

    state_offsets, state_labels = rows("state_offsets", lambda part: part.state_labels.astype(np.int64), L)
    edge_offsets, edge_keys = rows("edge_offsets", lambda part: numbers(part.edge_pairs), L * L)
    transitions = split(np.union1d(numbers(one.transitions), numbers(other.transitions)))
    return Structure(
        *(L, state_offsets, state_labels.astype(np.int32), transitions, edge_offsets, split(edge_keys)),
        one.start,
        one.end,
    )


class SharedLikelihood:
    """The likelihood of sentences that workers hold, as algorithms of `tagline.training` ask for it.

    Attributes:
        size: how many weights there are.
        precision: of the workers' arithmetic.
        num_sentences: B.
        convex: whether all labels are known, as they are here.
        seconds: how long the driver waited for sums, and how long it added them up.
    """

    convex = True

    def __init__(self, workers: Workers, plan: Plan, num_sentences: int, lanes: int) -> None:
        self._workers, self._lanes = workers, lanes
        self.size, self.precision, self.num_sentences = plan.structure.size, plan.precision, num_sentences
        self._plan = workers.shared(plan)
        self._observed = self._summed("observed")[1]

    def __call__(self, weights: Float64Array) -> tuple[float, Float64Array]:
        """Return the value and the gradient ``[size]``."""
        value, gradient = self._summed("expected", self._sent(weights), False)
        gradient -= self._observed
        return value, gradient

    def curvature(self, weights: Float64Array) -> Float64Array:
        """Return about the diagonal of the Hessian, as `Likelihood.curvature` does."""
        return self._summed("expected", self._sent(weights), True)[1]

    def find_rate(self, weights: Float64Array, how: Descents) -> float:
        """Return a first step size for stochastic passes."""
        return float(self._workers.ask_first("find_rate", self._plan, self._sent(weights), how))

    def descended(self, weights: Float64Array, how: Descents) -> tuple[float, Float64Array]:
        """Make a stochastic pass over every lane: the summed losses, and the sum of weights times sentences."""
        return self._summed("descend", self._sent(weights), how)

    @staticmethod
    def stochastic(*arguments: Any, **settings: Any) -> Algorithm:
        """Return the stochastic start of `auto`."""
        return AveragedPasses(*arguments, **settings)

    def _sent(self, weights: Float64Array) -> Any:
        return self._workers.shared(np.ascontiguousarray(weights, np.float64))[0]

    def _summed(self, method: str, *arguments: Any) -> tuple[float, Float64Array]:
        tree = Tree(self._lanes)
        for part in self._workers.summed(method, self._plan, *arguments):
            tree.add(part.branch, (part.value, part.dense(self.size)))
        value, vector = tree.total
        return float(value), vector if vector.flags.writeable else vector.copy()


@dataclass(frozen=True, eq=False)
class RemoteLesson:
    """What a feature CRF is trained with.

    Attributes:
        start: labels, names and weights, all 0, as a CRF has them (`Parameters`).
        likelihood: what an algorithm asks for objective and gradient; it has what `training.likelihood.Likelihood` has
            for algorithms that know no single sentence.
        sentences, tokens: how many there are.
        notes: what was repaired or dropped.
    """

    start: Any
    likelihood: Any
    sentences: int
    tokens: int
    notes: tuple[str, ...] = ()


@contextmanager
def crf_lesson(
    setting: Setting, crf: CRF, extraction: Extraction, overview: Overview, tell: Tell
) -> Iterator[RemoteLesson]:
    """Have workers compile and hold the sentences, and say what weights there are."""
    if extraction.template is not None:
        extraction.template.check_columns(list(overview.surveys[0].columns or ("token",)))
    jobs = jobs_of(setting, overview, extraction)
    workers = Workers(jobs, setting.place)
    finished = False
    try:
        tell(message("compiling on {} workers", len(jobs)))
        names = merged_names(workers.each("names"), crf.min_frequency, extraction.hash_bits)
        numbering = _numbering(crf, extraction, overview, names)
        tell(message("joining features"))
        structure = joined_structure(workers.each("structure", workers.shared(numbering)))
        plan = Plan(
            numbering,
            structure,
            overview.settlement.rules if crf.chained else None,
            names.state_counts,
            overview.tokens,
            precision_of(settings_of(crf), overview.tokens),
            crf.local,
            _label_weights(crf, overview),
        )
        likelihood = SharedLikelihood(workers, plan, overview.sentences, _lanes(jobs))
        weights = np.zeros(structure.size)
        labels, scheme = tuple(overview.settlement.labels), overview.settlement.scheme
        start = Parameters(labels, scheme, structure, weights, numbering.states, numbering.edges)
        yield RemoteLesson(start, likelihood, overview.sentences, overview.tokens, overview.notes)
        finished = True
    finally:
        workers.close(keep=not finished)


def _lanes(jobs: Sequence[Job]) -> int:
    return sum(len(job.lanes) for job in jobs)


def _numbering(crf: CRF, extraction: Extraction, overview: Overview, names: Names) -> Numbering:
    template = extraction.template
    hashed = 0 if extraction.hash_bits is None else 1 << extraction.hash_bits
    has_edges = crf.chained and template is not None and template.has_edges
    num_edges = 0
    if has_edges:
        num_edges = hashed if names.edges is None else len(names.edges)
    shape = {
        "all_states": crf.all_possible_states,
        "all_transitions": crf.all_possible_transitions,
        "edge_pairs": "all" if crf.all_possible_transitions else "observed",
        "transitions": crf.chained and (template is None or template.label_bigrams),
        "start": bool(crf.start_end),
        "end": bool(crf.start_end),
    }
    num_states = hashed if names.states is None else len(names.states)
    return Numbering(names.states, names.edges if has_edges else None, num_states, num_edges, shape, crf.chained)


def _label_weights(crf: CRF, overview: Overview) -> dict[str, float] | None:
    """How much sentences with a label count; "balanced" by the labels of all shards."""
    if crf.label_weights is None or not isinstance(crf.label_weights, str):
        return None if crf.label_weights is None else dict(crf.label_weights)
    counts = np.array(list(overview.label_counts.values()))
    table = counts.sum() / (len(counts) * np.maximum(counts, 1))
    return dict(zip(overview.label_counts, table.tolist(), strict=True))
