"""What must be known of all shards before any is compiled: labels, tag scheme, how many tokens, where lanes begin.

Each shard is surveyed by a task of its own. `Settlement` is what follows for all of them: the labels, the rules, and
what becomes of labellings that break them, decided as `models.labelled.prepare` decides it for sentences in one
process.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tagline.errors import InputError
from tagline.messages import message
from tagline.models.labelled import illegal_sentences, read_labels, scheme_of, settled, shown_break
from tagline.models.provenance import fingerprint
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.readers.detection import STRICTEST_FIRST, detect_counted, used_tags
from tagline.readers.rules import MISFIT, SCHEMES, Rules, legal, tag_codes
from tagline.readers.tagged import Tagged
from tagline.readers.training_files import LabelledFiles
from tagline.readers.validation import forbidden
from tagline.scale.shards import Shard, read_shard
from tagline.training.lanes import lane_targets


@dataclass(frozen=True)
class Survey:
    """What a shard holds.

    Attributes:
        sentences, tokens: how many are learned from.
        labels: how many tokens have each.
        violations: of each scheme that its tags are written in.
        illegal: sentences that the settlement had to deal with, the place of the first, and its first illegal tag.
        columns: names, the tag left out.
        problems: broken sentences that were skipped, and the first.
        fingerprint: of sentences and labels.
    """

    sentences: int
    tokens: int
    labels: dict[str, int]
    violations: dict[str, int] = field(default_factory=dict)
    illegal: tuple[int, str, str] = (0, "", "")
    columns: tuple[str, ...] = ()
    problems: tuple[int, str] = (0, "")
    fingerprint: str = ""


@dataclass(frozen=True)
class Settlement:
    """What labels there are and which labellings are learned from.

    Attributes:
        labels: all of them, sorted.
        scheme: the tag scheme whose rules hold; None for no rules.
        judged_by: the labels before anything was repaired, by which labellings are legal or not; None where all are.
        on_illegal: "repair" or "drop".
    """

    labels: tuple[str, ...]
    scheme: str | None = None
    judged_by: tuple[str, ...] | None = None
    on_illegal: str = "error"

    @property
    def rules(self) -> Rules | None:
        """What the scheme allows."""
        return None if self.scheme is None else legal(list(self.labels), self.scheme)

    def applied(self, corpus: Corpus) -> Corpus:
        """Return the sentences that are learned from, as they are learned from."""
        if self.judged_by is None or self.scheme is None:
            return corpus
        labelled, rules = read_labels(corpus, None).over(self.judged_by), legal(self.judged_by, self.scheme)
        labelled, kept, _ = settled(labelled, rules, self.scheme, self.on_illegal)
        return corpus.with_column(TAG, Column(labelled.labels, labelled.ids)).take(kept)


def survey(shard: Shard, files: LabelledFiles) -> Survey:
    """Read a shard and count."""
    corpus = read_shard(shard, files)
    used = used_tags(corpus.columns[TAG])
    tagged = Tagged.of(corpus)
    schemes = [SCHEMES[name] for name in STRICTEST_FIRST if MISFIT not in tag_codes(list(used), SCHEMES[name]).roles]
    return Survey(
        len(corpus),
        corpus.num_tokens,
        used,
        {tag_scheme.name: int(forbidden(tagged, tag_scheme).sum()) for tag_scheme in schemes},
        columns=tuple(name for name in corpus.names if name != TAG),
        problems=(len(corpus.problems), corpus.problems[0] if corpus.problems else ""),
        fingerprint=fingerprint(corpus),
    )


def survey_settled(shard: Shard, files: LabelledFiles, settlement: Settlement) -> Survey:
    """Count what is left of a shard when the rules were applied to it."""
    corpus = read_shard(shard, files)
    assert settlement.judged_by is not None
    assert settlement.scheme is not None
    rules = legal(settlement.judged_by, settlement.scheme)
    labelled = read_labels(corpus, None).over(settlement.judged_by)
    illegal = illegal_sentences(labelled, rules)
    left = settlement.applied(corpus)
    first = int(illegal[0]) if len(illegal) else 0
    where = (corpus.place(first), shown_break(labelled, first, rules)) if len(illegal) else ("", "")
    return Survey(len(left), left.num_tokens, used_tags(left.columns[TAG]), illegal=(len(illegal), *where))


def find_cuts(shard: Shard, files: LabelledFiles, settlement: Settlement, targets: Sequence[int]) -> list[int]:
    """Return the first sentence of a shard before which so many of its tokens stand, for each target."""
    offsets = settlement.applied(read_shard(shard, files)).offsets
    return [int(cut) for cut in np.searchsorted(offsets, np.asarray(targets))]


# On the driver.


def joined_labels(surveys: Sequence[Survey]) -> dict[str, int]:
    """Add up how many tokens have each label."""
    total: dict[str, int] = {}
    for part in surveys:
        for label, count in part.labels.items():
            total[label] = total.get(label, 0) + count
    return total


def detected_scheme(surveys: Sequence[Survey], name: str | None) -> str | None:
    """Return the name of the tag scheme; "auto" looks at the labels of all shards."""
    if not (isinstance(name, str) and name.lower() == "auto"):
        return scheme_of(_NOTHING, name)
    found = detect_counted(
        joined_labels(surveys), lambda scheme: sum(part.violations.get(scheme, 0) for part in surveys)
    ).scheme
    return None if found is None else found.name


_NOTHING = read_labels(None, [])


def first_settlement(surveys: Sequence[Survey], scheme: str | None, on_illegal: str) -> Settlement:
    """Say what the labels are; `judged_by` is set where some labellings break the rules."""
    labels = tuple(sorted(joined_labels(surveys)))
    if scheme is None or not any(part.violations.get(scheme, 1) for part in surveys):
        return Settlement(labels, scheme)
    legal(labels, scheme)  # refuses labels of another scheme
    # Labellings are counted first; those that are refused are dropped meanwhile.
    return Settlement(labels, scheme, labels, "drop" if on_illegal == "error" else on_illegal)


def final_settlement(
    settlement: Settlement, surveys: Sequence[Survey], before: Sequence[Survey], on_illegal: str
) -> tuple[Settlement, tuple[str, ...]]:
    """Say what the labels are after labellings were repaired or dropped, and in words what was done."""
    illegal = sum(part.illegal[0] for part in surveys)
    if not illegal or settlement.scheme is None:
        return Settlement(settlement.labels, settlement.scheme), ()
    what = message(
        "{} of {} sentences with tags that {} forbids",
        illegal,
        sum(part.sentences for part in before),
        settlement.scheme,
    )
    if on_illegal == "error":
        _, where, got = next(part.illegal for part in surveys if part.illegal[0])
        raise InputError(
            '{}: expected tags that {} allows, got {}; there are {}; pass on_illegal="repair" '
            'or "drop", or scheme=None for no rules',
            where,
            settlement.scheme,
            got,
            what,
        )
    labels = tuple(sorted(joined_labels(surveys)))
    note = f"{'dropped' if settlement.on_illegal == 'drop' else 'repaired'} {what}"
    return Settlement(labels, settlement.scheme, settlement.judged_by, settlement.on_illegal), (note,)


@dataclass(frozen=True)
class Piece:
    """Sentences `first` to `last − 1` of a shard, once it was settled; `last` is None for all the rest."""

    shard: Shard
    first: int
    last: int | None


def targets_by_shard(tokens: Sequence[int], lanes: int) -> list[list[int]]:
    """Return, for shards of so many tokens, how many of these must stand before each lane that begins there."""
    ends = np.cumsum(tokens)
    starts = ends - np.array(tokens)
    inner = lane_targets(int(ends[-1]), lanes)[1:-1]
    places = np.searchsorted(ends, inner)  # the first shard that reaches the target
    return [(inner[places == s] - starts[s]).tolist() for s in range(len(tokens))]


def pieces_of_lanes(shards: Sequence[Shard], cuts: Sequence[Sequence[int]], lanes: int) -> list[list[Piece]]:
    """Say which sentences of which shards each lane has."""
    borders = [(0, 0), *((s, cut) for s, here in enumerate(cuts) for cut in here), (len(shards), 0)]
    assert len(borders) == lanes + 1
    out = []
    for (first_shard, first), (last_shard, last) in itertools.pairwise(borders):
        pieces = []
        for s in range(first_shard, min(last_shard + 1, len(shards))):
            begin, end = first if s == first_shard else 0, last if s == last_shard else None
            if end is None or end > begin:
                pieces.append(Piece(shards[s], begin, end))
        out.append(pieces)
    return out
