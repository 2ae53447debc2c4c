"""Every loss on every road, with emissions, transitions and ends of −∞: values and gradients by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.func import functional_call, grad, vmap  # noqa: E402

from tagline import NoPathError  # noqa: E402
from tagline.nn import CRF, losses, using_tensor_engine  # noqa: E402
from tagline.nn.heads import CRFHead  # noqa: E402

from .engines import engine, name_of, objectives  # noqa: E402, F401

B, T, L = 3, 3, 3
LENGTHS = [3, 2, 3]
NEVER = -float("inf")
Road = Callable[["Case", Any], tuple[Any, Any]]
Scores = tuple[Any, Any, Any, Any]  # emissions of a sentence, transitions, start, end


class Enumerated:
    """The legal labellings of a sentence with their scores, and its gold labelling."""

    def __init__(self, scores: Scores, labels: list[int]) -> None:
        emissions, transitions, start, end = self.parts = scores
        self.labels = labels
        self.paths, terms = [], []
        for path in itertools.product(range(L), repeat=len(labels)):
            used = [start[path[0]], end[path[-1]], *(emissions[t, label] for t, label in enumerate(path))]
            used += [transitions[pair] for pair in itertools.pairwise(path)]
            if all(part > NEVER for part in used):
                self.paths.append(list(path))
                terms.append(sum(used[1:], used[0]))
        self.scores = torch.stack(terms)
        self.log_z = self.scores.logsumexp(0)

    def log_share(self, legal: Callable[[list[int]], bool]) -> Any:
        return self.scores[[n for n, path in enumerate(self.paths) if legal(path)]].logsumexp(0) - self.log_z

    def loss(self, objective: Any) -> Any:
        y = self.labels
        gold = self.scores[self.paths.index(y)]
        wrong = torch.tensor([sum(a != b for a, b in zip(path, y, strict=True)) for path in self.paths])
        nll = self.log_z - gold
        match objective:
            case losses.LabelSmoothing(epsilon):
                return self.log_z - (1 - epsilon) * gold - epsilon * self.scores.mean()
            case losses.TokenSmoothing(epsilon):
                rows = [row[row > NEVER] for row in self.parts[0]]
                return (1 - epsilon) * nll + epsilon * sum(row.logsumexp(0) - row.mean() for row in rows)
            case losses.Hinge(cost):
                return (self.scores + cost * wrong).max() - gold
            case losses.SoftmaxMargin(cost):
                return (self.scores + cost * wrong).logsumexp(0) - gold
            case losses.Focal(gamma):
                logs = [self.log_share(lambda path, t=t: path[t] == y[t]) for t in range(len(y))]  # type: ignore[misc]
                return -sum((-torch.expm1(log)) ** gamma * log for log in logs)
            case losses.ClassWeights(weights):
                tails = [self.log_share(lambda path, t=t: path[t:] == y[t:]) for t in range(len(y) + 1)]  # type: ignore[misc]
                return -sum(weights[y[t]] * (tails[t] - tails[t + 1]) for t in range(len(y)))
            case losses.EntropyWeight(weight):
                logs = self.scores - self.log_z
                return nll - weight * (logs.exp() * logs).sum()
        return nll


class Case:
    """A layer and a batch with scores of −∞, but for the gold labellings, and what enumeration says of each loss."""

    def __init__(self, forbidden: str, dtype: Any) -> None:
        torch.manual_seed(5)
        self.crf = CRF(L).to(dtype)
        self.emissions = torch.randn(B, T, L, dtype=dtype)
        self.tags = torch.tensor([[0, 1, 0], [2, 1, 0], [1, 1, 2]])
        self.lengths = torch.tensor(LENGTHS)
        if forbidden in ("emissions", "both"):
            for place in ((0, 0, 2), (0, 1, 0), (1, 0, 1), (1, 1, 2), (2, 2, 0), (2, 2, 1)):
                self.emissions[place] = NEVER
        if forbidden in ("transitions", "both"):
            with torch.no_grad():
                self.crf.transitions[0, 2] = self.crf.transitions[2, 2] = self.crf.end_transitions[1] = NEVER
                self.tags[1] = torch.tensor([2, 0, 0])
        self.parts = [self.emissions, *self.crf.scores(dtype)]

    def expected(self, objective: Any) -> tuple[Any, Any]:
        """The losses of the sentences, and the gradients of their sum."""
        leaves = [part.detach().double().requires_grad_() for part in self.parts]
        emissions, *others = leaves
        rows = zip(emissions, self.tags.tolist(), LENGTHS, strict=True)
        values = torch.stack([Enumerated((row[:n], *others), tags[:n]).loss(objective) for row, tags, n in rows])
        slopes = torch.autograd.grad(values.sum(), leaves, materialize_grads=True)
        return values.detach(), [
            torch.where(torch.isneginf(leaf), 0.0, s) for leaf, s in zip(leaves, slopes, strict=True)
        ]


def weights_of(crf: CRF) -> dict[str, Any]:
    return {name: getattr(crf, name) for name in ("transitions", "start_transitions", "end_transitions")}


def eager(case: Case, objective: Any) -> tuple[Any, Any]:
    emissions = case.emissions.clone().requires_grad_()
    values = case.crf.loss(emissions, case.tags, lengths=case.lengths, reduction="none", objective=objective)
    return values, torch.autograd.grad(values.sum(), [emissions, *weights_of(case.crf).values()])


def compiled(case: Case, objective: Any) -> tuple[Any, Any]:
    emissions = case.emissions.clone().requires_grad_()

    def loss(emissions: Any) -> Any:
        return case.crf.loss(emissions, case.tags, lengths=case.lengths, reduction="none", objective=objective)

    values = torch.compile(loss, backend="aot_eager", fullgraph=True)(emissions)
    return values, torch.autograd.grad(values.sum(), [emissions, *weights_of(case.crf).values()])


def transformed(case: Case, objective: Any) -> tuple[Any, Any]:
    """A sentence at a time, by vmap, the gradients by grad."""

    def loss(weights: Any, emissions: Any, tags: Any, length: Any) -> Any:
        arguments = (emissions[None], tags[None])
        options = {"lengths": length[None], "reduction": "sum", "objective": objective}
        return functional_call(_Loss(case.crf), {f"crf.{name}": w for name, w in weights.items()}, arguments, options)

    weights = {name: weight.detach() for name, weight in weights_of(case.crf).items()}
    rows = (case.emissions, case.tags, case.lengths)
    values = vmap(loss, (None, 0, 0, 0))(weights, *rows)
    by_weight, by_emission = vmap(grad(loss, (0, 1)), (None, 0, 0, 0))(weights, *rows)
    return values, [by_emission, *(by_weight[name].sum(0) for name in weights)]


class _Loss(torch.nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, crf: CRF) -> None:
        super().__init__()
        self.crf = crf

    def forward(self, *arguments: Any, **options: Any) -> Any:
        return self.crf.loss(*arguments, **options)


def recorded(case: Case, objective: Any) -> tuple[Any, Any]:
    """What CUDA graphs record, and GPUs do without `check`: nobody looks at values."""
    head = CRFHead(1, L)
    head.crf = case.crf
    emissions = case.emissions.clone().requires_grad_()
    head.__class__ = type("Head", (CRFHead,), {"_objective": property(lambda self: objective)})
    values = head.recorded_losses(emissions, case.tags, case.lengths)
    return values, torch.autograd.grad(values.sum(), [emissions, *weights_of(case.crf).values()])


OBJECTIVES = objectives([1.0, 0.5, 2.0])


def check(road: Road, case: Case, objective: Any, **tolerances: float) -> None:
    values, slopes = road(case, objective)
    expected, expected_slopes = case.expected(objective)
    torch.testing.assert_close(values.detach().double(), expected, **tolerances)
    for found, slope in zip(slopes, expected_slopes, strict=True):
        torch.testing.assert_close(found.double(), slope, **tolerances)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("objective", OBJECTIVES, ids=name_of)
@pytest.mark.parametrize("road", [eager, recorded])
def test_losses_by_enumeration(road: Road, objective: Any) -> None:
    check(road, Case("both", torch.float32), objective, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=name_of)
@pytest.mark.parametrize(
    ("road", "forbidden"),
    [(transformed, "emissions"), (transformed, "both"), (compiled, "both"), (recorded, "emissions")],
)
def test_losses_in_plain_pytorch(road: Road, forbidden: str, objective: Any) -> None:
    with using_tensor_engine("batched"):
        check(road, Case(forbidden, torch.float64), objective, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=name_of)
@pytest.mark.parametrize("where", ["emission", "transition", "start", "end"])
def test_forbidden_gold_labels_cost_infinity(engine: str, where: str, objective: Any) -> None:  # noqa: F811
    """With finite gradients where nobody looks; where values are checked, it is an error."""
    case = Case("none", torch.float32)
    if where == "emission":
        case.emissions[0, 1, 1] = NEVER
    else:
        weight, place = {
            "transition": (case.crf.transitions, (0, 1)),
            "start": (case.crf.start_transitions, (0,)),
            "end": (case.crf.end_transitions, (0,)),
        }[where]
        case.tags[1:] = torch.tensor([[2, 2, 2], [1, 2, 2]])
        with torch.no_grad():
            weight[place] = NEVER
    case.crf.check = True
    with pytest.raises(NoPathError, match=r"^labels of sentence 0: "):
        case.crf.loss(case.emissions, case.tags, lengths=case.lengths, objective=objective)
    if engine != "native":  # the core always looks
        values, slopes = recorded(case, objective)
        assert torch.isposinf(values).tolist() == [True, False, False]
        assert all(torch.isfinite(slope).all() for slope in slopes)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("objective", OBJECTIVES, ids=name_of)
def test_an_empty_batch_costs_nothing(objective: Any) -> None:
    for reduction in ("mean", "sum", "token_mean"):
        emissions = torch.zeros(0, T, L, requires_grad=True)
        loss = CRF(L).loss(emissions, torch.zeros(0, T, dtype=torch.int64), reduction=reduction, objective=objective)
        assert loss == 0
        torch.autograd.backward(loss)
