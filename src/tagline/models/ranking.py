"""How many labellings may be asked for: as many as there are, and as memory holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tagline.chain.memory import labellings_size, memory, shown_count
from tagline.checks import check_whole
from tagline.errors import InputError
from tagline.types import Float64Array, IntArray


class Ranks:
    """The k of one question, and the bytes that its answers take so far.

    Arguments:
        k: how many labellings of each sentence are asked for.
        name: of that number, in messages.
    """

    def __init__(self, k: Any, name: str = "k", least: int = 1) -> None:
        check_whole(name, k, least)
        self.name, self.k = name, int(k)
        self._bytes, self._most = 0.0, memory() / 2

    def of_chain(self, chain: Any, log_counts: Callable[[Any], Float64Array]) -> int:
        """Return k, or raise where the labellings of these sentences and of those before take too much memory.

        Arguments:
            log_counts: tells the logarithm of the number of labellings of each sentence.
        """
        if not self._fits(labellings_size(self.k, np.diff(chain.offsets), np.inf)):
            self._add(np.diff(chain.offsets), log_counts(chain))
        return self.k

    def of_candidates(self, candidates: IntArray, offsets: IntArray) -> int:
        """Return k, for sentences whose tokens have so many candidates each, ``[N]``."""
        sums = np.concatenate([[0.0], np.cumsum(np.log(np.maximum(candidates, 1)))])
        self._add(np.diff(offsets), np.asarray(np.diff(sums[offsets])))
        return self.k

    def of_draws(self, offsets: IntArray) -> int:
        """Return how many labellings are drawn, which may be the same ones."""
        self._add(np.diff(offsets), np.inf)
        return self.k

    def _fits(self, size: float) -> bool:
        fits = self._bytes + size <= self._most
        self._bytes += size if fits else 0.0
        return fits

    def _add(self, lengths: IntArray, log_counts: Float64Array | float) -> None:
        size = labellings_size(self.k, lengths, log_counts)
        if not self._fits(size):
            raise InputError(
                "{}: expected labellings that fit into {:.1f} GiB, half of the memory, got {} "
                "for each of {} sentences, about {:.1f} GiB; ask for fewer, or about fewer "
                "sentences at once",
                self.name,
                self._most / 2**30,
                shown_count(self.k),
                len(lengths),
                (self._bytes + size) / 2**30,
            )


def check_asked(k_best: Any) -> None:
    """Raise unless it can be the number of labellings that `answer` gives; 0 and None are for none."""
    check_whole("k_best", k_best, 0, optional=True)
