"""Labels that are missing or forbidden, sentences without a legal labelling, teachers that do not fit: all backends."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tagline import InputError, NoPathError  # noqa: E402
from tagline.nn import CRF, checks, losses  # noqa: E402

from .engines import engine, name_of, objectives  # noqa: E402, F401

B, T, L = 3, 4, 3

pytestmark = pytest.mark.usefixtures("engine")

OBJECTIVES = objectives([1.0, 0.0, 2.0])


def batch(seed: int = 0) -> tuple[CRF, Any]:
    torch.manual_seed(seed)
    return CRF(L, check=True), torch.randn(B, T, L)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=name_of)
def test_labels_are_not_made_up(objective: Any) -> None:
    crf, emissions = batch()
    text = rf"^tags: .* {name_of(objective)} "
    with pytest.raises(InputError, match=text):
        crf.loss(emissions, None, objective=objective)


def test_objectives_that_need_no_labels() -> None:
    crf, emissions = batch()
    distillation = losses.Distillation(batch(1)[0].chain(emissions))
    alone = crf.loss(emissions, None, objective=distillation)
    assert torch.equal(alone, crf.loss(emissions, torch.ones(B, T, dtype=torch.long), objective=distillation))
    mixed = crf.loss(emissions, None, objective=losses.EntropyWeight(0.5, distillation))
    torch.testing.assert_close(mixed, alone + 0.5 * crf.entropy(emissions).mean())

    def certainty(chain: Any, labels: Any) -> Any:
        return -chain.emissions.sum() * torch.ones(B)

    with pytest.raises(InputError, match=r"^tags: .*certainty"):
        crf.loss(emissions, None, objective=certainty)
    certainty.needs_labels = False  # type: ignore[attr-defined]
    torch.testing.assert_close(crf.loss(emissions, None, objective=certainty), -emissions.sum())


def test_a_teacher_of_other_lengths() -> None:
    crf, emissions = batch()
    teacher = batch(1)[0]
    for lengths, sentence, ours, theirs in (([4, 4, 2], 2, 4, 2), ([4, 0, 2], 1, 4, 0)):
        objective = losses.Distillation(teacher.chain(emissions, lengths=torch.tensor(lengths)))
        text = rf"^teacher: .*{ours} .*sentence {sentence}.* {theirs}$"
        with pytest.raises(InputError, match=text):
            crf.loss(emissions, None, objective=objective)
        with pytest.raises(InputError, match=text):
            crf.loss(emissions, None, objective=losses.EntropyWeight(1.0, objective))
        unchecked = objective(crf.chain(emissions), torch.zeros(B * T, dtype=torch.long))
        assert torch.isnan(unchecked).tolist() == [length != T for length in lengths]
    same = torch.tensor([3, 4, 2])
    objective = losses.Distillation(teacher.chain(emissions, lengths=same))
    assert torch.isfinite(crf.loss(emissions, None, lengths=same, objective=objective))


def test_a_teacher_of_another_mask_with_gaps() -> None:
    """Where tokens are packed there is another number of rows, too."""
    crf, emissions = batch()
    mask = torch.ones(B, T, dtype=torch.bool)
    mask[1, 1] = mask[2, 2] = False
    other = mask.clone()
    other[2, 1] = False
    objective = losses.Distillation(batch(1)[0].chain(emissions, other))
    with pytest.raises(InputError, match=r"^teacher: .*sentence 2"):
        crf.loss(emissions, None, mask, objective=objective)


def test_a_teacher_of_other_labels_or_sentences() -> None:
    crf, emissions = batch()
    wide = CRF(L + 1).chain(torch.randn(B, T, L + 1))
    with pytest.raises(InputError, match=r"^teacher: "):
        crf.loss(emissions, None, objective=losses.Distillation(wide))
    short = crf.chain(emissions[:2])
    with pytest.raises(InputError, match=r"^teacher: "):
        crf.loss(emissions, None, objective=losses.Distillation(short))


def without_a_path() -> Any:
    """Labels allowed ``[B, T, L]``, none of them at one token of sentence 1."""
    allowed = torch.ones(B, T, L, dtype=torch.bool)
    allowed[1, 2] = False
    return allowed


@pytest.mark.parametrize("recorded", [True, False], ids=["with gradients", "without"])
@pytest.mark.parametrize(
    "query",
    ["log_partition", "marginals", "decode", "k_best", "sample", "entropy", "span_probability", "distillation"],
)
def test_every_query_names_the_sentence_without_a_path(query: str, recorded: bool) -> None:
    crf, emissions = batch()
    arguments: dict[str, tuple[Any, ...]] = {"k_best": (2,), "sample": (2,), "span_probability": ([(1, 0, [0])],)}
    ask = getattr(crf, query, None)
    if ask is None:
        ask = partial(crf.loss, tags=None, objective=losses.Distillation(crf.chain(emissions)))
    with torch.set_grad_enabled(recorded), pytest.raises(NoPathError, match=r"^sentence 1: "):
        ask(emissions, *arguments.get(query, ()), allowed=without_a_path())


def test_a_teacher_without_a_path() -> None:
    crf, emissions = batch()
    objective = losses.Distillation(crf.chain(emissions, allowed=without_a_path()))
    with pytest.raises(NoPathError, match=r"^teacher: sentence 1: "):
        crf.loss(emissions, None, objective=objective)
    value = objective(crf.chain(emissions), torch.zeros(B * T, dtype=torch.long))
    assert torch.isposinf(value).tolist() == [False, True, False]


def test_a_student_that_forbids_what_its_teacher_allows() -> None:
    crf, emissions = batch()
    allowed = torch.ones(B, T, L, dtype=torch.bool)
    allowed[2, 0, 1] = False
    objective = losses.Distillation(crf.chain(emissions))
    with pytest.raises(NoPathError, match=r"^sentence 2: "):
        crf.loss(emissions, None, objective=objective, allowed=allowed)


def test_a_student_may_forbid_what_its_teacher_never_reaches() -> None:
    """The teacher's label 2 is a dead end, so it does not matter that the student's 2 never follows 0."""
    torch.manual_seed(0)
    dead_end = torch.tensor([[1, 1, 1], [1, 1, 1], [0, 0, 0]], dtype=torch.bool)
    not_after_0 = torch.tensor([[1, 1, 0], [1, 1, 1], [1, 1, 1]], dtype=torch.bool)
    teacher, emissions = CRF(L, constraints=dead_end), torch.randn(1, 3, L)
    allowed = torch.ones(1, 3, L, dtype=torch.bool)
    allowed[0, 2, 2] = False
    student = CRF(L, constraints=not_after_0, check=True)
    objective = losses.Distillation(teacher.chain(emissions, allowed=allowed))
    value = student.loss(emissions, None, objective=objective)
    assert torch.isfinite(value)
    value.backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in student.parameters())


def test_answers_without_checks_are_sums_over_no_labellings(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(checks, "looks", lambda *_: False)
    crf, emissions = batch()
    emissions.requires_grad_()
    spans: Any = [(0, 0, [0]), (1, 0, [0])]
    for value in (
        crf.entropy(emissions, allowed=without_a_path()),
        crf.span_probability(emissions, spans, allowed=without_a_path()),
    ):
        assert value[1] == 0
        assert value[0] > 0
        for slope in torch.autograd.grad(value.sum(), (emissions, crf.transitions)):
            assert torch.isfinite(slope).all()


FORBIDDEN: dict[str, tuple[Any, list[int]]] = {  # emissions that are forbidden, the labels of sentence 1
    "no labelling is legal": ((1, 2, slice(None)), [0, 1, 1, 0]),
    "an emission": ((1, 1, 1), [0, 1, 1, 0]),
    "a transition": (None, [0, 2, 1, 0]),
}


# Focal asks only whether each label is possible by itself, which it is where a transition is forbidden.
FORBIDDEN_CASES = [
    pytest.param(objective, kind, id=f"{name_of(objective)}, {kind}")
    for objective in OBJECTIVES
    for kind in FORBIDDEN
    if not (isinstance(objective, losses.Focal) and kind == "a transition")
]


@pytest.mark.parametrize(("objective", "kind"), FORBIDDEN_CASES)
def test_forbidden_labels(engine: str, objective: Any, kind: str) -> None:  # noqa: F811
    """An error where values are checked, elsewhere ∞ with finite gradients that are 0 at −∞ (or an error: the core)."""
    place, labels = FORBIDDEN[kind]
    torch.manual_seed(0)
    follow = torch.ones(L, L, dtype=torch.bool)
    follow[0, 2] = False
    crf, emissions = CRF(L, constraints=follow, check=True), torch.randn(B, T, L, requires_grad=True)
    tags = torch.tensor([[0, 1, 1, 0], labels, [1, 1, 2, 2]])
    allowed = torch.ones(B, T, L, dtype=torch.bool)
    if place is not None:
        allowed[place] = False
    with pytest.raises(NoPathError, match=r"sentence 1: "):
        crf.loss(emissions, tags, objective=objective, allowed=allowed)
    try:
        value = objective(crf.chain(emissions, allowed=allowed), tags.flatten())
    except NoPathError:
        assert engine == "native"
        return
    assert torch.isposinf(value).tolist() == [False, True, False]
    assert torch.isfinite(value[::2]).all()
    slopes = torch.autograd.grad(value.sum(), (emissions, *crf.parameters()), materialize_grads=True)
    assert all(torch.isfinite(slope).all() for slope in slopes)
    assert (slopes[0][~allowed] == 0).all()
    by_pair = dict(zip(("emissions", *dict(crf.named_parameters())), slopes, strict=True))["transitions"]
    assert by_pair[0, 2] == 0


def test_sets_of_labels_that_are_forbidden(engine: str) -> None:  # noqa: F811
    crf, emissions = batch()
    sets = torch.ones(B * T, L, dtype=torch.bool)
    for objective in (losses.nll, losses.TokenSmoothing(1.0)):
        try:
            value = objective(crf.chain(emissions, allowed=without_a_path()), sets)
        except NoPathError:
            assert engine == "native"
            continue
        assert torch.isposinf(value).tolist() == [False, True, False]
        assert torch.isfinite(torch.autograd.grad(value.sum(), crf.transitions)[0]).all()
