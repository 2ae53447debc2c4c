"""The BiLSTM encoder: words in, one vector a token out, which does not depend on the batch around a sentence.

    word vector ⊕ case vector ⊕ character vector  →  dropout  →  (BiLSTM → dropout) × layers

Both directions begin with zeros at their own end of a sentence, and padding never matters: sentences are packed; or,
on a CPU where they are of like lengths, and in CUDA graphs, padded behind the end that a direction comes to last
(`recurrent`). The vector of a spelling is worked out once a batch. References: Lample et al. (2016), Ma and Hovy
(2016), Huang et al. (2015).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence

from tagline.checks import check_whole
from tagline.errors import InputError
from tagline.features.spellings import NUM_CASES, PADDING
from tagline.nn.batches import WordBatch
from tagline.nn.characters import CharacterCNN, CharacterLSTM
from tagline.nn.dropout import VariationalDropout, WordDropout
from tagline.nn.embedding import Embedding, rows_of
from tagline.nn.initialisation import fill_embedding, fill_lstm
from tagline.nn.recurrent import both_ways, weights_of

CHARACTERS = ("cnn", "lstm", None)
BIGRAMS = 1 << 16  # rows of their table
PRIME = 1_000_003
MOST_NUMBERS, MOST_LAYERS = 1 << 20, 1000  # of a vector, of LSTMs: far more than memory holds
MOST_PADDING = 1.5  # cells for each token


class BiLSTMEncoder(nn.Module):
    """Layers of bidirectional LSTMs over words; see `forward`.

    Arguments:
        num_words, num_characters: how many numbers words and characters have (`FormTable`).
        word_dim: the size of a word's vector; not read where there are `vectors`.
        vectors: ``[num_words, D]``, the vectors of words to begin with; drawn at random when left out.
        freeze_words: whether they stay as they are.
        characters: what reads characters: "cnn", "lstm", or None for nothing.
        char_dim, char_size: the size of a character's vector, and of what is made of a word's characters.
        case_dim: the size of a case's vector, 0 for none.
        hidden: the size of each direction.
        layers: how many BiLSTMs lie on top of each other.
        dropout: the share of features left out before, between and after them, the same at every step of a sentence.
        word_dropout: the share of known words that are taken for unknown ones in training.
        bigram_dim: the size of a vector for a word and the next one, by a hash of both; 0 for none. For Chinese
            characters it stands in for words.
    """

    def __init__(
        self,
        num_words: int,
        num_characters: int,
        *,
        word_dim: int = 100,
        vectors: Tensor | None = None,
        freeze_words: bool = False,
        characters: str | None = "cnn",
        char_dim: int = 30,
        char_size: int = 50,
        case_dim: int = 8,
        hidden: int = 200,
        layers: int = 1,
        dropout: float = 0.5,
        word_dropout: float = 0.0,
        bigram_dim: int = 0,
    ) -> None:
        super().__init__()
        sizes = {"word_dim": word_dim, "char_dim": char_dim, "char_size": char_size, "hidden": hidden}
        for name, value in sizes.items():
            check_whole(name, value, 1, MOST_NUMBERS)
        check_whole("layers", layers, 1, MOST_LAYERS)
        check_whole("case_dim", case_dim, 0, MOST_NUMBERS)
        check_whole("bigram_dim", bigram_dim, 0, MOST_NUMBERS)
        self.words = _word_vectors(num_words, word_dim, vectors)
        self.words.weight.requires_grad_(not freeze_words)
        self.cases = Embedding(NUM_CASES, case_dim, padding_idx=PADDING) if case_dim else None
        if self.cases is not None:
            fill_embedding(self.cases)
        self.bigrams = Embedding(BIGRAMS, bigram_dim) if bigram_dim else None
        if self.bigrams is not None:
            fill_embedding(self.bigrams)
        self.characters = _character_reader(characters, num_characters, char_dim, char_size)
        inputs = self.words.embedding_dim + case_dim + bigram_dim
        inputs += 0 if self.characters is None else self.characters.size
        self.size = 2 * hidden
        lstms = [nn.LSTM(self.size if k else inputs, hidden, bidirectional=True) for k in range(layers)]
        for lstm in lstms:
            fill_lstm(lstm)
        self.layers = nn.ModuleList(lstms)
        self.word_dropout = WordDropout(word_dropout)
        self.dropout = VariationalDropout(dropout)

    def forward(self, batch: WordBatch) -> Tensor:
        """Return one vector for each token, ``[B, T, size]``, 0 at padding."""
        return self.encode(self.embed(batch), batch)

    def embed(self, batch: WordBatch) -> Tensor:
        """Return what the first LSTM reads of each token, ``[B, T, D]``."""
        words: Tensor = self.word_dropout(batch.words)
        tokens = rows_of(self._spellings(words, batch), batch.forms, PADDING)
        if self.bigrams is None:
            return tokens
        words = words[batch.forms]  # [B, T]; an unknown word is one in its pairs, too
        pairs = (words * PRIME + functional.pad(words[:, 1:], (0, 1))) % BIGRAMS
        return torch.cat([tokens, self.bigrams(pairs)], 2)

    def by_word(self, values: Tensor, batch: WordBatch) -> Tensor:
        """Sum what belongs to each token, ``[B, T]``, of numbers as `embed` lays them out."""
        return values.sum(2)

    def encode(self, embedded: Tensor, batch: WordBatch) -> Tensor:
        """Return the vectors ``[B, T, size]`` for what `embed` returned."""
        B, T = batch.forms.shape
        if batch.cells is not None and not batch.cells.shape[0]:
            return embedded.new_zeros(B, T, self.size)
        tokens: Tensor = self.dropout(embedded)
        for lstm in self.layers:
            assert isinstance(lstm, nn.LSTM)
            tokens = self.dropout(_states(lstm, tokens, batch))
        return tokens

    def _spellings(self, words: Tensor, batch: WordBatch) -> Tensor:
        """Return the vectors ``[U, D]`` of the distinct spellings of a batch, given the numbers of their words."""
        parts = [self.words(words)]
        if self.cases is not None:
            parts.append(self.cases(batch.cases))
        if self.characters is not None:
            parts.append(self.characters(batch.characters))
        return torch.cat(parts, 1)


def _states(lstm: nn.LSTM, tokens: Tensor, batch: WordBatch) -> Tensor:
    """Run both directions ``[B, T, 2 H]`` over tokens ``[B, T, D]``; 0 at padding."""
    if batch.cells is None or _may_pad(batch.forms, batch.cells):
        return both_ways(weights_of(lstm), tokens, batch.device_lengths, lstm.training)
    return _packed(lstm, tokens, batch.cells, batch.step_sizes)


def _packed(lstm: nn.LSTM, tokens: Tensor, cells: Tensor, step_sizes: Tensor) -> Tensor:
    """Run both directions ``[B, T, 2 H]`` over tokens ``[B, T, D]`` in packed order; 0 at padding."""
    B, T, _ = tokens.shape
    packed = PackedSequence(tokens.flatten(0, 1).index_select(0, cells), step_sizes)
    states: Tensor = lstm(packed)[0].data  # [N, 2 H]
    padded = states.new_zeros(B * T, states.shape[1]).index_copy(0, cells, states)
    return padded.view(B, T, states.shape[1])


def _may_pad(forms: Tensor, cells: Tensor) -> bool:
    """Whether padding is worth it: a CPU reads padded sentences nearly twice as fast, a GPU packed ones.

    In half precision not every CPU can.
    """
    if not forms.is_cpu or torch.is_autocast_enabled("cpu") or torch.compiler.is_compiling():
        return False
    return forms.numel() <= MOST_PADDING * cells.shape[0]


def _word_vectors(num_words: int, word_dim: int, vectors: Tensor | None) -> nn.Embedding:
    if vectors is None:
        table = Embedding(num_words, word_dim, padding_idx=PADDING)
        fill_embedding(table)
        return table
    if vectors.dim() != 2 or vectors.shape[0] != num_words or not vectors.dtype.is_floating_point:
        raise InputError(
            "vectors: expected floating-point numbers of shape [{}, D], one row a word with padding and "
            "the unknown word first, got {} {}",
            num_words,
            vectors.dtype,
            list(vectors.shape),
        )
    table = Embedding(num_words, vectors.shape[1], padding_idx=PADDING)
    with torch.no_grad():
        table.weight.copy_(vectors)
    return table


def _character_reader(
    kind: str | None, num_characters: int, char_dim: int, char_size: int
) -> CharacterCNN | CharacterLSTM | None:
    if kind is None:
        return None
    if kind == "cnn":
        return CharacterCNN(num_characters, char_dim, char_size)
    if kind == "lstm":
        if char_size % 2:
            raise InputError("char_size: expected an even number for two directions, got {}", char_size)
        return CharacterLSTM(num_characters, char_dim, char_size // 2)
    raise InputError("characters: expected one of {}, got {!r}", ", ".join(map(repr, CHARACTERS)), kind)
