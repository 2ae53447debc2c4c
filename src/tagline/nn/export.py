"""Decoding for `torch.export` and ONNX: any batch and any length, no Python loop over time.

A loop over T would be unrolled for the T that was traced, so the recursions are `scan`s, a higher-order operator of
PyTorch that becomes ONNX's Scan; traced and scripted, the decoder runs `scripted`. Parameters and constraints are fixed
when the decoder is made.

    decoder = ViterbiDecoder(crf)
    program = torch.export.export(decoder, (emissions, mask), dynamic_shapes=DYNAMIC_SHAPES)
    export_onnx(crf, "decoder.onnx")
"""

import contextlib
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan

from tagline.errors import InputError
from tagline.messages import message
from tagline.nn import checks, scripted
from tagline.nn.crf import CRF

DYNAMIC_SHAPES: Any = tuple({0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC} for _ in range(2))
"""Batch and time of emissions and mask."""


class ViterbiDecoder(nn.Module):
    """The decoding of a trained CRF layer: emissions ``[B, T, L]`` and mask ``[B, T]`` in, labels and scores out.

    Arguments:
        crf: the layer; its scores of now are copied.
        pad_tag: what stands where the mask is off.

    Masks may have any pattern, as in the layer. T must be at least 1. Nothing here is differentiated: labels have no
    gradient, and PyTorch cannot export a scan that has one beside integers. So emissions are detached, and the decoder
    can stand behind a network that was trained.
    """

    transitions: Tensor
    start: Tensor
    end: Tensor

    def __init__(self, crf: CRF, pad_tag: int = -1) -> None:
        super().__init__()
        self._take(crf.scores(next(crf.parameters()).dtype), pad_tag)

    @classmethod
    def of_scores(cls, transitions: Tensor, start: Tensor, end: Tensor, pad_tag: int = -1) -> "ViterbiDecoder":
        """Make a decoder of transitions ``[L, L]``, start and end ``[L]``, −∞ where something is forbidden."""
        made = cls.__new__(cls)
        nn.Module.__init__(made)
        made._take((transitions, start, end), pad_tag)
        return made

    def _take(self, scores: tuple[Tensor, Tensor, Tensor], pad_tag: int) -> None:
        for name, part in zip(("transitions", "start", "end"), scores, strict=True):
            self.register_buffer(name, part.detach().clone())
        self.pad_tag = pad_tag

    def forward(self, emissions: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Find labels ``[B, T]``, the pad tag where the mask is off, and scores ``[B]``."""
        emissions, counts = emissions.detach(), mask != 0
        if torch.jit.is_scripting():  # type: ignore[attr-defined]
            return scripted.decode(emissions, counts, self.transitions, self.start, self.end, self.pad_tag)
        return self._scanned(emissions, counts)

    @torch.jit.unused
    def _scanned(self, emissions: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        if checks.tracing():
            parts = (self.transitions, self.start, self.end)
            traced: tuple[Tensor, Tensor] = scripted.compiled(scripted.decode)(emissions, counts, *parts, self.pad_tag)
            return traced
        places, inside = _compaction(counts)
        steps = torch.arange(counts.shape[1], device=counts.device)
        order = torch.zeros_like(places).scatter(1, places, steps + torch.zeros_like(places))
        rows = emissions.to(self.transitions.dtype).gather(1, order[:, :, None].expand(-1, -1, emissions.shape[2]))
        rows = torch.where(inside[:, :, None], rows, 0.0)
        first = (steps == 0)[:, None] & torch.ones_like(inside.transpose(0, 1))
        best, pointers = scan(
            self._onward,
            torch.zeros_like(rows[:, 0]),
            (rows.transpose(0, 1), inside.transpose(0, 1), first),
        )
        scores, last = (best + self.end).max(1)
        _, path = scan(_back, last, pointers, reverse=True)  # [T, B]
        labels = path.transpose(0, 1).gather(1, places)
        empty = ~counts.any(1)
        return torch.where(counts, labels, self.pad_tag), torch.where(empty, 0.0, scores)

    def _onward(self, best: Tensor, step: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        emissions, inside, first = (step[0], step[1][:, None], step[2][:, None])
        top, came_from = (best[:, :, None] + self.transitions).max(1)
        itself = torch.arange(self.start.shape[0], device=best.device) + torch.zeros_like(came_from)
        onward = torch.where(first, self.start, top) + emissions
        return torch.where(inside, onward, best), torch.where(inside & ~first, came_from, itself)


def _back(label: Tensor, came_from: Tensor) -> tuple[Tensor, Tensor]:
    return came_from.gather(1, label[:, None])[:, 0], label.clone()


def _compaction(counts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the place of each token once those that count are in front ``[B, T]``, and which places these fill."""
    so_far = counts.to(torch.int64).cumsum(1)
    lengths = so_far[:, -1:]
    steps = torch.arange(counts.shape[1], device=counts.device)
    return torch.where(counts, so_far - 1, lengths + steps - so_far), steps < lengths


def export_onnx(crf: CRF, path: str | Path, pad_tag: int = -1) -> None:
    """Write the decoding of a layer as an ONNX model: inputs emissions and mask, outputs tags and scores.

    Needs the extra packages onnx and onnxscript: ``pip install 'tagline[onnx]'``.
    """
    example = {"emissions": torch.zeros(2, 3, crf.num_tags), "mask": torch.ones(2, 3, dtype=torch.bool)}
    write_onnx(ViterbiDecoder(crf, pad_tag).float().cpu().eval(), example, ("tags", "scores"), path)


def write_onnx(
    module: nn.Module,
    example: Mapping[str, Tensor],
    outputs: Sequence[str],
    path: str | Path,
    opset: int | None = None,
) -> None:
    """Write a module as an ONNX model.

    Arguments:
        example: its inputs by name, of any sizes but 0 and 1; when it runs, the first two dimensions may have others.
        outputs: the names of what it returns.
        opset: the version of ONNX's operators; the exporter's own when left out.
    """
    for package in ("onnx", "onnxscript"):
        if find_spec(package) is None:
            raise ImportError(
                message("ONNX needs the package {}; install it with: pip install 'tagline[onnx]'", package)
            )
    shapes = tuple(dict.fromkeys(range(min(2, value.dim())), torch.export.Dim.DYNAMIC) for value in example.values())
    with _quietly():
        try:
            program = torch.onnx.export(
                module,
                tuple(example.values()),
                input_names=[*example],
                output_names=[*outputs],
                dynamic_shapes=shapes,
                opset_version=opset,
                dynamo=True,
                verbose=False,
            )
        except torch.onnx.OnnxExporterError as error:
            shown = str(error.__cause__ or error).strip().partition("\n")[0][:300]
            raise InputError("export: expected a network that PyTorch's exporter can write, got: {}", shown) from error
        assert program is not None
        written = program.model.opset_imports[""]
        if opset is not None and written != opset:  # the exporter only warns
            raise InputError(
                "opset: expected a version that the exporter can write, such as {}, got {}", written, opset
            )
        _forget_origins(program)
        program.save(str(path))


def _forget_origins(program: Any) -> None:
    """Take out of a graph the lines of source, with their paths, that its nodes come from: they are most of a file."""
    from onnx_ir.passes.common import ClearMetadataAndDocStringPass

    ClearMetadataAndDocStringPass()(program.model)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep off the screen what PyTorch's exporter says about itself: what it will change, what it does not find."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
