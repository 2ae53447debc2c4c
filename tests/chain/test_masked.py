"""Padded batches that the kernels read as they lie, against plain PyTorch on the same tokens packed into rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
tl = pytest.importorskip("triton.language")

from torch._dynamo.backends.debugging import aot_eager  # noqa: E402

from tagline.chain.tensors import TensorChain, batched, masked, recipes  # noqa: E402
from tagline.chain.tensors.kernels import sweeps  # noqa: E402
from tagline.chain.tensors.kernels.launches import Layout  # noqa: E402
from tagline.chain.tensors.masked import ALL, BY_LENGTHS, BY_MASK, PaddedBatch  # noqa: E402

from .tensor_cases import SLOW_HERE, Engine, host, load  # noqa: E402


@pytest.fixture
def fused() -> tuple[Engine, Any]:
    return load("fused")


@pytest.fixture
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sentences of 10 rows are long, chunks are of 8 steps."""
    for name, value in (("LONG", 10), ("LONG_BEST", 10), ("STEPS", 8), ("STEPS_BEST", 8)):
        monkeypatch.setattr(recipes, name, value)
    recipes.forget()
    yield
    recipes.forget()


class Case:
    """A padded batch with NaN where tokens do not count, and the same tokens as a chain in float64."""

    def __init__(self, device: Any, by: int, L: int = 3, T: int = 4, ignored: bool = False, **options: Any) -> None:
        rng = np.random.default_rng(L + T + by)
        B = 4
        on = rng.random((B, T)) < 0.7
        if by == BY_LENGTHS:
            on = np.arange(T) < np.array([T, 0, 1, T // 2])[:, None]
        elif by == ALL:
            on[:] = True
        else:
            on[0], on[1] = True, False
        tags = rng.integers(0, L, (B, T))
        counts = {
            ALL: None,
            BY_MASK: torch.tensor(on, device=device),
            BY_LENGTHS: torch.tensor(on.sum(1), device=device),
        }
        self.on = on & (tags != 0) if ignored else on
        self.tags = torch.tensor(np.where(on, tags, -7), device=device)
        scale = options.get("scale", 2.0)
        emissions = rng.normal(0, scale, (B, T, L)).astype(np.float32)
        transitions = rng.normal(0, options.get("spread", 2.0), (L, L)).astype(np.float32)
        if options.get("forbidden"):
            transitions[:, 0] = -np.inf
            self.tags = torch.where(self.tags == 0, 1, self.tags)
        arrays = (np.where(self.on[:, :, None], emissions, np.nan), transitions, *rng.normal(0, 2, (2, L)))
        scores = [torch.tensor(part, dtype=torch.float32, device=device, requires_grad=True) for part in arrays]
        self.batch = PaddedBatch(*scores, by, counts[by], 0 if ignored else None)

    def chain(self) -> tuple[TensorChain, Any]:
        e, *others = (part.detach().double().cpu() for part in self.batch.scores)
        lengths = torch.tensor(self.on.sum(1))
        rows = e[torch.tensor(self.on)].requires_grad_()
        others = [part.requires_grad_() for part in others]
        chain = TensorChain(rows, lengths.cumsum(0) - lengths, lengths, int(lengths.max()), *others)
        return chain, self.tags.cpu()[torch.tensor(self.on)]

    def expected(self, reduction: str, weights: Any) -> tuple[Any, list[Any]]:
        chain, labels = self.chain()
        value = -batched.log_likelihood(chain, labels)
        divisor = {"mean": len(self.on), "token_mean": max(1, int(self.on.sum()))}.get(reduction, 1)
        value = value.sum() / divisor
        slopes = torch.autograd.grad(value, chain.scores, weights.double().cpu())
        nodes = torch.zeros(*self.on.shape, slopes[0].shape[1], dtype=torch.float64)
        nodes[torch.tensor(self.on)] = slopes[0]
        return value, [nodes, *slopes[1:]]


def never(*_: Any) -> Any:
    raise AssertionError("the kernels answer")


def check(case: Case, reduction: str) -> None:
    found = masked.loss(case.batch, case.tags, reduction, never)
    with torch.no_grad():
        assert torch.equal(masked.loss(case.batch, case.tags, reduction, never), found)
    weights = torch.tensor(0.75, device=found.device)  # the gradient of the loss, a scalar
    value, slopes = case.expected(reduction, weights)
    np.testing.assert_allclose(host(found), host(value), rtol=2e-6, atol=2e-6)
    for _ in range(2):  # the second backward pass finds what the first has left
        gradients = torch.autograd.grad(found, case.batch.scores, weights, retain_graph=True)
        for one, other in zip(gradients, slopes, strict=True):
            np.testing.assert_allclose(host(one), host(other), rtol=1e-6, atol=3e-6)


@pytest.mark.parametrize(("by", "reduction"), [(ALL, "mean"), (BY_MASK, "token_mean"), (BY_LENGTHS, "sum")])
def test_loss(fused: Any, by: int, reduction: str) -> None:
    check(Case(fused[1], by), reduction)


@pytest.mark.parametrize("by", [ALL, BY_MASK])
def test_tokens_with_the_tag_that_is_ignored_do_not_count(fused: Any, by: int) -> None:
    check(Case(fused[1], by, ignored=True), "token_mean")


AWKWARD = ({"scale": 60.0}, {"forbidden": True}, {"T": 1}, {"L": 1}, {"L": 20}, {"T": 30, "spread": 4.0}, {"T": 31})


@pytest.mark.parametrize("options", AWKWARD)
def test_loss_of_awkward_scores(fused: Any, options: Any) -> None:
    check(Case(fused[1], BY_MASK, **options), "mean")


def test_tags_of_another_type_have_a_recipe_of_their_own(fused: Any) -> None:
    """What was prepared for int64 would read two small tags as one."""
    case = Case(fused[1], BY_MASK)
    wanted = [masked.loss(case.batch, case.tags, "mean", never) for _ in range(2)]
    for tags in (case.tags.int(), case.tags.to(torch.int16)):
        assert torch.equal(masked.loss(case.batch, tags, "mean", never), wanted[1])


@pytest.mark.usefixtures("short_chunks")
@pytest.mark.parametrize("T", [20, pytest.param(50, marks=SLOW_HERE)], ids=["3 chunks", "7 chunks"])
def test_loss_in_chunks(fused: Any, T: int) -> None:
    check(Case(fused[1], BY_MASK, T=T), "sum")


@pytest.mark.parametrize(
    ("byte", "options"),
    [(0x7F, {}), (0xFF, {}), (0xFF, {"L": 66}), pytest.param(0x7F, {"L": 66}, marks=SLOW_HERE)],
    ids=["3e38, few labels", "nan, few labels", "nan, many labels", "3e38, many labels"],
)
def test_what_lay_in_memory_before_does_not_matter(
    fused: Any, monkeypatch: pytest.MonkeyPatch, byte: int, options: Any
) -> None:
    """Rows of no sentence are never written: what is found there, a huge number or NaN, must reach no gradient."""
    case = Case(fused[1], BY_MASK, **options)

    def answer(fill: int) -> list[Any]:
        def allocate(layout: Layout, device: Any) -> Any:
            return torch.full((layout.size,), fill, dtype=torch.uint8, device=device)

        monkeypatch.setattr(Layout, "allocate", allocate)
        loss = masked.loss(case.batch, case.tags, "sum", never)
        return [loss, *torch.autograd.grad(loss, case.batch.scores)]

    for found, wanted in zip(answer(byte), answer(0), strict=True):
        assert torch.equal(found, wanted)


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few sentences are many: several a program, sorted two by two where they are sorted."""
    ways = {labels: (first._replace(crowd=0),) for labels, (first, *_) in recipes.FREE.items()}
    monkeypatch.setattr(recipes, "FREE", ways)
    monkeypatch.setattr(recipes, "TURNS", 2)
    recipes.forget()
    yield
    recipes.forget()


CROWDS = ({"T": 9}, {"scale": 60.0}, {"forbidden": True}, {"T": 1}, {"spread": 4.0}, {"L": 40}, {"L": 70, "T": 3})


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize("options", CROWDS)
def test_loss_of_a_crowd(fused: Any, options: Any) -> None:
    check(Case(fused[1], BY_MASK, **{"L": 20, **options}), "mean")


@pytest.mark.usefixtures("crowd")
@pytest.mark.skipif(torch.cuda.is_available(), reason="kernels that are compiled keep their order")
@pytest.mark.parametrize("L", [3, 20, 70])
def test_axes_in_the_order_of_another_triton(fused: Any, monkeypatch: pytest.MonkeyPatch, L: int) -> None:
    monkeypatch.setattr(sweeps, "FROM_FIRST", tl.constexpr(not sweeps.FROM_FIRST.value))
    check(Case(fused[1], BY_MASK, L=L, T=5), "mean")


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize("L", [16, 32, 64, pytest.param(128, marks=SLOW_HERE)])
def test_sums_that_grow_by_the_number_of_labels(fused: Any, L: int) -> None:
    """As at the beginning of training, when all scores are alike."""
    case = Case(fused[1], ALL, L=L, T=16, scale=0.0, spread=0.0)
    check(case, "mean")


@pytest.mark.parametrize("options", [{}, {"scale": 60.0}])
def test_loss_whose_gradients_are_made_backwards(fused: Any, monkeypatch: pytest.MonkeyPatch, options: Any) -> None:
    """As where a CUDA graph is captured."""
    monkeypatch.setattr(masked, "_captured", lambda values: True)
    check(Case(fused[1], BY_MASK, **options), "mean")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_loss_in_a_cuda_graph(fused: Any) -> None:
    case = Case(fused[1], BY_MASK, L=9, T=40)

    def step() -> Any:
        value = masked.loss(case.batch, case.tags, "mean", never)
        return value, *torch.autograd.grad(3 * value, case.batch.scores)

    torch.cuda.synchronize()
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        expected = step()
        with torch.cuda.graph(graph, stream=side):
            found = step()
        graph.replay()
    torch.cuda.synchronize()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(host(one), host(other), rtol=1e-6, atol=3e-6)


def check_best(case: Case) -> None:
    tags, scores = masked.best(case.batch, -1)
    chain, _ = case.chain()
    labels, best = batched.viterbi(chain.detach())
    expected = np.full(case.on.shape, -1)
    expected[case.on] = host(labels)
    np.testing.assert_array_equal(host(tags), expected)
    np.testing.assert_allclose(host(scores), host(best), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("by", "options"),
    [
        (ALL, {}),
        (BY_MASK, {}),
        (BY_LENGTHS, {}),
        (BY_MASK, {"T": 1}),
        (BY_MASK, {"L": 40}),
        (BY_MASK, {"forbidden": 1}),
    ],
)
def test_best_tags(fused: Any, by: int, options: Any) -> None:
    check_best(Case(fused[1], by, **options))


@pytest.mark.usefixtures("short_chunks")
def test_best_tags_in_chunks(fused: Any) -> None:
    check_best(Case(fused[1], BY_MASK, T=20))


def test_best_of_more_labels_than_registers_hold(fused: Any) -> None:
    check_best(Case(fused[1], BY_MASK, L=140, T=3))


@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")  # PyTorch's own
def test_traced(fused: Any) -> None:
    """In a graph of `torch.compile` the loss is one operator with the same numbers, and so are the best tags."""
    case = Case(fused[1], BY_MASK, L=3, T=4)
    seen: list[str] = []

    def backend(graph: Any, inputs: Any) -> Any:
        seen.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return aot_eager(graph, inputs)

    def answers(*scores: Any) -> Any:
        batch = replace(case.batch, emissions=scores[0], transitions=scores[1], start=scores[2], end=scores[3])
        return masked.loss(batch, case.tags, "mean", never), *masked.best(batch, -1)

    torch._dynamo.reset()
    found = torch.compile(answers, backend=backend, fullgraph=True)(*case.batch.scores)
    expected = answers(*case.batch.scores)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    gradients, wanted = (torch.autograd.grad(values[0], case.batch.scores) for values in (found, expected))
    torch.testing.assert_close(gradients, wanted, rtol=0, atol=0)
    assert [name for name in seen if "tagline" in name] == [
        "tagline.padded_loss.default",
        "tagline.padded_best.default",
    ]
