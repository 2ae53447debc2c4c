"""What the CRF layer checks at the door.

Shapes and types always; values (NaN, tags out of range, no legal path) need an answer from the device, so they are
checked on the CPU, elsewhere only where the layer was made with ``check=True``, and never while a graph is traced or
inside a transform of `torch.func`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tagline import compiled
from tagline.chain.checks import no_path
from tagline.chain.tensors import TensorChain
from tagline.chain.tensors.dispatch import transforming
from tagline.chain.tensors.types import as_array
from tagline.checks import as_whole
from tagline.errors import InputError, NoPathError
from tagline.messages import message

AXES = {True: ("batch", "steps"), False: ("steps", "batch")}
WRONG, FORBIDDEN = 1 | 4, 2  # what the core's look at values finds
REMEDY = message("mask such tokens, or give their tag to the layer as ignore_index")
TRACEABLE = message(
    "for decoding, put tagline.nn.export.ViterbiDecoder(crf) in its place, which can be traced, scripted and exported"
)
FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def check_tensors(emissions: Any, **others: Any) -> None:
    """Say which argument is no tensor; others than the emissions may be None."""
    for name, value in (("emissions", emissions), *others.items()):
        if not isinstance(value, Tensor) and (value is not None or name == "emissions"):
            remedy = "" if value is None else message("; pass torch.as_tensor({})", name)
            raise InputError("{}: expected a tensor of PyTorch, got {}{}", name, type(value).__name__, remedy)


def tracing() -> bool:
    """Whether `torch.jit.trace` is recording."""
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined,no-untyped-call]


def check_not_traced(remedy: str = TRACEABLE) -> None:
    """Refuse `torch.jit.trace`, also inside of the ONNX exporter that uses it: it would record the example's answer."""
    if tracing():
        raise InputError(
            "torch.jit.trace cannot record a CRF layer: the graph would give the answer to the example for every "
            "input; {}",
            remedy,
        )


def check_emissions(emissions: Tensor, num_tags: int, batch_first: bool) -> None:
    """Say what is wrong with the shape or the type of emissions."""
    if emissions.dim() != 3 or emissions.shape[2] != num_tags:
        axes = ", ".join(AXES[batch_first])
        raise InputError(
            "emissions: expected shape [{}, {}] (batch_first={}), got {}",
            axes,
            num_tags,
            batch_first,
            list(emissions.shape),
        )
    if emissions.dtype not in FLOATS:
        raise InputError(
            "emissions: expected floating-point scores, got {}; integers carry no gradient, so pass the "
            "output of your last linear layer as it is",
            emissions.dtype,
        )


def check_same_shape(name: str, values: Tensor, emissions: Tensor) -> None:
    """Say where a shape is not that of the emissions' first two axes."""
    if values.shape != emissions.shape[:2]:
        raise InputError(
            "{}: expected shape {}, that of the emissions' first two axes, got {}",
            name,
            list(emissions.shape[:2]),
            list(values.shape),
        )


def check_tags(tags: Tensor, emissions: Tensor) -> None:
    """Say what is wrong with the shape or the type of tags."""
    if tags.dtype == torch.bool:
        if tags.shape != emissions.shape:
            raise InputError(
                "tags: expected shape {} for sets of labels (booleans), got {}", list(emissions.shape), list(tags.shape)
            )
        return
    check_same_shape("tags", tags, emissions)
    if tags.dtype.is_floating_point or tags.dtype.is_complex:
        raise InputError("tags: expected integers, or booleans [batch, steps, labels], got {}", tags.dtype)


def as_mask(mask: Tensor, emissions: Tensor) -> Tensor:
    """Return a mask as booleans."""
    check_same_shape("mask", mask, emissions)
    if mask.dtype.is_complex:
        raise InputError("mask: expected booleans or 0 and 1, got {}", mask.dtype)
    return mask if mask.dtype == torch.bool else mask != 0


def check_lengths(lengths: Tensor, emissions: Tensor, look: bool) -> None:
    """Say what is wrong with lengths ``[B]``; with `look`, with their values too."""
    B, T = emissions.shape[:2]
    if lengths.shape != (B,) or lengths.dtype.is_floating_point or lengths.dtype == torch.bool:
        raise InputError("lengths: expected integers of shape [{}], got {} {}", B, lengths.dtype, list(lengths.shape))
    if look and B and (int(lengths.min()) < 0 or int(lengths.max()) > T):
        raise InputError("lengths: expected 0 to {}, got {} to {}", T, int(lengths.min()), int(lengths.max()))


def looks(device: torch.device, check: bool) -> bool:
    """Whether values are checked."""
    return (check or device.type == "cpu") and not torch.compiler.is_compiling() and not transforming()


def check_values(
    c: TensorChain, labels: Tensor | None, remedy: str = REMEDY, steps: Callable[[], Tensor] | None = None
) -> bool:
    """Say what is wrong with the scores that are read, or with labels ``[N]``; return whether all scores are finite.

    Arguments:
        remedy: ends the message about labels that are out of range.
        steps: returns the sentence and the step of each row, ``[N, 2]``, for messages.
    """
    whole = None if labels is None or labels.dtype == torch.bool else labels
    if c.emissions.is_cpu and compiled.core is not None:
        facts = c.runs.look(*c.arrays, None if whole is None else as_array(whole))
        if not facts & WRONG:
            return not facts & FORBIDDEN
    inside = c.inside()
    finite = [
        check_numbers("emissions", c.emissions[inside], places_of(steps, inside)),
        check_numbers("transitions", *_read(c, inside, steps)),
        check_numbers("start_transitions", c.start),
        check_numbers("end_transitions", c.end),
    ]
    if whole is not None:
        check_tag_range(whole[inside], c.num_labels, remedy, places_of(steps, inside))
    return all(finite)


Places = Callable[[list[int]], str]
"""Tells the place of an index, for messages."""


def places_of(steps: Callable[[], Tensor] | None, chosen: Tensor | None = None) -> Places:
    """Return how to tell the places of numbers of all rows or the chosen ones."""
    if steps is None:
        return str

    def tell(index: list[int]) -> str:
        rows = steps() if chosen is None else steps()[chosen]
        (sentence, step), tags = rows[index[0]].tolist(), message(" to ").join(map(str, index[1:]))
        return message("sentence {}, step {}", sentence, step) + (message(", tag {}", tags) if tags else "")

    return tell


def _read(c: TensorChain, inside: Tensor, steps: Callable[[], Tensor] | None) -> tuple[Tensor, Places]:
    """The transitions that are read: all but those into the first token of a sentence; and how to tell their places."""
    if not c.per_position:
        return c.transitions, str
    led_into = inside.clone()
    led_into[c.first[c.lengths > 0]] = False
    return c.transitions[led_into], places_of(steps, led_into)


def check_tag_range(tags: Tensor, num_tags: int, remedy: str = REMEDY, places: Places = str) -> None:
    """Say which of the tags ``[N]`` of tokens that count is out of range."""
    if not tags.shape[0]:
        return
    low, high = (int(end) for end in tags.aminmax())
    if low < 0 or high >= num_tags:
        first = int(((tags < 0) | (tags >= num_tags)).nonzero()[0])
        wrong = message("{} at {}", int(tags[first]), places([first]))
        raise InputError("tags: expected 0 to {} where the mask is on, got {}; {}", num_tags - 1, wrong, remedy)


def check_numbers(name: str, values: Tensor, places: Places = str) -> bool:
    """Say where there is a NaN or a +∞; return whether all scores are finite."""
    values = values.detach()
    total = values.numpy().sum() if values.device.type == "cpu" else values.sum().item()
    if math.isfinite(total):  # one pass over good input
        return True
    wrong = torch.isnan(values) | torch.isposinf(values)
    if bool(wrong.any()):
        place = places([int(axis) for axis in wrong.nonzero()[0]])
        raise InputError(
            "{}: expected finite scores, or -inf for what is forbidden, got {} at {}; look for a "
            "division by zero or too high a learning rate",
            name,
            float(values[wrong][0]),
            place,
        )
    return not bool(torch.isneginf(values).any())


def check_legal(values: Tensor, error: Callable[[int], NoPathError] = no_path) -> None:
    """Raise the error about the first sentence that is forbidden, given log Z, log p or −KL ``[B]``."""
    numbers = values.reshape(-1).tolist()  # there are few, so that an array operation takes longer
    if -math.inf in numbers:
        raise error(numbers.index(-math.inf))


def unlike_teacher(sentence: int) -> NoPathError:
    """The error for a student that forbids what its teacher allows."""
    return NoPathError(
        "sentence {}: expected a legal score for every labelling that the teacher allows, got one of -inf "
        "(the divergence is infinite); relax the constraints, or give the teacher the same",
        sentence,
    )


def warn_of_probabilities(rows: Tensor) -> None:
    """Warn where all rows of emissions are probabilities: a softmax was applied before the CRF."""
    values = rows.detach()
    if values.shape[0] < 2 or values.shape[1] < 2 or float(values.min()) < 0:
        return
    if float((values.sum(1) - 1).abs().max()) < 1e-3:
        warnings.warn(
            message(
                "tagline.nn.CRF: every row of the emissions is a probability distribution; a CRF wants the scores "
                "before the softmax (probabilities leave it a range of 1 to tell labels apart)"
            ),
            UserWarning,
            stacklevel=4,
        )


def as_pad_tag(pad_tag: Any) -> int:
    """Return the number that stands at padding."""
    return as_whole("pad_tag", pad_tag, -(2**63), 2**63 - 1)
