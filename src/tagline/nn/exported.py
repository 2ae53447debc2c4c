"""Whole taggers for ONNX: the numbers of a batch in, labels out; any number of sentences, any length.

    encoder ──▶ linear layer of the head ──▶ `export.ViterbiDecoder`

A graph has the weights of a network in evaluation mode and the transitions with which it decodes, −∞ where a tag scheme
forbids. It decodes in float64, so that rounding along a long sentence decides nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from tagline.nn.batches import WordBatch
from tagline.nn.bilstm import BiLSTMEncoder
from tagline.nn.characters import CharacterLSTM
from tagline.nn.export import ViterbiDecoder, write_onnx
from tagline.nn.heads import Tagger
from tagline.nn.subword_batches import SubwordBatch
from tagline.storage import Path


def export_tagger(tagger: Tagger, path: Path, opset: int | None = None) -> None:
    """Write a tagger as an ONNX model.

    The inputs are those of `WordGraph` or `PieceGraph`, all of them int64; the outputs are labels ``[B, T]``, −1 behind
    the last token of a sentence, and the scores ``[B]`` of the labellings. T must be at least 1.

    Arguments:
        opset: the version of ONNX's operators; the exporter's own when left out.
    """
    graph: Graph = WordGraph(tagger) if isinstance(tagger.encoder, BiLSTMEncoder) else PieceGraph(tagger)
    example = {name: torch.ones(shape, dtype=torch.int64) for name, shape in graph.INPUTS.items()}
    write_onnx(graph.eval(), example, ("labels", "scores"), str(path), opset)


class Graph(nn.Module):
    """What both kinds share: the head."""

    INPUTS: ClassVar[Mapping[str, tuple[int, ...]]]
    """Names and, for an example, shapes."""

    def __init__(self, tagger: Tagger) -> None:
        super().__init__()
        self.encoder: Any = copy.deepcopy(tagger.encoder).cpu()
        self.linear = copy.deepcopy(tagger.head.linear).cpu()
        transitions, start, end = (torch.from_numpy(part).double() for part in tagger.head.scores())
        self.decoder = ViterbiDecoder.of_scores(transitions, start, end)

    def decode(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Find labels ``[B, T]`` and scores ``[B]`` for vectors ``[B, T, D]``."""
        labels, scores = self.decoder(self.linear(vectors), _inside(lengths, vectors.shape[1]))
        return labels, scores


class WordGraph(Graph):
    """A BiLSTM tagger over what a `tagline.features.spellings.FormBatch` holds."""

    INPUTS = {"forms": (2, 3), "words": (4,), "cases": (4,), "characters": (4, 5), "lengths": (2,)}  # noqa: RUF012

    def __init__(self, tagger: Tagger) -> None:
        super().__init__(tagger)
        self.encoder.layers = nn.ModuleList(OnnxLSTM(lstm) for lstm in self.encoder.layers)
        if isinstance(reader := self.encoder.characters, CharacterLSTM):
            reader.forwards, reader.backwards = OnnxLSTM(reader.forwards), OnnxLSTM(reader.backwards)  # type: ignore[assignment]

    def forward(
        self, forms: Tensor, words: Tensor, cases: Tensor, characters: Tensor, lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Find labels ``[B, T]`` and scores ``[B]``."""
        unused = lengths[:0]  # how tokens are packed, which ONNX's LSTM does not ask
        tokens = self.encoder.embed(WordBatch(forms, words, cases, characters, unused, lengths, lengths, unused))
        for lstm in self.encoder.layers:
            tokens, _ = lstm(tokens, lengths)
        return self.decode(tokens, lengths)


class PieceGraph(Graph):
    """A tagger over a transformer, for what a `tagline.features.subwords.PieceBatch` holds."""

    INPUTS = {"input_ids": (4, 6), "widths": (4,), "words": (4, 6), "first": (2, 3), "lengths": (2,)}  # noqa: RUF012

    def forward(
        self, input_ids: Tensor, widths: Tensor, words: Tensor, first: Tensor, lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Find labels ``[B, T]`` and scores ``[B]``."""
        mask = _inside(widths, input_ids.shape[1])
        batch = SubwordBatch(input_ids, mask, words, widths[:0], first, lengths, lengths)
        return self.decode(self.encoder(batch), lengths)


class OnnxLSTM(nn.Module):
    """ONNX's own LSTM with the weights of one of PyTorch's, in one direction or two; it stops where a sentence ends.

    An `nn.LSTM` that PyTorch exports reads the padding of a batch, too, its backward direction before the words.
    """

    weights: Tensor
    recurrence: Tensor
    biases: Tensor

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        parts = [[_gates(part.detach()) for part in direction] for direction in lstm.all_weights]
        self.hidden = lstm.hidden_size
        self.direction = "bidirectional" if len(parts) == 2 else "forward"
        self.register_buffer("weights", torch.stack([part[0] for part in parts]))
        self.register_buffer("recurrence", torch.stack([part[1] for part in parts]))
        self.register_buffer("biases", torch.stack([torch.cat(part[2:]) for part in parts]))

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, None]:
        """Return states ``[B, T, H]``, both directions side by side, for tokens ``[B, T, D]``; 0 behind the last."""
        B, T, _ = tokens.shape
        (states,) = torch.onnx.ops.symbolic_multi_out(
            "LSTM",
            (
                *(tokens.transpose(0, 1), self.weights, self.recurrence, self.biases),
                None if lengths is None else lengths.to(torch.int32),
            ),
            {"hidden_size": self.hidden, "direction": self.direction},
            dtypes=(tokens.dtype,),
            shapes=((T, self.weights.shape[0], B, self.hidden),),
        )
        return states.permute(2, 0, 1, 3).flatten(2), None


def _gates(weights: Tensor) -> Tensor:
    """Put the gates of an LSTM, blocks of rows, into ONNX's order."""
    entry, forget, cell, out = weights.chunk(4)
    return torch.cat([entry, out, forget, cell])


def _inside(lengths: Tensor, T: int) -> Tensor:
    return torch.arange(T, device=lengths.device) < lengths[:, None]
