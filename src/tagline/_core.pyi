"""
The compiled core of Tagline: arrays in, arrays out. Use tagline.chain instead.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def answer_items(items: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], words: tuple, ids: Annotated[NDArray, dict(device='cpu', writable=False)], names: tuple, labels: Annotated[NDArray, dict(device='cpu', writable=False)], texts: tuple[list, Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]] | None, spans: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], tuple, Annotated[NDArray, dict(device='cpu', writable=False)]] | None, marginals: Annotated[NDArray, dict(device='cpu', writable=False)] | None, more: list | None) -> list:
    """
    Write what is said of each item of a request: a JSON object each, as bytes.
    """

def hmm_counts(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Compute (log P [B], start [K], transitions [K, K], nodes [N, K]) from logarithms.
    """

def symbol_counts(table: Annotated[NDArray, dict(device='cpu', writable=False)], ids: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], allowed: Annotated[NDArray, dict(device='cpu', writable=False)] | None) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Compute (log P [B], start [K], transitions [K, K], emissions [V, K]) of symbols; -1: none observed.
    """

def gaussian_counts(x: Annotated[NDArray, dict(device='cpu', writable=False)], means: Annotated[NDArray, dict(device='cpu', writable=False)], variances: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Compute (log P [B], start [K], transitions [K, K], moments [1 + 2 D, K]) of vectors x [N, D]: sums of P, of P (x - mean) and of P (x - mean)^2.
    """

def log_densities(x: Annotated[NDArray, dict(device='cpu', writable=False)], means: Annotated[NDArray, dict(device='cpu', writable=False)], variances: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """
    Compute log densities [N, K] of vectors x [N, D] under Gaussians with diagonal covariance.
    """

def symbol_log_partition(table: Annotated[NDArray, dict(device='cpu', writable=False)], ids: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """Compute log P [B] of symbols; -inf where they are impossible."""

def symbol_viterbi(table: Annotated[NDArray, dict(device='cpu', writable=False)], ids: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
    """Find the best states of symbols: (states [N], scores [B])."""

class Brown:
    """Brown clusters, a word or a merge at a time."""

    def __init__(self, counts: Annotated[NDArray, dict(device='cpu', writable=False)], firsts: Annotated[NDArray, dict(device='cpu', writable=False)], seconds: Annotated[NDArray, dict(device='cpu', writable=False)], numbers: Annotated[NDArray, dict(device='cpu', writable=False)], num_classes: int) -> None:
        """Take words by falling counts [V], and their bigrams [M], each once."""

    def run(self, steps: int) -> bool:
        """Go so many steps; say whether there are more."""

    def merges(self) -> NDArray[numpy.int32]:
        """
        Return the merges so far, [2 n], each by the first words of two classes.
        """

class ByteExpression:
    """A regular expression of Wapiti, which is searched in bytes."""

    def __init__(self, members: Annotated[NDArray, dict(device='cpu', writable=False)], kinds: Annotated[NDArray, dict(device='cpu', writable=False)], at_start: bool, at_end: bool) -> None:
        """Take atoms: the bytes of each [A, 256], and how often it is taken [A]."""

    def find(self, words: list) -> NDArray[numpy.int64]:
        """
        Find the match in each word: where it begins and its length in bytes, one word behind the other [2 n]; -1 for none.
        """

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

def whole_spans(labels: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], members: Annotated[NDArray, dict(device='cpu', writable=False)], continues: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """
    Find the spans of labels [N]: [4, M] (sentence, start, end, type), sorted; the rest as whole_span_probability.
    """

def whole_span_probability(emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], spans: Annotated[NDArray, dict(device='cpu', writable=False)], members: Annotated[NDArray, dict(device='cpu', writable=False)], continues: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """
    Compute P(a labelling has exactly this span) for spans [4, M] (sentence, start, end, type), sorted by sentence; members [types, width] are labels, continues [L, L] tells which pairs go on with a span.
    """

def parse_columns(text: Annotated[NDArray, dict(device='cpu', writable=False)], columns: int, most: int, comment: str, docstart: bool, skip_broken: bool) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], list[tuple[bytes, NDArray[numpy.int32]]], list[tuple[int, int, int, int]], int, int]:
    """
    Parse the bytes of a column file: (offsets [B + 1], lines [B], for each column its distinct words joined by newlines and ids [N], broken lines (line, begin, end, columns), columns, lines read).
    """

def lists_of(words: tuple, numbers: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> list:
    """
    Look words up by number [N] and cut them at the offsets [B + 1]: a list for each sentence.
    """

def build_double_array(bytes: bytes, offsets: Annotated[NDArray, dict(device='cpu', writable=False)], values: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.int32]:
    """
    Make Darts' double array [n, 2] (base, check) of ascending keys: their bytes, offsets [K + 1], values [K].
    """

def read_double_array(units: Annotated[NDArray, dict(device='cpu', writable=False)], most_bytes: int) -> tuple[bytes, NDArray[numpy.int64], NDArray[numpy.int32]] | None:
    """
    List the keys of a double array [n, 2]: (bytes, offsets [K + 1], values [K]); None where it is damaged or the keys have more bytes.
    """

def intern_names(names: Sequence, before: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]] | None, most: int = 2147483646) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int64], NDArray[numpy.uint32], NDArray[numpy.uint16]]:
    """
    Number strings in the order of first use, after those of another vocabulary: its four arrays.
    """

def find_names(vocabulary: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]], names: Sequence) -> NDArray[numpy.int32]:
    """Look up strings: ids [n], -1 where unknown."""

def take_names(vocabulary: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]], ids: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int64], NDArray[numpy.uint32], NDArray[numpy.uint16]]:
    """Keep the names with these ids, renumbered."""

def check_vocabulary(vocabulary: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]]) -> str:
    """Say what is wrong with arrays from a file; None where nothing is."""

def expand(sources: Sequence[tuple[tuple, Annotated[NDArray, dict(device='cpu', writable=False)], tuple, tuple, bool]], skeletons: Sequence[tuple[Sequence[str], Sequence[tuple[int, int]]]], bounds: Annotated[NDArray, dict(device='cpu', writable=False)], after_first: bool, names: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]] | None, hash_bits: int, min_count: int, most: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], tuple[NDArray[numpy.uint8], NDArray[numpy.int64], NDArray[numpy.uint32], NDArray[numpy.uint16]] | None]:
    """
    Expand templates over columns: (offsets [N + 1], ids [M], the four arrays of a new vocabulary). Sources are (words, ids [N], paddings before, paddings after, whether the words are distinct), skeletons (literals, (source, row) of each macro between them). With names they are looked up, with hash_bits hashed, and no vocabulary is made.
    """

def number_items(sentences: object, name: str, known: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]] | None, hash_bits: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float32] | None, tuple[NDArray[numpy.uint8], NDArray[numpy.int64], NDArray[numpy.uint32], NDArray[numpy.uint16]] | None]:
    """
    Number the attributes of tokens given as dicts or lists of strings: (offsets of sentences [B + 1], offsets of tokens [N + 1], ids [M], values [M] or None where all are 1, the vocabulary's arrays where it was built).
    """

class Mira:
    """
    Learning from mistakes with a limit for each sentence, as CRF++ does; from zeros.
    """

    def __init__(self, likelihood: Likelihood64, c: float) -> None: ...

    def weights(self) -> NDArray[numpy.float64]:
        """Return the weights [size] of now."""

    def run(self, order: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.int64], int, int, int, float]:
        """
        Learn from sentences in this order: (wrong labels of each, of all, sentences with any, sentences at their limit, the largest violation of the others).
        """

class Online32:
    """Learning from mistakes: averaged perceptron, passive-aggressive, AROW."""

    def __init__(self, likelihood: Likelihood32, rule: str, type: int = 1, c: float = 1.0, error_sensitive: bool = True, variance: float = 1.0, gamma: float = 1.0) -> None: ...

    def set(self, weights: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None:
        """Begin at these weights [size]."""

    def get(self, averaged: bool) -> NDArray[numpy.float64]:
        """
        Return the weights [size] of now, or their average over the sentences so far.
        """

    def keep(self) -> tuple[NDArray[numpy.float64], float]:
        """
        Return what restore needs to go on from here: (values [3, size], sentences seen).
        """

    def restore(self, values: Annotated[NDArray, dict(device='cpu', writable=False)], seen: float) -> None:
        """Go on from where keep was called, bit for bit."""

    def run(self, order: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[float, int]:
        """Learn from sentences in this order: (summed loss, wrong labels)."""

class Online64:
    """Learning from mistakes: averaged perceptron, passive-aggressive, AROW."""

    def __init__(self, likelihood: Likelihood64, rule: str, type: int = 1, c: float = 1.0, error_sensitive: bool = True, variance: float = 1.0, gamma: float = 1.0) -> None: ...

    def set(self, weights: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None:
        """Begin at these weights [size]."""

    def get(self, averaged: bool) -> NDArray[numpy.float64]:
        """
        Return the weights [size] of now, or their average over the sentences so far.
        """

    def keep(self) -> tuple[NDArray[numpy.float64], float]:
        """
        Return what restore needs to go on from here: (values [3, size], sentences seen).
        """

    def restore(self, values: Annotated[NDArray, dict(device='cpu', writable=False)], seen: float) -> None:
        """Go on from where keep was called, bit for bit."""

    def run(self, order: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[float, int]:
        """Learn from sentences in this order: (summed loss, wrong labels)."""

class FlatOnline:
    """Learning from mistakes as CRFsuite does it, to the last bit."""

    def __init__(self, num_labels: int, state_offsets: Annotated[NDArray, dict(device='cpu', writable=False)], state_labels: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], bounds: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], ids: Annotated[NDArray, dict(device='cpu', writable=False)], values: Annotated[NDArray, dict(device='cpu', writable=False)] | None, labels: Annotated[NDArray, dict(device='cpu', writable=False)], weights: Annotated[NDArray, dict(device='cpu', writable=False)] | None, rule: str, type: int = 1, c: float = 1.0, error_sensitive: bool = True, variance: float = 1.0, gamma: float = 1.0) -> None: ...

    def get(self, averaged: bool) -> NDArray[numpy.float64]:
        """
        Return the weights [size] of now, or their average over the sentences so far.
        """

    def run(self, order: Annotated[NDArray, dict(device='cpu', writable=False)]) -> float:
        """Learn from sentences in this order; returns their summed loss."""

class LibraryRandom:
    """The random numbers of the C library, with a state of their own."""

    def __init__(self, seed: int = 1) -> None: ...

    def next(self) -> int:
        """Return a number below 2^31."""

    def shuffled(self, order: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.int64]:
        """Return the numbers in another order, as CRFsuite shuffles them."""

class Pattern:
    """A regular expression that is searched without backtracking."""

    def __init__(self, states: Annotated[NDArray, dict(device='cpu', writable=False)], first: int, bounds: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], letters: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None:
        """
        Take a program: states [S, 3], the first of them, the bounds of its sets of characters, one set behind the other, and those of the word characters.
        """

    def find(self, words: list) -> NDArray[numpy.int64]:
        """
        Find the match in each word: where it begins and ends, one word behind the other [2 n]; -1 for none.
        """

    def texts(self, words: list[str | None]) -> list[str | None]:
        """
        Return the text of the match in each word, empty for none; None for None.
        """

    def answers(self, words: list[str | None]) -> list[str | None]:
        """
        Say "true" or "false" of each word, whether there is a match; None for None.
        """

class Runs:
    """
    Sentences [B] that lie among rows [N], each in rows one after the other; M tokens.
    """

    def __init__(self, first: Annotated[NDArray, dict(device='cpu', writable=False)], lengths: Annotated[NDArray, dict(device='cpu', writable=False)], num_rows: int) -> None: ...

    @property
    def dense(self) -> bool:
        """Whether they are all the rows, in their order."""

    @property
    def offsets(self) -> NDArray[numpy.int64]:
        """Where they would begin and end without other rows, [B + 1]."""

    def pack(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)]) -> NDArray:
        """Copy values of rows [N, ...] together: [M, ...]."""

    def put(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], fill: float) -> NDArray:
        """Put values of tokens [M, ...] into rows [N, ...]."""

    def spread(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], factors: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray:
        """
        Put values of tokens [M, ...] times the factor [B] of their sentence into rows [N, ...], 0 elsewhere.
        """

    def look(self, emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], labels: Annotated[NDArray, dict(device='cpu', writable=False)] | None) -> int:
        """
        Look at scores and labels: 1 for a NaN or +inf, 2 for a -inf, 4 for a label out of range, and sums.
        """

    def lists(self, labels: Annotated[NDArray, dict(device='cpu', writable=False)], num_labels: int) -> list:
        """Cut labels [N]: a list for each sentence."""

def runs_of(kept: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]] | None:
    """
    Find (first token b T + t, length) of the kept tokens [B, T] of each sentence; None where one has a gap.
    """

def supported_cpus() -> list[str]:
    """Name the compiled variants that this processor can run, the best last."""

def cpu() -> str:
    """Name the variant in use."""

def use_cpu(name: str) -> None:
    """Use another variant from now on."""

def use_pair_lists(when: str) -> None:
    """
    Work on lists of legal label pairs from now on: where they are faster, never, or wherever possible. For tests and benchmarks; the answers are the same to rounding.
    """

def threads() -> int:
    """Tell how many threads share the work."""

def set_threads(count: int) -> None:
    """Share the work between so many threads from now on."""

class Triples:
    """
    Scores of triples of labels, table[rows[a, b], c], and questions about chains.
    """

    def __init__(self, rows: Annotated[NDArray, dict(device='cpu', writable=False)], table: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None: ...

    def log_partition(self, emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], allow_no_path: bool) -> NDArray[numpy.float64]:
        """Compute log Z [B]."""

    def marginals(self, emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """Compute (probabilities of labels [N, L], log Z [B])."""

    def entropy(self, emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """Compute the entropy [B] in nats."""

    def counts(self, emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Compute (nodes [N, L], transitions [L, L], start [L], end [L], triples [R, L], log Z [B]).
        """

    def viterbi(self, emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
        """Find the best labels [N] and their scores [B]."""

    def k_best(self, emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], k: int) -> list[tuple[NDArray[numpy.int64], NDArray[numpy.float64]]]:
        """
        Find the k best labellings of each sentence: [(labels [K, T], scores [K])].
        """

    def sample(self, emissions: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], uniforms: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.int64]:
        """Draw labels [n, N] by uniform numbers [n, N]."""

def segment_log_partition(scores: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], allow_no_path: bool) -> NDArray[numpy.float64]:
    """Compute log Z [B] of segment chains with scores [N, D, L]."""

def segment_counts(scores: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], weights: Annotated[NDArray, dict(device='cpu', writable=False)] | None) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Compute (segments [N, D, L], transitions [L, L], start [L], end [L], log Z [B]); all but log Z are weighed by sentence, where weights [B] are given.
    """

def segment_entropy(scores: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """Compute the entropy [B] in nats."""

def segment_viterbi(scores: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], start: Annotated[NDArray, dict(device='cpu', writable=False)], end: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.int64], NDArray[numpy.bool_], NDArray[numpy.float64]]:
    """
    Find the best segmentation: (labels [N], whether a segment begins [N], scores [B]).
    """

def row_sums(offsets: Annotated[NDArray, dict(device='cpu', writable=False)], ids: Annotated[NDArray, dict(device='cpu', writable=False)], values: Annotated[NDArray, dict(device='cpu', writable=False)] | None, table: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """
    Sum the rows of a table [A, K] that ids name, times values, in each of the rows that offsets [R + 1] make.
    """

class ItemSequence:
    """The attributes of a sentence, read once."""

    def __init__(self, items: object) -> None: ...

    def items(self) -> list:
        """Return the attributes of each token as a dict of names and values."""

    def __len__(self) -> int: ...

class SequenceRows:
    """Sentences to learn from, numbered one after the other."""

    def __init__(self) -> None: ...

    def append(self, items: object) -> int:
        """Take a sentence; returns its length."""

    def drop(self, tokens: int) -> None:
        """Take back the last tokens."""

    def arrays(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float64]]:
        """Return (offsets of tokens [N + 1], ids [M], values [M])."""

    def names(self) -> list:
        """Return the names of the attributes by number."""

class SequenceTagger:
    """Labels for one sentence after the other, by weights in float64."""

    def __init__(self, attributes: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], labels: Annotated[NDArray, dict(device='cpu', writable=False)], weights: Annotated[NDArray, dict(device='cpu', writable=False)], transitions: Annotated[NDArray, dict(device='cpu', writable=False)], names: list) -> None: ...

    def set(self, items: object) -> int:
        """Take a sentence; returns its length."""

    def best(self) -> list:
        """Return the best labels of the sentence."""

    def tag(self, items: object) -> list:
        """Take a sentence and return its best labels."""

    def tag_many(self, sentences: object) -> list:
        """Return the best labels of each sentence."""

    def emissions(self) -> NDArray[numpy.float64]:
        """Return the scores of the sentence's tokens [T, L]."""

    @property
    def length(self) -> int: ...

class Tokenizer:
    def __init__(self, ranges: Annotated[NDArray, dict(device='cpu', writable=False)], titles: Sequence[str]) -> None: ...

    def cut(self, texts: list, tokenizer: str) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], tuple, NDArray[numpy.int32]]:
        """
        Find the tokens of texts: (offsets [B + 1], characters [N, 2], distinct words, ids [N]).
        """

def json_lines(texts: list, words: tuple, ids: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], places: Annotated[NDArray, dict(device='cpu', writable=False)], names: tuple, labels: Annotated[NDArray, dict(device='cpu', writable=False)], probabilities: Annotated[NDArray, dict(device='cpu', writable=False)] | None, spans: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], tuple, Annotated[NDArray, dict(device='cpu', writable=False)]] | None) -> object:
    """
    Write labelled texts as JSON lines, as json.dumps does; None where a string has a lone surrogate.
    """

class Candidates:
    """Lists of states that words may have, with scores."""

    def __init__(self, offsets: Annotated[NDArray, dict(device='cpu', writable=False)], states: Annotated[NDArray, dict(device='cpu', writable=False)], scores: Annotated[NDArray, dict(device='cpu', writable=False)], num_states: int) -> None: ...

class Lexicon:
    """Which list of candidates a word has: its own, or that of its ending."""

    def __init__(self, words: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]], small: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]], capital: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]], longest: int) -> None: ...

    def find(self, words: list) -> NDArray[numpy.int32]:
        """Number the lists of words [n]."""

class Trigrams:
    """log p(c | a, b) = table[rows[a, b], c], and questions about sentences."""

    def __init__(self, table: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None: ...

    def best(self, candidates: Candidates, words: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64]]:
        """Find the best states [N] and their scores [B]."""

    def posterior(self, candidates: Candidates, words: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], allow_no_path: bool = False) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Compute (log Z [B], entropy [B], the probability of each candidate of each token [sum of counts]).
        """

    def sample(self, candidates: Candidates, words: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], uniforms: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.int32]:
        """Draw states [n, N] by uniform numbers [n, N]."""

    def k_best(self, candidates: Candidates, words: Annotated[NDArray, dict(device='cpu', writable=False)], offsets: Annotated[NDArray, dict(device='cpu', writable=False)], k: int) -> list[tuple[NDArray[numpy.int64], NDArray[numpy.float64]]]:
        """
        Find the k best labellings of each sentence: [(states [K, T], scores [K])].
        """

    def tag(self, candidates: Candidates, lexicon: Lexicon, sentences: object | None, labels: tuple) -> list | None:
        """
        Tag lists of strings: lists of labels; None where the sentences are anything else.
        """

def measure_point(weights: Annotated[NDArray, dict(device='cpu', writable=False)], smooth: Annotated[NDArray, dict(device='cpu', writable=False)], c1: Annotated[NDArray, dict(device='cpu', writable=False)], c2: Annotated[NDArray, dict(device='cpu', writable=False)], weights_before: Annotated[NDArray, dict(device='cpu', writable=False)], gradient_before: Annotated[NDArray, dict(device='cpu', writable=False)], memory: Annotated[NDArray, dict(device='cpu')], diagonal: Annotated[NDArray, dict(device='cpu', writable=False)], used: Annotated[NDArray, dict(device='cpu', writable=False)], slot: int, gradient: Annotated[NDArray, dict(device='cpu')]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Write gradient [n] = smooth + 2·c2·weights. With the pseudo-gradient p for c1, return sums [8]: Σ c1·|w|, Σ c2·w², p·p, w·w, weights ≠ 0, s·gradient, s·s, y·y, and products [R + 1, 4]: s_r·y, s_r·p, y_r·Dy, y_r·Dp for each slot in use [R], then for `slot`. s and y are the differences to the place before, written into memory [2, slots, n] (float32 or float64) at `slot`; −1 for none of it. c1, c2: [1] or [n]; diagonal D: [n], or [0] for the identity.
    """

def move_point(weights: Annotated[NDArray, dict(device='cpu', writable=False)], gradient: Annotated[NDArray, dict(device='cpu', writable=False)], c1: Annotated[NDArray, dict(device='cpu', writable=False)], memory: Annotated[NDArray, dict(device='cpu')], diagonal: Annotated[NDArray, dict(device='cpu', writable=False)], used: Annotated[NDArray, dict(device='cpu', writable=False)], of_s: Annotated[NDArray, dict(device='cpu', writable=False)], of_y: Annotated[NDArray, dict(device='cpu', writable=False)], of_gradient: float, step: float, out: Annotated[NDArray, dict(device='cpu')]) -> NDArray[numpy.float64]:
    """
    Write out [n] = weights + step·d, d = Σ of_s·s_r + D·(of_gradient·p + Σ of_y·y_r) over the slots in use; where c1 > 0, only descending parts of d, and no weight passes 0. Return d·p, p·(out − weights), d·d.
    """

def read_weight_lines(data: bytes, at: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
    """
    Read lines with number=weight from a place to the end: numbers [W] and weights [W].
    """

def write_weight_lines(features: Annotated[NDArray, dict(device='cpu', writable=False)], weights: Annotated[NDArray, dict(device='cpu', writable=False)]) -> bytes:
    """Write lines with number=weight, weights in hexadecimal."""

def observed_pairs(offsets: Annotated[NDArray, dict(device='cpu', writable=False)], ids: Annotated[NDArray, dict(device='cpu', writable=False)], labels: Annotated[NDArray, dict(device='cpu', writable=False)], num_labels: int, num_attributes: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32]] | None:
    """
    Find the labels seen with each attribute: (offsets [A + 1], labels); None where that takes too much memory.
    """

class Layout:
    """Where each weight of the state attributes lives while it is used."""

    def __init__(self, num_labels: int, offsets: Annotated[NDArray, dict(device='cpu', writable=False)], labels: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None: ...

    @property
    def rows(self) -> int: ...

    @property
    def cells(self) -> int: ...

    def place(self, offsets: Annotated[NDArray, dict(device='cpu', writable=False)], ids: Annotated[NDArray, dict(device='cpu', writable=False)], values: Annotated[NDArray, dict(device='cpu', writable=False)] | None) -> tuple[NDArray[numpy.int64], NDArray[numpy.uint32], NDArray[numpy.float32] | None, NDArray[numpy.int64], NDArray[numpy.uint32], NDArray[numpy.float32] | None]:
        """
        Turn attribute ids into (row offsets, rows, their values, cell offsets, cells, their values).
        """

    def bundle(self, offsets: Annotated[NDArray, dict(device='cpu', writable=False)], ids: Annotated[NDArray, dict(device='cpu', writable=False)], first_row: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.uint32], NDArray[numpy.int64], NDArray[numpy.uint32], NDArray[numpy.int64], NDArray[numpy.uint32], NDArray[numpy.int64], NDArray[numpy.uint32], NDArray[numpy.int64]] | None:
        """
        Turn the attribute ids of a lane into (row offsets, rows, cell offsets, cells), the same of its bundles, and how often each occurs; rows from first_row on are bundles. None where they would save little.
        """

class StateWeights:
    """Weights of state attributes, ready for scoring."""

    def __init__(self, layout: Layout, weights: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None: ...

    def emissions(self, offsets: Annotated[NDArray, dict(device='cpu', writable=False)], ids: Annotated[NDArray, dict(device='cpu', writable=False)], values: Annotated[NDArray, dict(device='cpu', writable=False)] | None) -> NDArray[numpy.float32]:
        """Sum the weights of each token's attributes: [N, L] float32."""

class ExactStateWeights:
    """Weights of state attributes in float64, summed in order."""

    def __init__(self, num_labels: int, offsets: Annotated[NDArray, dict(device='cpu', writable=False)], labels: Annotated[NDArray, dict(device='cpu', writable=False)], weights: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None: ...

    def emissions(self, offsets: Annotated[NDArray, dict(device='cpu', writable=False)], ids: Annotated[NDArray, dict(device='cpu', writable=False)], values: Annotated[NDArray, dict(device='cpu', writable=False)] | None) -> NDArray[numpy.float64]:
        """
        Sum the weights of each token's attributes, in their order: [N, L] float64.
        """

class Moves:
    """Weights between labels and at the ends, and what is forbidden."""

    def __init__(self, num_labels: int, transitions: Annotated[NDArray, dict(device='cpu', writable=False)], edge_offsets: Annotated[NDArray, dict(device='cpu', writable=False)], edge_pairs: Annotated[NDArray, dict(device='cpu', writable=False)], start: bool, end: bool, may_follow: Annotated[NDArray, dict(device='cpu', writable=False)] | None, may_start: Annotated[NDArray, dict(device='cpu', writable=False)] | None, may_end: Annotated[NDArray, dict(device='cpu', writable=False)] | None, local: bool = False, triples: Annotated[NDArray, dict(device='cpu', writable=False)] | None = None) -> None: ...

class Examples:
    """Labelled sentences, placed in a layout."""

    def __init__(self, layout: Layout, moves: Moves, bounds: Annotated[NDArray, dict(device='cpu', writable=False)], states: tuple, edges: object | None, labels: Annotated[NDArray, dict(device='cpu', writable=False)], allowed: Annotated[NDArray, dict(device='cpu', writable=False)] | None, weights: Annotated[NDArray, dict(device='cpu', writable=False)] | None, kept: Annotated[NDArray, dict(device='cpu', writable=False)] | None = None) -> None: ...

class Likelihood32:
    """The likelihood of labels by flat weights, and its gradient."""

    def __init__(self, layout: Layout, moves: Moves, examples: Examples, lanes: Annotated[NDArray, dict(device='cpu', writable=False)], counts: Annotated[NDArray, dict(device='cpu', writable=False)] | None = None, tokens: int = 0, bundled: list | None = None) -> None: ...

    @property
    def size(self) -> int: ...

    @property
    def bundles(self) -> int: ...

    @staticmethod
    def first_bundle(layout: Layout, lanes: int, lane: int) -> int:
        """Return the row that the first bundle of a lane has."""

    def observed(self) -> NDArray[numpy.float64]:
        """Count how often the known labels use each weight [size]."""

    def observed_by(self, first: int, count: int) -> NDArray[numpy.float64]:
        """
        Count how often the known labels of a branch of lanes use each weight [size].
        """

    def expected(self, weights: Annotated[NDArray, dict(device='cpu', writable=False)], curvature: bool, first: int, count: int) -> tuple[float, NDArray[numpy.float64]]:
        """
        Compute the negative log-likelihood of a branch of lanes and what the model expects of each weight [size].
        """

    def evaluate(self, weights: Annotated[NDArray, dict(device='cpu', writable=False)], curvature: bool = False) -> tuple[float, NDArray[numpy.float64]]:
        """
        Compute the negative log-likelihood and its gradient [size]; or a diagonal that bounds its Hessian's.
        """

    def mistakes(self) -> tuple[int, int]:
        """
        Count wrong labels, and sentences with any, under the weights that were evaluated last.
        """

class Descent32:
    """
    Stochastic gradient descent on a likelihood with penalties c1 |w| + c2 |w|^2.
    """

    def __init__(self, likelihood: Likelihood32, c1: float, c2: float, sentences: int = 0) -> None: ...

    def set(self, weights: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None:
        """Begin at these weights [size]."""

    def get(self) -> NDArray[numpy.float64]:
        """Return the weights [size] as they are now."""

    def keep(self) -> tuple[NDArray[numpy.float64], float]:
        """
        Return what restore needs to go on from here, besides seen: (values [size], their scale).
        """

    def restore(self, values: Annotated[NDArray, dict(device='cpu', writable=False)], scale: float) -> None:
        """Go on from where keep was called, bit for bit."""

    @property
    def seen(self) -> float: ...

    @seen.setter
    def seen(self, arg: float, /) -> None: ...

    def run(self, order: Annotated[NDArray, dict(device='cpu', writable=False)], batch: int, rate: float, decay: float, learn: bool = True, shrink_first: bool = False) -> float:
        """
        Take a step for every few sentences of the order; returns their summed loss, each before its step.
        """

class Likelihood64:
    """The likelihood of labels by flat weights, and its gradient."""

    def __init__(self, layout: Layout, moves: Moves, examples: Examples, lanes: Annotated[NDArray, dict(device='cpu', writable=False)], counts: Annotated[NDArray, dict(device='cpu', writable=False)] | None = None, tokens: int = 0, bundled: list | None = None) -> None: ...

    @property
    def size(self) -> int: ...

    @property
    def bundles(self) -> int: ...

    @staticmethod
    def first_bundle(layout: Layout, lanes: int, lane: int) -> int:
        """Return the row that the first bundle of a lane has."""

    def observed(self) -> NDArray[numpy.float64]:
        """Count how often the known labels use each weight [size]."""

    def observed_by(self, first: int, count: int) -> NDArray[numpy.float64]:
        """
        Count how often the known labels of a branch of lanes use each weight [size].
        """

    def expected(self, weights: Annotated[NDArray, dict(device='cpu', writable=False)], curvature: bool, first: int, count: int) -> tuple[float, NDArray[numpy.float64]]:
        """
        Compute the negative log-likelihood of a branch of lanes and what the model expects of each weight [size].
        """

    def evaluate(self, weights: Annotated[NDArray, dict(device='cpu', writable=False)], curvature: bool = False) -> tuple[float, NDArray[numpy.float64]]:
        """
        Compute the negative log-likelihood and its gradient [size]; or a diagonal that bounds its Hessian's.
        """

    def mistakes(self) -> tuple[int, int]:
        """
        Count wrong labels, and sentences with any, under the weights that were evaluated last.
        """

class Descent64:
    """
    Stochastic gradient descent on a likelihood with penalties c1 |w| + c2 |w|^2.
    """

    def __init__(self, likelihood: Likelihood64, c1: float, c2: float, sentences: int = 0) -> None: ...

    def set(self, weights: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None:
        """Begin at these weights [size]."""

    def get(self) -> NDArray[numpy.float64]:
        """Return the weights [size] as they are now."""

    def keep(self) -> tuple[NDArray[numpy.float64], float]:
        """
        Return what restore needs to go on from here, besides seen: (values [size], their scale).
        """

    def restore(self, values: Annotated[NDArray, dict(device='cpu', writable=False)], scale: float) -> None:
        """Go on from where keep was called, bit for bit."""

    @property
    def seen(self) -> float: ...

    @seen.setter
    def seen(self, arg: float, /) -> None: ...

    def run(self, order: Annotated[NDArray, dict(device='cpu', writable=False)], batch: int, rate: float, decay: float, learn: bool = True, shrink_first: bool = False) -> float:
        """
        Take a step for every few sentences of the order; returns their summed loss, each before its step.
        """

class WordScores:
    """Emissions straight from words, for a template; for one thread."""

    def __init__(self, weights: StateWeights, names: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)]] | None, hash_bits: int, derivations: Sequence[tuple[int, Sequence[str] | None]], alone: Sequence[tuple[Sequence[int], Sequence[tuple[Sequence[str], Sequence[tuple[int, int]]]], Sequence[int]]], sources: Sequence[tuple[int, tuple, tuple, bool]], skeletons: Sequence[tuple[Sequence[str], Sequence[tuple[int, int]]]]) -> None: ...

    def find(self, column: int, words: tuple, which: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.int32]:
        """
        Number words of a column that were added, of a tuple those with these indices [V]; -1 where unknown.
        """

    def add(self, column: int, names: tuple, words: list) -> None:
        """
        Add words to a column, given as each derivation has them; None where the core derives them from names of ASCII. Paddings come first, without names.
        """

    def emissions(self, numbers: Sequence[Annotated[NDArray, dict(device='cpu', writable=False)]], offsets: Annotated[NDArray, dict(device='cpu', writable=False)]) -> NDArray[numpy.float32]:
        """
        Score sentences, given the numbers [N] of their words in each column: [N, L] float32.
        """
