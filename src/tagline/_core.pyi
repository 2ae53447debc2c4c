"""
The compiled core of Tagline: arrays in, arrays out. Use tagline.chain instead.
"""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class NoPath(ValueError):
    """A sentence has no legal labelling; the text is its index."""

def score(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], labels: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """Sum the scores along labels [N]; returns [B]."""

def log_partition(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], allow_no_path: bool) -> NDArray[numpy.float64]:
    """
    Compute log Z [B]; -inf for a sentence without a legal path where that is allowed.
    """

def forward(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """Compute log alpha [N, L] of a float64 chain."""

def backward(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """Compute log beta [N, L] of a float64 chain."""

def marginals(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], edges: bool) -> tuple[NDArray, NDArray | None, NDArray[numpy.float64]]:
    """Compute (nodes [N, L], edges [N, L, L] or None, log Z [B])."""

def expected_counts(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray, NDArray, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Compute (nodes [N, L], transitions [L, L] or [N, L, L], start [L], end [L], log Z [B]).
    """

def gradients(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], labels: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray, NDArray, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Compute the gradient of the sum of log p(labels): (emissions, transitions, start, end, log p [B]).
    """

def viterbi(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
    """Find the best labelling: (labels [N], scores [B])."""

def max_marginal(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """Find the most probable label of each token [N]."""

def entropy(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """Compute the entropy [B] of a float64 chain in nats."""

def k_best(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], k: int) -> list[tuple[NDArray[numpy.int64], NDArray[numpy.float64]]]:
    """
    Find the k best labellings of each sentence of a float64 chain: [(labels [K, T], scores [K])].
    """

def sample(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], uniforms: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """Draw labels [S, N] from a float64 chain by uniform numbers [S, N]."""

def span_probability(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], spans: Annotated[NDArray, dict(device='cpu', writable=False)], allowed: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """
    Compute P(labels in sets) for spans [M, 3] (sentence, first, length), sets stacked in allowed [., L].
    """

def parse_columns(text: Annotated[NDArray, dict(device='cpu', writable=False)], columns: int, comment: str, docstart: bool, skip_broken: bool) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], list[tuple[bytes, NDArray[numpy.int32]]], list[tuple[int, int, int, int]], int, int]:
    """
    Parse the bytes of a column file: (offsets [B + 1], lines [B], for each column its distinct words joined by newlines and ids [N], broken lines (line, begin, end, columns), columns, lines read).
    """

def supported_cpus() -> list[str]:
    """Name the compiled variants that this processor can run, the best last."""

def cpu() -> str:
    """Name the variant in use."""

def use_cpu(name: str) -> None:
    """Use another variant from now on."""

def threads() -> int:
    """Tell how many threads share the work."""

def set_threads(count: int) -> None:
    """Share the work between so many threads from now on."""
