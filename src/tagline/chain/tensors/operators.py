"""The backends as single operators, for graphs that `torch.compile` traces: it neither looks inside nor breaks there.

Each operator takes a chain as loose tensors and asks the backend that is chosen when it runs. Gradients run the
backend once more, forward and backward together; they are not differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tagline.chain import batched
from tagline.chain.tensors import TensorChain, wide

SCORES = (0, 4, 5, 6)  # emissions, transitions, start and end among the arguments

Backend = Callable[[TensorChain], Any]
_backend: Backend


def ask(backend: Backend) -> None:
    """Say who chooses the backend of a chain: `tagline.chain.tensor_dispatch` does."""
    global _backend
    _backend = backend


def _loose(c: TensorChain) -> tuple[Tensor, Tensor, Tensor, int, Tensor, Tensor, Tensor]:
    return c.emissions, c.first, c.lengths, c.longest, c.transitions, c.start, c.end


@torch.library.custom_op("tagline::log_partition", mutates_args=())
def _log_partition(
    emissions: Tensor, first: Tensor, lengths: Tensor, longest: int, transitions: Tensor, start: Tensor, end: Tensor
) -> Tensor:
    c = TensorChain(emissions, first, lengths, longest, transitions, start, end)
    return _backend(c).log_partition(c)  # type: ignore[no-any-return]


@torch.library.custom_op("tagline::log_likelihood", mutates_args=())
def _log_likelihood(
    emissions: Tensor,
    first: Tensor,
    lengths: Tensor,
    longest: int,
    transitions: Tensor,
    start: Tensor,
    end: Tensor,
    tags: Tensor,
) -> Tensor:
    c = TensorChain(emissions, first, lengths, longest, transitions, start, end)
    return _backend(c).log_likelihood(c, tags)  # type: ignore[no-any-return]


@torch.library.custom_op("tagline::gradients", mutates_args=())
def _gradients(
    weights: Tensor,
    emissions: Tensor,
    first: Tensor,
    lengths: Tensor,
    longest: int,
    transitions: Tensor,
    start: Tensor,
    end: Tensor,
    tags: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    with torch.enable_grad():
        parts = [part.detach().requires_grad_() for part in (emissions, transitions, start, end)]
        c = TensorChain(parts[0], first, lengths, longest, parts[1], parts[2], parts[3])
        chosen = _backend(c)
        if chosen is batched:  # autograd records no plain operations inside an operator
            found = batched.gradients(c, weights, tags)
        else:
            value = chosen.log_partition(c) if tags is None else chosen.log_likelihood(c, tags)
            found = torch.autograd.grad(value, parts, weights, materialize_grads=True)
    emitted, *edges = found
    # A backend may hand out parts of one tensor, an operator must not.
    moved, started, ended = (part.clone(memory_format=torch.contiguous_format) for part in edges)
    return emitted.contiguous(), moved, started, ended


@torch.library.custom_op("tagline::marginals", mutates_args=())
def _marginals(
    emissions: Tensor, first: Tensor, lengths: Tensor, longest: int, transitions: Tensor, start: Tensor, end: Tensor
) -> Tensor:
    c = TensorChain(emissions, first, lengths, longest, transitions, start, end)
    return _backend(c).marginals(c)  # type: ignore[no-any-return]


@torch.library.custom_op("tagline::viterbi", mutates_args=())
def _viterbi(
    emissions: Tensor, first: Tensor, lengths: Tensor, longest: int, transitions: Tensor, start: Tensor, end: Tensor
) -> tuple[Tensor, Tensor]:
    c = TensorChain(emissions, first, lengths, longest, transitions, start, end)
    tags, scores = _backend(c).viterbi(c)
    return tags, scores


def _one_a_sequence(emissions: Tensor, first: Tensor, *_: Any) -> Tensor:
    return emissions.new_empty(first.shape[0], dtype=wide(emissions.device))


_log_partition.register_fake(_one_a_sequence)
_log_likelihood.register_fake(_one_a_sequence)
_marginals.register_fake(lambda emissions, *_: torch.empty_like(emissions))


@_viterbi.register_fake
def _(emissions: Tensor, first: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return first.new_empty(emissions.shape[0]), _one_a_sequence(emissions, first)


@_gradients.register_fake
def _(weights: Tensor, *arguments: Any) -> tuple[Tensor, ...]:
    return tuple(torch.empty_like(arguments[place], memory_format=torch.contiguous_format) for place in SCORES)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.longest = inputs[3]
    ctx.save_for_backward(*inputs[:3], *inputs[4:])


def _back(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
    emissions, first, lengths, *moves_and_tags = ctx.saved_tensors
    tags = moves_and_tags[3] if len(moves_and_tags) > 3 else None
    found = _gradients(weights, emissions, first, lengths, ctx.longest, *moves_and_tags[:3], tags)
    rest = (None,) * (len(moves_and_tags) - 3)
    return found[0], None, None, None, *found[1:], *rest


_log_partition.register_autograd(_back, setup_context=_keep)
_log_likelihood.register_autograd(_back, setup_context=_keep)


def log_partition(c: TensorChain) -> Tensor:
    """Compute log Z ``[B]``."""
    return _log_partition(*_loose(c))  # type: ignore[no-any-return]


def log_likelihood(c: TensorChain, tags: Tensor) -> Tensor:
    """Compute log p(tags) ``[B]``, for tags ``[N]``."""
    return _log_likelihood(*_loose(c), tags)  # type: ignore[no-any-return]


def marginals(c: TensorChain) -> Tensor:
    """Compute P(y_n = j) ``[N, L]``, without gradients."""
    return _marginals(*_loose(c))  # type: ignore[no-any-return]


def viterbi(c: TensorChain) -> tuple[Tensor, Tensor]:
    """Find the best labelling: tags ``[N]`` and scores ``[B]``."""
    return _viterbi(*_loose(c.detach()))  # type: ignore[no-any-return]
