"""The layer under torch.func, on every backend: against loops, autograd and finite differences."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.autograd import forward_ad  # noqa: E402
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vmap  # noqa: E402

from tagline import InputError  # noqa: E402
from tagline.nn import CRF  # noqa: E402

from .engines import engine, name_of, objectives  # noqa: E402, F401

G, B, T, L = 3, 2, 4, 3  # G batches side by side

pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.filterwarnings(
        "ignore:.torch.jit.script. is deprecated:DeprecationWarning"
    ),  # PyTorch's own forward mode
]

TOLERANCES: dict[Any, dict[str, float]] = {
    torch.float64: {"rtol": 1e-10, "atol": 1e-10},
    torch.float32: {"rtol": 1e-5, "atol": 1e-5},
}


class Batches:
    """A layer, batches ``[G, B, T, …]`` with masks that have gaps, and legal tags."""

    def __init__(self, dtype: Any = torch.float64) -> None:
        torch.manual_seed(4)
        follow = torch.ones(L, L, dtype=torch.bool)
        follow[0, 2] = False
        self.crf = CRF(L, constraints=follow).to(dtype)
        self.emissions = torch.randn(G, B, T, L, dtype=dtype)
        self.masks = torch.rand(G, B, T) < 0.7
        self.masks[0] = torch.tensor([[True, False, True, True], [True, True, True, False]])
        self.tags = torch.randint(0, 2, (G, B, T))


@pytest.fixture(params=TOLERANCES, ids=str)
def batches(request: pytest.FixtureRequest) -> Batches:
    return Batches(request.param)


def close(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual.detach(), expected.detach(), **TOLERANCES[expected.dtype])


def jacobian_by_loop(function: Any, values: Any) -> Any:
    """One backward pass for each number of the result."""
    values = values.clone().requires_grad_()
    result = function(values)
    rows = [torch.autograd.grad(number, values, retain_graph=True)[0] for number in result.flatten()]
    return torch.stack(rows).reshape(*result.shape, *values.shape)


OBJECTIVES = objectives([1.0, 0.5, 2.0])


@pytest.mark.parametrize("transform", [jacrev, jacfwd], ids=["jacrev", "jacfwd"])
@pytest.mark.parametrize("masked", [True, False])
def test_jacobian_of_log_partition(batches: Batches, transform: Any, masked: bool) -> None:
    mask = batches.masks[0] if masked else None

    def log_z(emissions: Any) -> Any:
        return batches.crf.log_partition(emissions, mask)

    close(transform(log_z)(batches.emissions[0]), jacobian_by_loop(log_z, batches.emissions[0]))


@pytest.mark.parametrize("objective", OBJECTIVES, ids=name_of)
def test_jacobian_of_losses(batches: Batches, objective: Any) -> None:
    def loss(emissions: Any) -> Any:
        arguments = (batches.tags[0], batches.masks[0], "none")
        return batches.crf.loss(emissions, *arguments, objective=objective)

    close(jacrev(loss)(batches.emissions[0]), jacobian_by_loop(loss, batches.emissions[0]))


def test_vmap_of_log_partition(batches: Batches) -> None:
    expected = [batches.crf.log_partition(*pair) for pair in zip(batches.emissions, batches.masks, strict=True)]
    close(vmap(batches.crf.log_partition)(batches.emissions, batches.masks), torch.stack(expected))
    expected = [batches.crf.log_partition(scores) for scores in batches.emissions]
    close(vmap(batches.crf.log_partition)(batches.emissions), torch.stack(expected))


@pytest.mark.parametrize("objective", OBJECTIVES, ids=name_of)
def test_vmap_of_losses_and_their_gradients(batches: Batches, objective: Any) -> None:
    def loss(emissions: Any, tags: Any, mask: Any) -> Any:
        return batches.crf.loss(emissions, tags, mask, objective=objective)

    parts = (batches.emissions, batches.tags, batches.masks)
    rows = list(zip(*parts, strict=True))
    close(vmap(loss)(*parts), torch.stack([loss(*row) for row in rows]))
    expected = [jacobian_by_loop(lambda scores, row=row: loss(scores, *row[1:]), row[0]) for row in rows]
    close(vmap(grad(loss))(*parts), torch.stack(expected))


def test_vmap_of_other_answers(batches: Batches) -> None:
    crf, spans = batches.crf, [(0, 0, [0, {1, 2}]), (1, 1, [1])]
    pairs = list(zip(batches.emissions, batches.masks, strict=True))
    for answer in (crf.marginals, crf.entropy):
        close(vmap(answer)(batches.emissions, batches.masks), torch.stack([answer(*pair) for pair in pairs]))
    mask = batches.masks[0]
    found = vmap(lambda scores: crf.span_probability(scores, spans, mask))(batches.emissions)
    close(found, torch.stack([crf.span_probability(scores, spans, mask) for scores in batches.emissions]))
    decoded = vmap(lambda scores, mask: crf.decode(scores, mask, pad_tag=-1).tags)(batches.emissions, batches.masks)
    assert torch.equal(decoded, torch.stack([crf.decode(*pair, pad_tag=-1).tags for pair in pairs]))
    ranked = vmap(lambda scores, mask: crf.k_best(scores, 2, mask).tags)(batches.emissions, batches.masks)
    assert torch.equal(ranked, torch.stack([crf.k_best(scores, 2, mask).tags for scores, mask in pairs]))
    drawn = vmap(lambda scores: crf.sample(scores, 2, mask), randomness="different")(batches.emissions)
    assert ((drawn >= 0) == mask).all()
    with pytest.raises(InputError, match=r"^span_probability: "):
        vmap(lambda scores, mask: crf.span_probability(scores, spans, mask))(batches.emissions, batches.masks)
    with pytest.raises(InputError, match=r"^pad_tag: "):
        vmap(lambda scores: crf.decode(scores))(batches.emissions)


def directional(function: Any, values: Any, direction: Any, step: float = 1e-6) -> Any:
    return (function(values + step * direction) - function(values - step * direction)) / (2 * step)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=name_of)
def test_jvp_against_finite_differences(objective: Any) -> None:
    batches = Batches()
    crf, scores, tags, mask = batches.crf, batches.emissions[0], batches.tags[0], batches.masks[0]
    direction = torch.randn(B, T, L, dtype=torch.float64)
    for function in (
        lambda emissions: crf.log_partition(emissions, mask),
        lambda emissions: crf.loss(emissions, tags, mask, "none", objective=objective),
    ):
        value, slope = jvp(function, (scores,), (direction,))
        close(value, function(scores))
        torch.testing.assert_close(slope, directional(function, scores, direction), rtol=1e-6, atol=1e-6)
        with forward_ad.dual_level():
            dual = forward_ad.unpack_dual(function(forward_ad.make_dual(scores, direction)))
        close(dual.tangent, slope)


def test_parameters(batches: Batches) -> None:
    """Gradients of the layer's own scores, and several layers at once."""
    crf, row = batches.crf, (batches.emissions[0], batches.tags[0], batches.masks[0])
    own = {name: parameter.detach() for name, parameter in crf.named_parameters()}
    slopes = grad(lambda parameters: functional_call(crf, parameters, row))(own)
    crf(*row).backward()
    for name, parameter in crf.named_parameters():
        close(slopes[name], parameter.grad)
    several = {name: torch.stack([values, 2 * values]) for name, values in own.items()}
    found = vmap(lambda parameters: functional_call(crf, parameters, row))(several)
    expected = [functional_call(crf, {name: values[g] for name, values in several.items()}, row) for g in range(2)]
    close(found, torch.stack(expected))


def test_second_derivatives() -> None:
    batches = Batches()

    def loss(emissions: Any) -> Any:
        return batches.crf.loss(emissions, batches.tags[0], batches.masks[0])

    expected = torch.autograd.functional.hessian(loss, batches.emissions[0])
    close(hessian(loss)(batches.emissions[0]), expected)


def test_several_backward_passes_at_once(batches: Batches) -> None:
    """Autograd's own vmap, which the graph of a backend meets in its backward pass."""
    scores = batches.emissions[0].clone().requires_grad_()
    loss = batches.crf.loss(scores, batches.tags[0], batches.masks[0], "none")
    weights = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]], dtype=loss.dtype)
    (found,) = torch.autograd.grad(loss, scores, weights, is_grads_batched=True, retain_graph=True)
    rows = [torch.autograd.grad(loss, scores, row, retain_graph=True)[0] for row in weights]
    close(found, torch.stack(rows))
