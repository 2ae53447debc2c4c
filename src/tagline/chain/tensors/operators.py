"""The questions whose answers have gradients, as operators: one autograd for all backends, and one for traced graphs.

    log_partition(c) -> [B]                   log Z; 0 for an empty sentence, −∞ where there is no legal path
    log_likelihood(c, labels [N]) -> [B]      the score of the labels less log Z
    marginals(c) -> [N, L]                    in the type of the emissions, 0 in rows of no sentence
    viterbi(c) -> (labels [N], scores [B])    int64, −1 in rows of no sentence

Results ``[B]`` are of type `types.wide`, so that differences of long sentences keep their digits. Autograd records
what `batched` does. The other backends compute a value and its gradients themselves; their values are one step of
autograd, and where the backward pass is itself recorded (``create_graph=True``), it runs in `batched`, as everything
does inside a transform of `torch.func`. Inside a graph of `torch.compile` each question is one operator, which the
compiler neither looks into nor breaks at; its gradients run the backend once more and are not differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from tagline.chain.tensors import batched
from tagline.chain.tensors.dispatch import backend, transforming
from tagline.chain.tensors.types import TensorChain, wide


def log_partition(c: TensorChain) -> Tensor:
    """Compute log Z ``[B]``."""
    if torch.compiler.is_compiling():
        return _traced_log_partition(*_loose(c))  # type: ignore[no-any-return]
    chosen = backend(c)
    if chosen is batched:
        return batched.log_partition(c)
    return _Value.apply(chosen, c, None, *c.scores)  # type: ignore[no-any-return, no-untyped-call]


def log_likelihood(c: TensorChain, labels: Tensor) -> Tensor:
    """Compute log p(labels) ``[B]``, for labels ``[N]``."""
    if torch.compiler.is_compiling():
        return _traced_log_likelihood(*_loose(c), labels)  # type: ignore[no-any-return]
    chosen = backend(c)
    if chosen is batched:
        return batched.log_likelihood(c, labels)
    return _Value.apply(chosen, c, labels, *c.scores)  # type: ignore[no-any-return, no-untyped-call]


def marginals(c: TensorChain) -> Tensor:
    """Compute P(y_n = j) ``[N, L]``; with gradients, in plain PyTorch."""
    if c.needs_gradient:
        return batched.marginals(c)
    return _traced_marginals(*_loose(c)) if torch.compiler.is_compiling() else _marginals(c)


def viterbi(c: TensorChain) -> tuple[Tensor, Tensor]:
    """Find the best labelling: labels ``[N]`` and scores ``[B]``."""
    return _traced_viterbi(*_loose(c.detach())) if torch.compiler.is_compiling() else _viterbi(c)


def _marginals(c: TensorChain) -> Tensor:
    return backend(c).marginals(c)  # type: ignore[no-any-return]


def _viterbi(c: TensorChain) -> tuple[Tensor, Tensor]:
    return backend(c).viterbi(c)  # type: ignore[no-any-return]


def _plain_value(c: TensorChain, labels: Tensor | None) -> Tensor:
    return batched.log_partition(c) if labels is None else batched.log_likelihood(c, labels)


class _Value(torch.autograd.Function):
    """log Z ``[B]``, or with labels log p(labels), by a backend that autograd does not look into.

    The gradient of log Z is how often each score is used on average; that of log p(labels) is how often the labels use
    each score less how often it is used on average.
    """

    @staticmethod
    def forward(ctx: Any, chosen: ModuleType, c: TensorChain, labels: Tensor | None, *scores: Tensor) -> Tensor:
        ctx.chain = c
        ctx.save_for_backward(labels, *scores)
        value: Tensor
        value, ctx.gradients = chosen.evaluate(c, labels, any(ctx.needs_input_grad))
        return value

    @staticmethod
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        labels, *scores = ctx.saved_tensors
        if torch.is_grad_enabled():
            value = _plain_value(ctx.chain.with_scores(*scores), labels)
            return None, None, None, *_recorded(value, scores, weights)
        if transforming(weights):  # several backward passes at once, by vmap
            return None, None, None, *batched.gradients(ctx.chain, labels, weights)
        return None, None, None, *ctx.gradients(weights)


def _recorded(value: Tensor, scores: Sequence[Tensor], weights: Tensor) -> tuple[Tensor | None, ...]:
    """Return gradients that can be differentiated again, None for scores that want none."""
    wanted = [part for part in scores if part.requires_grad]
    slopes = iter(torch.autograd.grad(value, wanted, weights, create_graph=True, allow_unused=True))
    return tuple(next(slopes) if part.requires_grad else None for part in scores)


def _value(c: TensorChain, labels: Tensor | None = None) -> Tensor:
    """Compute log Z, or with labels log p(labels), ``[B]``, without gradients."""
    chosen = backend(c)
    if chosen is batched:
        return _plain_value(c, labels)
    return chosen.evaluate(c, labels, False)[0]  # type: ignore[no-any-return]


# What a traced graph sees. A chain goes in as loose tensors, in this order.
CHAIN = "Tensor emissions, Tensor first, Tensor lengths, SymInt longest, Tensor transitions, Tensor start, Tensor end"
SCORES = (0, 4, 5, 6)  # emissions, transitions, start and end among them
SIZE = 7


def _loose(c: TensorChain) -> tuple[Any, ...]:
    return c.emissions, c.first, c.lengths, c.longest, c.transitions, c.start, c.end


def _operator(name: str, more: str, returns: str, answer: Callable[..., Any]) -> Any:
    """Make an operator of a function of a chain and of `more`."""

    def run(*arguments: Any) -> Any:
        return answer(TensorChain(*arguments[:SIZE]), *arguments[SIZE:])

    schema = f"({CHAIN}{more}) -> {returns}"
    return torch.library.custom_op(f"tagline::{name}", run, mutates_args=(), schema=schema)


def _gradients(c: TensorChain, labels: Tensor | None, weights: Tensor) -> tuple[Tensor, ...]:
    """Compute the gradients of Σ_b weights[b]·log Z_b, or with labels of Σ_b weights[b]·log p(labels of b)."""
    chosen = backend(c)
    if chosen is batched:
        slopes = batched.gradients(c, labels, weights)
    else:
        slopes = chosen.evaluate(c, labels, True)[1](weights)
    by_label, *others = slopes
    # A backend may hand out parts of one tensor, an operator must not.
    return by_label.contiguous(), *(part.clone(memory_format=torch.contiguous_format) for part in others)


_traced_log_partition = _operator("log_partition", "", "Tensor", _value)
_traced_log_likelihood = _operator("log_likelihood", ", Tensor labels", "Tensor", _value)
_traced_marginals = _operator("marginals", "", "Tensor", _marginals)
_traced_viterbi = _operator("viterbi", "", "(Tensor, Tensor)", _viterbi)
_traced_gradients = _operator(
    "gradients", ", Tensor? labels, Tensor weights", "(Tensor, Tensor, Tensor, Tensor)", _gradients
)


def _one_a_sentence(emissions: Tensor, first: Tensor, *_: Any) -> Tensor:
    return emissions.new_empty(first.shape[0], dtype=wide(emissions.device))


_traced_log_partition.register_fake(_one_a_sentence)
_traced_log_likelihood.register_fake(_one_a_sentence)
_traced_marginals.register_fake(lambda emissions, *_: torch.empty_like(emissions))


@_traced_viterbi.register_fake  # type: ignore[untyped-decorator]
def _(emissions: Tensor, first: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return first.new_empty(emissions.shape[0]), _one_a_sentence(emissions, first)


@_traced_gradients.register_fake  # type: ignore[untyped-decorator]
def _(*arguments: Any) -> tuple[Tensor, ...]:
    return tuple(torch.empty_like(arguments[place], memory_format=torch.contiguous_format) for place in SCORES)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.longest = inputs[3]
    ctx.save_for_backward(*inputs[:3], *inputs[4:])


def _traced_backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
    emissions, first, lengths, transitions, start, end, *labels = ctx.saved_tensors
    chain = (emissions, first, lengths, ctx.longest, transitions, start, end)
    by_label, *others = _traced_gradients(*chain, labels[0] if labels else None, weights)
    return by_label, None, None, None, *others, *(None for _ in labels)


_traced_log_partition.register_autograd(_traced_backward, setup_context=_keep)
_traced_log_likelihood.register_autograd(_traced_backward, setup_context=_keep)
