"""Losses against the enumeration of all labellings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tagline import InputError  # noqa: E402
from tagline.nn import CRF, losses  # noqa: E402
from tests.chain.enumeration import AllPaths, enumerate_chain  # noqa: E402
from tests.chain.golden import GOLDEN, assert_golden  # noqa: E402

from .batches import chain_of, compact, make_mask, poisoned  # noqa: E402

B, T, L = 3, 4, 3
RULES = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], np.bool_)


class Problem:
    """A batch with gaps, its labellings one by one, and a gold labelling that is legal."""

    def __init__(self, constrained: bool, kind: str = "gaps") -> None:
        torch.manual_seed(11)
        self.crf = CRF(L, constraints=RULES if constrained else None).double()
        self.mask = make_mask(kind, B, T)
        scores = 2 * torch.randn(B, T, L, dtype=torch.float64)
        self.emissions = poisoned(scores, self.mask)
        self.tags = torch.where(self.mask, torch.randint(0, 2, (B, T)), -100)
        self.chain = chain_of(self.crf, scores, self.mask)
        self.paths: list[AllPaths] = enumerate_chain(self.chain)
        self.gold = self.chain.split(compact(self.tags, self.mask))

    def loss(self, objective: Any) -> Any:
        return self.crf.loss(self.emissions, self.tags, self.mask, reduction="none", objective=objective)

    def check(self, objective: Any, expected: list[float]) -> None:
        np.testing.assert_allclose(self.loss(objective).detach(), expected, rtol=1e-10, atol=1e-10)
        self.check_gradients(objective)

    def check_gradients(self, objective: Any) -> None:
        """Finite differences of the parameters, and no NaN at forbidden ones."""
        parameter = self.crf.transitions
        (found,) = torch.autograd.grad(self.loss(objective).sum(), parameter)
        assert torch.isfinite(found).all()
        for i, j in ((0, 0), (1, 0), (1, 1), (0, 2)):
            step = 1e-6
            values = []
            for sign in (1, -1):
                with torch.no_grad():
                    parameter[i, j] += sign * step
                    values.append(self.loss(objective).sum().item())
                    parameter[i, j] -= sign * step
            assert abs((values[0] - values[1]) / (2 * step) - found[i, j].item()) < 1e-6


@pytest.fixture(params=[False, True], ids=["free", "constrained"])
def problem(request: pytest.FixtureRequest) -> Problem:
    return Problem(request.param)


def legal_scores(paths: AllPaths) -> Any:
    return paths.scores[paths.scores > -np.inf]


def wrong(paths: AllPaths, gold: Any) -> Any:
    return (paths.paths != gold).sum(1)


def test_nll(problem: Problem) -> None:
    problem.check(losses.nll, [p.log_z - p.score(y) for p, y in zip(problem.paths, problem.gold, strict=True)])


def test_label_smoothing(problem: Problem) -> None:
    expected = [
        p.log_z - 0.8 * p.score(y) - 0.2 * float(legal_scores(p).mean())
        for p, y in zip(problem.paths, problem.gold, strict=True)
    ]
    problem.check(losses.LabelSmoothing(0.2), expected)


def test_token_smoothing(problem: Problem) -> None:
    expected = []
    for p, y in zip(problem.paths, problem.gold, strict=True):
        gaps = np.log(np.exp(p.emissions).sum(1)) - p.emissions.mean(1)
        expected.append(0.7 * (p.log_z - p.score(y)) + 0.3 * float(gaps.sum()))
    problem.check(losses.TokenSmoothing(0.3), expected)


def test_golden_label_smoothing() -> None:
    ref = GOLDEN["reference_003_label_smoothing"]
    inputs = ref["inputs"]
    crf = CRF(3).double()
    names = {"transitions": "transitions[from][to]", "start_transitions": "start", "end_transitions": "end"}
    crf.load_state_dict({name: torch.tensor(inputs[key], dtype=torch.float64) for name, key in names.items()})
    emissions = torch.tensor([inputs["emissions"]], dtype=torch.float64)
    tags, smoothing = torch.tensor([inputs["gold"]]), losses.LabelSmoothing(inputs["epsilon"])
    assert_golden(crf.loss(emissions, tags).item(), ref["nll"])
    assert_golden(crf.log_partition(emissions).item(), ref["log_Z"])
    key = "closed_form logZ-(1-eps)s(y)-eps*mean_score"
    assert_golden(crf.loss(emissions, tags, objective=smoothing).item(), ref[key])
    shifted = crf.loss(emissions + 1000, tags, objective=smoothing).item()
    assert abs(shifted - ref["sequence_level_bruteforce"]) < 1e-9
    assert shifted > ref["lower_bound_entropy_of_q"]
    tokens = crf.loss(emissions, tags, objective=losses.TokenSmoothing(1.0)).item()
    assert_golden(tokens, ref["token_level_uniform_CE_sum (alternative: mean_k -log softmax_k)"])


def test_padding_has_no_part_in_smoothing() -> None:
    crf, emissions = CRF(3), torch.randn(1, 4, 3)
    tags = torch.tensor([[0, 1, -100, -100]])
    for objective in (losses.LabelSmoothing(), losses.TokenSmoothing()):
        before = crf.loss(emissions, tags, objective=objective)
        emissions[0, 2:] += 50
        torch.testing.assert_close(crf.loss(emissions, tags, objective=objective), before)


def test_hinge(problem: Problem) -> None:
    expected = [
        float((p.scores + 1.5 * wrong(p, y)).max()) - p.score(y)
        for p, y in zip(problem.paths, problem.gold, strict=True)
    ]
    problem.check(losses.Hinge(1.5), expected)


def test_softmax_margin(problem: Problem) -> None:
    expected = [
        float(np.logaddexp.reduce(p.scores + 1.5 * wrong(p, y))) - p.score(y)
        for p, y in zip(problem.paths, problem.gold, strict=True)
    ]
    problem.check(losses.SoftmaxMargin(1.5), expected)


@pytest.mark.parametrize("gamma", [0.0, 1.0, 2.0])
def test_focal(problem: Problem, gamma: float) -> None:
    expected = []
    for p, y in zip(problem.paths, problem.gold, strict=True):
        chosen = p.nodes[np.arange(p.length), y]
        expected.append(float(-((1 - chosen) ** gamma * np.log(chosen)).sum()))
    problem.check(losses.Focal(gamma), expected)


def test_class_weights(problem: Problem) -> None:
    weights = np.array([0.5, 2.0, 3.0])
    expected = []
    for p, y in zip(problem.paths, problem.gold, strict=True):
        total = 0.0
        for t in range(p.length):  # log p(y_t | all after it), by enumeration
            after = [{int(label)} for label in y[t + 1 :]]
            both = p.probability(t, [{int(y[t])}, *after])
            total -= weights[y[t]] * math.log(both / (p.probability(t + 1, after) if after else 1.0))
        expected.append(total)
    problem.check(losses.ClassWeights(torch.tensor(weights)), expected)
    torch.testing.assert_close(problem.loss(losses.ClassWeights(torch.ones(L))), problem.loss(losses.nll))
    with pytest.raises(InputError, match=r"^weights: "):
        problem.loss(losses.ClassWeights(torch.ones(L + 1)))


def test_entropy_weight(problem: Problem) -> None:
    expected = [p.log_z - p.score(y) - 0.3 * p.entropy for p, y in zip(problem.paths, problem.gold, strict=True)]
    problem.check(losses.EntropyWeight(-0.3), expected)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_distillation(problem: Problem, temperature: float) -> None:
    teacher = CRF(L, constraints=RULES).double()
    scores = torch.randn(B, T, L, dtype=torch.float64)
    chain = chain_of(teacher, scores, problem.mask)
    expected = []
    for p, q in zip(problem.paths, enumerate_chain(chain), strict=True):
        ours, theirs = p.scores / temperature, q.scores / temperature
        ours, theirs = ours - np.logaddexp.reduce(ours), theirs - np.logaddexp.reduce(theirs)
        some = theirs > -np.inf
        expected.append(
            temperature**2 * float((np.exp(theirs) * np.where(some, theirs - np.where(some, ours, 0), 0)).sum())
        )
    given = teacher.chain(poisoned(scores, problem.mask), problem.mask)
    problem.check(losses.Distillation(given, temperature), expected)
    alone = problem.crf.loss(
        problem.emissions, None, problem.mask, reduction="none", objective=losses.Distillation(given, temperature)
    )
    np.testing.assert_allclose(alone.detach(), expected, atol=1e-10)
    with pytest.raises(InputError, match=r"^teacher: "):
        problem.loss(losses.Distillation(teacher.chain(scores[:, :2])))


def test_a_student_like_its_teacher_has_nothing_to_learn(problem: Problem) -> None:
    given = problem.crf.chain(problem.emissions, problem.mask)
    np.testing.assert_allclose(problem.loss(losses.Distillation(given)).detach(), 0, atol=1e-12)


OBJECTIVES = [
    losses.nll,
    losses.LabelSmoothing(0.1),
    losses.TokenSmoothing(0.1),
    losses.Hinge(),
    losses.SoftmaxMargin(),
    losses.Focal(),
    losses.ClassWeights(torch.ones(L)),
    losses.EntropyWeight(0.1),
]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: type(objective).__name__)
@pytest.mark.parametrize("kind", ["nothing", "empty row"])
def test_empty_sentences_cost_nothing(objective: Any, kind: str) -> None:
    problem = Problem(True, kind)
    found = problem.loss(objective)
    assert (found[~problem.mask.any(1)] == 0).all()
    found.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in problem.crf.parameters())


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: type(objective).__name__)
def test_second_derivatives_are_numbers(objective: Any) -> None:
    problem = Problem(True)
    first = torch.autograd.grad(problem.loss(objective).sum(), problem.crf.transitions, create_graph=True)[0]
    if first.requires_grad:
        (second,) = torch.autograd.grad((first * first).sum(), problem.crf.transitions, materialize_grads=True)
        assert torch.isfinite(second).all()


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: type(objective).__name__)
def test_a_label_that_nothing_leads_to(objective: Any) -> None:
    """Its column has no weight at all: neither NaN nor a gradient."""
    crf = CRF(L, constraints=np.array([[1, 1, 0], [1, 1, 0], [1, 1, 0]], np.bool_)).double()
    allowed = torch.ones(1, 4, L, dtype=torch.bool)
    allowed[0, 0, 2] = False
    emissions = torch.randn(1, 4, L, dtype=torch.float64, requires_grad=True)
    value = crf.loss(emissions, torch.tensor([[0, 1, 1, 0]]), objective=objective, allowed=allowed)
    assert torch.isfinite(value)
    value.backward()
    for part in (emissions, *crf.parameters()):
        assert torch.isfinite(part.grad).all()
    assert (crf.transitions.grad[:, 2] == 0).all()


def test_sets_of_labels_are_for_nll() -> None:
    problem = Problem(False)
    sets = torch.ones(B, T, L, dtype=torch.bool)
    for objective in OBJECTIVES[3:7]:
        with pytest.raises(InputError, match=r"^\w+: .*\bnll$"):
            problem.crf.loss(problem.emissions, sets, problem.mask, objective=objective)
