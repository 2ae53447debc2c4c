"""Words → pieces → windows: what a pretrained encoder reads of a sentence, and where each word stands in it.

    words of a corpus ── PieceTable (a tokenizer) ──▶ Pieces, of each distinct word once ── batch ──▶ PieceBatch

A tokenizer that is given words cuts each of them by itself, so the pieces of a distinct word are found once and batches
are put together in NumPy. Every word has a piece: one that the tokenizer drops (a blank, a variation selector) becomes
the unknown piece. A sentence of more pieces than the encoder reads is cut at word borders into windows that overlap;
each word is read in the window in which it has most context. Special pieces such as [CLS] stand around each window and
belong to no word.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagline.checks import check_whole
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import entries_of, offsets_of
from tagline.types import BoolArray, IntArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MOST_PIECES = 2**31 - 1  # int32 holds their numbers
LONGEST_WORD = 32
"""Pieces of a word that are read (its first ones): a longer word is a web address or noise."""


@dataclass(frozen=True, eq=False)
class PieceBatch:
    """What an encoder reads of B sentences, in W ≥ B windows of up to S pieces, the longest sentence having T words.

    Attributes:
        input_ids: ``[W, S]``, the pieces with special ones around them, the padding piece behind.
        widths: ``[W]``, pieces of each window, special ones too.
        words: ``[W, S]``, int32, which word of its sentence a piece belongs to; −1 for special and padding pieces.
        sentences: ``[W]``, the sentence of each window.
        first: ``[B, T]``, the first piece of each word as ``window · S + place``; 0 where there is no word.
        lengths: ``[B]``, words of each sentence.
    """

    input_ids: IntArray
    widths: IntArray
    words: NDArray[np.int32]
    sentences: IntArray
    first: IntArray
    lengths: IntArray

    def narrowed(self, before: IntArray, lengths: IntArray) -> PieceBatch:
        """Return the batch in which some words of each sentence are context: pieces are read, words are no words of it.

        Arguments:
            before: ``[B]``, how many words of context come first.
            lengths: ``[B]``, how many words of the sentence itself follow; the rest is context, too.
        """
        steps = np.arange(int(lengths.max(initial=0)))
        inside = steps < lengths[:, None]  # [B, T]
        places = np.where(inside, before[:, None] + steps, 0)
        first = np.where(inside, np.take_along_axis(self.first, places, axis=1) if self.first.size else 0, 0)
        own = self.words - before[self.sentences][:, None]
        held = (self.words >= 0) & (own >= 0) & (own < lengths[self.sentences][:, None])
        return replace(self, words=np.where(held, own, -1).astype(np.int32), first=first, lengths=lengths)

    @property
    def attention_mask(self) -> BoolArray:
        """Whether each piece is no padding, ``[W, S]``."""
        return np.arange(self.input_ids.shape[1]) < self.widths[:, None]


@dataclass(frozen=True, eq=False)
class Window:
    """What every window looks like.

    Attributes:
        before, after: the special pieces around it.
        padding: the piece that fills short ones up.
        max_length: the most pieces, special ones too.
        stride: roughly the pieces of context that a word has on each side, at least, where a sentence is cut; at most a
            quarter of the window.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    padding: int
    max_length: int
    stride: int

    @property
    def room(self) -> int:
        """Pieces that are not special."""
        return self.max_length - len(self.before) - len(self.after)

    @property
    def longest_word(self) -> int:
        """Pieces of a word that are read; with a quarter of the room, every cut moves on."""
        return max(1, min(LONGEST_WORD, self.room // 4))

    def cuts(self, sizes: IntArray) -> list[tuple[int, int]]:
        """Cut a sentence, given the pieces of each word ``[T]``, into windows of words (first, last + 1)."""
        ends = offsets_of(sizes)
        T, overlap = len(sizes), 2 * min(self.stride, self.room // 4)
        begin, windows = 0, []
        while ends[T] - ends[begin] > self.room:
            end = int(np.searchsorted(ends, ends[begin] + self.room, "right")) - 1
            windows.append((begin, end))
            begin = int(np.searchsorted(ends, ends[end] - overlap, "right")) - 1
        if windows:  # the last one begins earlier than it must: context costs nothing, as the others are full
            begin = int(np.searchsorted(ends, ends[T] - self.room, "left"))
        return [*windows, (begin, T)]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of V distinct words: those of word v are ``ids[offsets[v] : offsets[v + 1]]``.

    Attributes:
        ids: int32, the pieces of all words one after the other.
        offsets: ``[V + 1]``.
        window: what sentences are cut into.
    """

    ids: NDArray[np.int32]
    offsets: IntArray
    window: Window

    @property
    def sizes(self) -> IntArray:
        """Pieces of each word, ``[V]``, at least 1."""
        return np.diff(self.offsets)

    def batch(self, sentences: Sequence[NDArray[np.integer[Any]]], *, multiple: int = 1) -> PieceBatch:
        """Put sentences, given as numbers of words, together for an encoder.

        Arguments:
            sentences: B arrays of numbers from 0 to V − 1.
            multiple: S becomes a multiple of it where the encoder's maximum allows; GPUs like 8 and 16.
        """
        lengths = np.array([len(words) for words in sentences], np.int64)
        offsets = offsets_of(lengths)
        tokens = np.concatenate([np.empty(0, np.int64), *sentences]).astype(np.int64)  # [N]
        sizes = self.sizes[tokens]
        ends = offsets_of(sizes)  # pieces before each token
        begin, end, sentence = self._windows(sizes, ends, offsets)
        widths = ends[end] - ends[begin] + len(self.window.before) + len(self.window.after)
        W, S = len(widths), self._columns(int(widths.max(initial=0)), multiple)
        # One entry for each word of each window: its token, its window, the place of its first piece.
        held, window = _ranges(begin, end - begin), np.repeat(np.arange(W), end - begin)
        place = len(self.window.before) + ends[held] - ends[begin][window]
        spots = _ranges(window * S + place, sizes[held])
        steps = np.arange(len(tokens)) - np.repeat(offsets[:-1], lengths)  # t of each token
        words = np.full(W * S, -1, np.int32)
        words[spots] = np.repeat(steps[held], sizes[held])
        first = np.zeros((len(lengths), int(lengths.max(initial=0))), np.int64)
        order: Any = slice(None)
        if len(lengths) < W:  # the window with most context comes last and stays; of equal ones the earlier window
            order = np.lexsort((-window, _context(held, window, ends, begin, end)))
        first[sentence[window[order]], steps[held[order]]] = (window * S + place)[order]
        input_ids = self._input_ids(tokens[held], spots, widths, S)
        return PieceBatch(input_ids, widths, words.reshape(W, S), sentence, first, lengths)

    def _windows(self, sizes: IntArray, ends: IntArray, offsets: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Find the first token, the end and the sentence of each window, ``[W]`` each."""
        begin, end, sentence = offsets[:-1], offsets[1:], np.arange(len(offsets) - 1)
        if not (long := np.flatnonzero(ends[end] - ends[begin] > self.window.room)).size:
            return begin, end, sentence
        cuts = [[(int(first), int(last))] for first, last in zip(begin, end, strict=True)]
        for b in long:
            first = int(offsets[b])
            cuts[b] = [(first + a, first + z) for a, z in self.window.cuts(sizes[first : offsets[b + 1]])]
        borders = np.array(list(itertools.chain.from_iterable(cuts)), np.int64)
        return borders[:, 0], borders[:, 1], np.repeat(sentence, [len(windows) for windows in cuts])

    def _columns(self, width: int, multiple: int) -> int:
        return max(width, min(-(-width // multiple) * multiple, self.window.max_length))

    def _input_ids(self, words: IntArray, spots: IntArray, widths: IntArray, S: int) -> IntArray:
        """Write the pieces of words to their spots, special ones around them, padding behind: ``[W, S]``."""
        W, before, after = len(widths), self.window.before, self.window.after
        flat = np.full(W * S, self.window.padding, np.int64)
        flat[spots] = self.ids[entries_of(self.offsets, words)]
        table = flat.reshape(W, S)
        table[:, : len(before)] = before
        table[np.arange(W)[:, None], widths[:, None] + np.arange(-len(after), 0)] = after
        return table


class PieceTable:
    """A tokenizer: which pieces words consist of, and what a window of an encoder looks like.

    Arguments:
        tokenizer: the JSON text of a fast tokenizer (a ``tokenizer.json``). Words are cut one by one, as after a blank:
            what the text says of prefix blanks, truncation and padding is set accordingly.
        unknown: the piece of words that have none.
        padding: the piece that fills windows up.
        max_length: the most pieces of a window, special ones too.
        stride: see `Window`.

    ``PieceTable(table.tokenizer_json(), **table.settings())`` makes it again. Needs the package tokenizers:
    ``pip install 'tagline[transformers]'``.
    """

    def __init__(self, tokenizer: str, *, unknown: int, padding: int, max_length: int = 512, stride: int = 64) -> None:
        self._tokenizer = _by_words(tokenizer)
        self.num_pieces = 1 + max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        if self.num_pieces > MOST_PIECES:
            raise InputError("tokenizer: expected pieces by numbers below {}, got {}", MOST_PIECES, self.num_pieces - 1)
        for name, piece in (("unknown", unknown), ("padding", padding)):
            last = self.num_pieces - 1
            check_whole(name, piece, 0, last, wanted=message("a piece of the tokenizer, 0 to {}", last))
        before, after = _special(self._tokenizer)
        least = len(before) + len(after) + 1
        check_whole("max_length", max_length, least, wanted=message("{} pieces or more, special ones too", least))
        check_whole("stride", stride, 0, wanted=message("0 pieces of context or more"))
        self.unknown = unknown
        self.window = Window(before, after, padding, max_length, stride)

    def pieces(self, vocabulary: Sequence[str]) -> Pieces:
        """Cut V words into pieces."""
        longest, unknown = self.window.longest_word, [self.unknown]
        inputs = [[word] for word in _encodable(vocabulary)]
        with _asking(message("one that cuts any word into pieces")):
            encoded = self._tokenizer.encode_batch(inputs, is_pretokenized=True, add_special_tokens=False)
        rows = [word.ids[:longest] or unknown for word in encoded]
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        ids = np.fromiter(itertools.chain.from_iterable(rows), np.int32, int(sizes.sum()))
        return Pieces(ids, offsets_of(sizes), self.window)

    def strings(self, ids: Sequence[int]) -> list[str]:
        """Write pieces as the tokenizer does, for people to look at."""
        return [self._tokenizer.id_to_token(int(piece)) or f"#{piece}" for piece in ids]

    def whole_words(self) -> dict[str, int]:
        """Find the words that are one piece, and the number of that piece; in the order of the vocabulary."""
        known = sorted(self._tokenizer.get_vocab(with_added_tokens=False).values())
        special = {*self._tokenizer.get_added_tokens_decoder(), self.window.padding, self.unknown}
        numbers = [piece for piece in known if piece not in special]
        with _asking(message("one that writes any piece")):
            words = self._tokenizer.decode_batch([[piece] for piece in numbers], skip_special_tokens=False)
        words = [word.strip() for word in words]
        cut = self.pieces(words)
        alone = (cut.sizes == 1) & (cut.ids[cut.offsets[:-1]] == numbers)
        return {word: piece for word, piece, whole in zip(words, numbers, alone, strict=True) if whole and word}

    def tokenizer_json(self) -> str:
        """Return the tokenizer as JSON text."""
        text: str = self._tokenizer.to_str()
        return text

    def settings(self) -> dict[str, int]:
        """Return the other arguments."""
        window = self.window
        return {
            "unknown": self.unknown,
            "padding": window.padding,
            "max_length": window.max_length,
            "stride": window.stride,
        }


def _by_words(text: str) -> Tokenizer:
    """Make the tokenizer of a JSON text that cuts a word as it stands between blanks, whole, the same every time."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ImportError(
            message(
                "sub-words need the package tokenizers ({}); install it with: pip install 'tagline[transformers]'",
                error,
            )
        ) from None
    with _asking(message("the text of a tokenizer.json")):
        fields = json.loads(text)
        fields["truncation"] = fields["padding"] = None
        if fields["model"].get("dropout") is not None:  # of merges, at random
            fields["model"]["dropout"] = None
        _prefix_blanks(fields.get("pre_tokenizer"))
        return Tokenizer.from_str(json.dumps(fields, ensure_ascii=False))


@contextmanager
def _asking(expected: str) -> Iterator[None]:
    """Turn what a tokenizer raises into an error of ours: it is of no particular class, and a panic no Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        shown = str(error).partition("\n")[0][:200]
        raise InputError("tokenizer: expected {}, got something else ({})", expected, shown) from None


def _prefix_blanks(part: Mapping[str, Any] | None) -> None:
    """Let a pre-tokenizer, or the parts of a sequence of them, see each word as if a blank stood before it."""
    kind = part and part.get("type")
    if kind == "Sequence":
        for inner in part["pretokenizers"]:  # type: ignore[index]
            _prefix_blanks(inner)
    elif kind == "ByteLevel":
        part["add_prefix_space"] = True  # type: ignore[index]
    elif kind == "Metaspace":
        part["prepend_scheme"] = "always"  # type: ignore[index]


def _special(tokenizer: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Find the special pieces that a tokenizer puts before and after a sentence, by showing it one."""
    for word in itertools.chain(("a", "的"), tokenizer.get_vocab(with_added_tokens=False)):
        with _asking(message("one that cuts any word into pieces")):
            shown = tokenizer.encode([word], is_pretokenized=True)
        inside = [place for place, number in enumerate(shown.word_ids) if number is not None]
        if inside:
            return tuple(shown.ids[: inside[0]]), tuple(shown.ids[inside[-1] + 1 :])
    raise InputError("tokenizer: expected one that knows a word, got one that drops every piece of its vocabulary")


def _encodable(words: Sequence[str]) -> Sequence[str]:
    """Put U+FFFD in place of halves of surrogate pairs, which no tokenizer takes."""
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        return [word.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for word in words]
    return words


def _context(held: IntArray, window: IntArray, ends: IntArray, begin: IntArray, end: IntArray) -> IntArray:
    """Count the pieces on the poorer side of each word of each window.

    From window to window a word has less context on its left and more on its right. A side on which the sentence ends
    counts as poor although nothing is missing there; the best window is the same.
    """
    poorer: IntArray = np.minimum(ends[held] - ends[begin][window], ends[end][window] - ends[held + 1])
    return poorer


def _ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """Join ``arange(start, start + count)`` of each pair."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.repeat(starts - ends + counts, counts) + np.arange(total))
