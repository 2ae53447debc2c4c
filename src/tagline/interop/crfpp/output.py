"""crf_test's answers about sentences, and how it writes them.

Each token is its columns with a tab behind each, and its label; ``-v1`` adds the label's probability and that of the
whole labelling, ``-v2`` those of all labels; ``-n`` lists the best labellings. Probabilities have six decimals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tagline.chain import k_best, log_partition, marginals, viterbi
from tagline.interop.crfpp.column_file import ColumnSentences
from tagline.interop.crfpp.model import as_float64
from tagline.interop.crfpp.scoring import Scoring
from tagline.types import Chain, Float64Array, IntArray


@dataclass(frozen=True)
class Wish:
    """What is asked: ``-n``, how many labellings, 0 for the best alone; ``-v``, the level of detail."""

    nbest: int = 0
    verbose: int = 0


@dataclass(frozen=True, eq=False)
class BestLabellings:
    """Labellings of one sentence, the best first, with their probabilities; None where nobody asks."""

    labels: IntArray
    probabilities: Float64Array | None


def write_answers(scoring: Scoring, sentences: ColumnSentences, wish: Wish) -> Iterator[str]:
    """Write the sentences with their labels, one text a sentence."""
    if not sentences.rows:
        return
    done = 0
    for chain in scoring.chains(sentences.corpus(max(1, scoring.model.xsize))):
        rows = sentences.rows[done : done + chain.num_tokens]
        yield from write_chain(chain, rows, scoring.labels, wish)
        done += chain.num_tokens


def write_chain(chain: Chain, rows: Sequence[Sequence[str]], labels: Sequence[str], wish: Wish) -> Iterator[str]:
    """Write sentences that are scored, one text a sentence."""
    nodes = as_float64(marginals(chain).nodes) if wish.verbose >= 1 else None
    for first, last, ranked in _ranked(chain, wish):
        heads = ["".join(f"{field}\t" for field in row) for row in rows[first:last]]
        yield _sentence(heads, ranked, None if nodes is None else nodes[first:last], labels, wish)


def _ranked(chain: Chain, wish: Wish) -> Iterator[tuple[int, int, BestLabellings]]:
    """Each sentence: where it begins and ends, and its labellings."""
    bounds = list(zip(chain.offsets[:-1].tolist(), chain.offsets[1:].tolist(), strict=True))
    if wish.nbest:
        for (first, last), paths in zip(bounds, k_best(chain, wish.nbest), strict=True):
            yield first, last, BestLabellings(paths.labels, paths.probabilities)
        return
    best = viterbi(chain)
    probabilities = np.exp(best.scores - log_partition(chain)) if wish.verbose >= 1 else None
    for b, (first, last) in enumerate(bounds):
        one = None if probabilities is None else probabilities[b : b + 1]
        yield first, last, BestLabellings(best.labels[None, first:last], one)


def _sentence(
    heads: Sequence[str], ranked: BestLabellings, nodes: Float64Array | None, names: Sequence[str], wish: Wish
) -> str:
    details = _details(nodes, names) if nodes is not None and wish.verbose >= 2 else [""] * len(heads)
    parts = []
    for rank, labels in enumerate(ranked.labels.tolist()):
        if ranked.probabilities is not None:
            number = f"{rank} " if wish.nbest else ""
            parts.append(f"# {number}{ranked.probabilities[rank]:f}\n")
        for t, label in enumerate(labels):
            sure = "" if nodes is None else f"/{nodes[t, label]:f}"
            parts.append(f"{heads[t]}{names[label]}{sure}{details[t]}\n")
        parts.append("\n")
    return "".join(parts)


def _details(nodes: Float64Array, names: Sequence[str]) -> list[str]:
    """The probabilities of all labels at each token."""
    form = "".join(f"\t{name.replace('%', '%%')}/%f" for name in names)
    return [form % tuple(row) for row in nodes.tolist()]
