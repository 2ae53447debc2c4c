"""The drop-in next to pytorch-crf itself: outputs, gradients, errors, scripting."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
torchcrf = pytest.importorskip("torchcrf", reason="pip install pytorch-crf==0.7.2")

from tagline.interop.torchcrf import CRF  # noqa: E402

B, T, L = 3, 7, 5


@pytest.fixture(params=[False, True], ids=["batch second", "batch first"])
def batch_first(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def pair(batch_first: bool) -> tuple[Any, Any]:
    torch.manual_seed(1)
    ours, theirs = CRF(L, batch_first=batch_first), torchcrf.CRF(L, batch_first=batch_first)
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


def batch(batch_first: bool) -> tuple[Any, Any, Any]:
    torch.manual_seed(2)
    mask = torch.arange(T)[:, None] < torch.tensor([T, 2, 5])
    given = torch.randn(T, B, L), torch.randint(0, L, (T, B)), mask
    emissions, tags, mask = (part.transpose(0, 1) for part in given) if batch_first else given
    return emissions, tags, mask


def scripted(crf: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit is
        return torch.jit.script(crf)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean", "token_mean"])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("script", [False, True])
def test_forward(batch_first: bool, reduction: str, masked: bool, script: bool) -> None:
    ours, theirs = pair(batch_first)
    emissions, tags, mask = batch(batch_first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pytorch-crf's uint8 masks
        expected = theirs(emissions, tags, mask if masked else None, reduction=reduction)
    called = scripted(ours) if script else ours
    torch.testing.assert_close(called(emissions, tags, mask if masked else None, reduction=reduction), expected)


@pytest.mark.parametrize("script", [False, True])
def test_gradients(batch_first: bool, script: bool) -> None:
    ours, theirs = pair(batch_first)
    emissions, tags, mask = batch(batch_first)
    found = []
    for crf in (scripted(ours) if script else ours, theirs):
        scores = emissions.detach().clone().requires_grad_()
        (-crf(scores, tags, mask)).backward()
        found.append((scores.grad, crf.transitions.grad, crf.start_transitions.grad, crf.end_transitions.grad))
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("script", [False, True])
def test_decode(batch_first: bool, masked: bool, script: bool) -> None:
    ours, theirs = pair(batch_first)
    emissions, _, mask = batch(batch_first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = theirs.decode(emissions, mask if masked else None)
    assert (scripted(ours) if script else ours).decode(emissions, mask if masked else None) == expected


def test_uint8_masks(batch_first: bool) -> None:
    ours, _ = pair(batch_first)
    emissions, tags, mask = batch(batch_first)
    torch.testing.assert_close(ours(emissions, tags, mask.byte()), ours(emissions, tags, mask))
    assert ours.decode(emissions, mask.byte()) == ours.decode(emissions, mask)


def message(call: Any) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its text is what is compared
        call()
    return str(caught.value)


def test_the_same_errors(batch_first: bool) -> None:
    emissions, tags, mask = batch(batch_first)
    late = mask.clone()
    late[0, 0] = False
    wrong: list[Any] = [
        lambda crf: crf(emissions[0], tags),
        lambda crf: crf(emissions[:, :, :2], tags),
        lambda crf: crf(emissions, tags[:1]),
        lambda crf: crf(emissions, tags, mask[:1]),
        lambda crf: crf(emissions, tags, late),
        lambda crf: crf(emissions, tags, reduction="max"),
        lambda crf: crf.decode(emissions[0]),
        lambda crf: crf.decode(emissions[:, :, :2]),
        lambda crf: crf.decode(emissions, mask[:1]),
        lambda crf: crf.decode(emissions, late),
    ]
    ours, theirs = pair(batch_first)
    for call in wrong:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = message(lambda call=call: call(theirs))
        assert message(lambda call=call: call(ours)) == expected
    for kind in (CRF, torchcrf.CRF):
        assert message(lambda kind=kind: kind(0)) == "invalid number of tags: 0"
        assert message(lambda kind=kind: kind(-1)) == "invalid number of tags: -1"


def test_the_same_names() -> None:
    ours, theirs = pair(False)
    assert repr(ours) == repr(theirs) == "CRF(num_tags=5)"
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    for method in ("__init__", "forward", "decode", "reset_parameters"):
        signatures = [inspect.signature(getattr(kind, method)).parameters for kind in (CRF, torchcrf.CRF)]
        assert [(p.name, p.default) for p in signatures[0].values()] == [
            (p.name, p.default) for p in signatures[1].values()
        ]
    torch.manual_seed(4)
    ours.reset_parameters()
    torch.manual_seed(4)
    theirs.reset_parameters()
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict())
    assert all(parameter.abs().max() <= 0.1 for parameter in ours.parameters())


@pytest.mark.parametrize("kind", [torch.bool, torch.uint8])
def test_the_methods_that_are_not_public(batch_first: bool, kind: torch.dtype) -> None:
    """They take the sequence first, whatever batch_first is."""
    ours, theirs = pair(batch_first)
    emissions, tags, mask = batch(False)
    mask = mask.to(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [theirs._compute_score(emissions, tags, mask), theirs._compute_normalizer(emissions, mask)]
        best = theirs._viterbi_decode(emissions, mask)
    found = [ours._compute_score(emissions, tags, mask), ours._compute_normalizer(emissions, mask)]
    torch.testing.assert_close(found, expected)
    assert ours._viterbi_decode(emissions, mask) == best
    for crf, numbers in ((ours, found), (theirs, expected)):
        (numbers[0] - 2 * numbers[1]).sum().backward()
        assert crf.transitions.grad is not None
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, theirs.get_parameter(name).grad, rtol=1e-5, atol=1e-5)
    for method in ("_compute_score", "_compute_normalizer", "_viterbi_decode"):
        names = [list(inspect.signature(getattr(crf, method)).parameters) for crf in (ours, theirs)]
        assert names[0] == names[1]


def test_a_subclass_may_use_them(batch_first: bool) -> None:
    """The log-likelihood is the score of the tags less log Z."""
    ours, _ = pair(batch_first)
    emissions, tags, mask = batch(False)
    expected = ours._compute_score(emissions, tags, mask) - ours._compute_normalizer(emissions, mask)
    arguments = [part.transpose(0, 1) if batch_first else part for part in (emissions, tags, mask)]
    torch.testing.assert_close(ours(*arguments, reduction="none"), expected)


def test_the_methods_that_are_not_public_check_their_arguments(batch_first: bool) -> None:
    ours, _ = pair(batch_first)
    emissions, tags, mask = batch(False)
    late = mask.clone()
    late[0, 0] = False
    for call in (
        lambda: ours._compute_score(emissions, tags, late),
        lambda: ours._compute_normalizer(emissions, late),
        lambda: ours._viterbi_decode(emissions, late),
    ):
        assert message(call) == "mask of the first timestep must all be on"
    assert "emissions and tags must match" in message(lambda: ours._compute_score(emissions, tags.T, mask))
    assert "must have dimension of 3" in message(lambda: ours._compute_normalizer(emissions[0], mask))


def test_what_differs_from_pytorch_crf() -> None:
    """The rows of the table in docs/migrate/pytorch-crf.md."""
    ours, theirs = pair(False)
    emissions, tags, mask = batch(False)
    for crf, gradient in ((ours, 0.0), (theirs, None)):
        crf(emissions[:1], tags[:1]).backward()
        assert (None if crf.transitions.grad is None else float(crf.transitions.grad.abs().sum())) == gradient
    forbidden = emissions.clone()
    forbidden[1, 0, tags[1, 0]] = -torch.inf
    assert theirs(forbidden, tags) == -torch.inf
    assert "labels of sentence " in message(lambda: ours(forbidden, tags))
    aside = (tags + 1) % L  # of which no tag is forbidden
    for crf, finite in ((ours, True), (theirs, False)):
        scores = forbidden.clone().requires_grad_()
        crf(scores, aside).backward()
        assert scores.grad is not None
        assert bool(scores.grad.isfinite().all()) == finite
    unknown = torch.where(mask, tags, -100)
    assert torch.isfinite(ours(emissions, unknown, mask))
    with pytest.raises(IndexError):
        theirs(emissions, unknown, mask)


@pytest.mark.parametrize("script", [False, True])
def test_masks_with_gaps_are_compacted(script: bool) -> None:
    crf = CRF(L, batch_first=True)
    emissions, tags = torch.randn(1, 4, L), torch.randint(0, L, (1, 4))
    mask = torch.tensor([[True, False, True, True]])
    kept = [0, 2, 3]
    called = scripted(crf) if script else crf
    tags[0, 1] = 4
    torch.testing.assert_close(called(emissions, tags, mask), crf(emissions[:, kept], tags[:, kept]))
    assert called.decode(emissions, mask) == crf.decode(emissions[:, kept])


def test_tags_out_of_range() -> None:
    for tag in (5, -1):
        for call in (CRF(L), CRF(L)._compute_score):
            with pytest.raises(ValueError, match=r"^tags: "):
                call(torch.randn(2, 1, L), torch.tensor([[tag], [0]]), torch.ones(2, 1, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"^emissions: "):
        CRF(L)(torch.full((2, 1, L), torch.nan), torch.tensor([[1], [0]]))


def test_numbers_in_float64_and_half() -> None:
    ours = CRF(L).double()
    emissions, tags = torch.randn(T, B, L, dtype=torch.float64), torch.randint(0, L, (T, B))
    assert ours(emissions, tags).dtype == torch.float64
    assert torch.autograd.gradcheck(lambda scores: ours(scores, tags), emissions.requires_grad_())
    assert CRF(L).half()(emissions.half(), tags).dtype == torch.float16


def test_the_example_learns() -> None:
    path = Path(__file__).parents[3] / "examples" / "pytorch_crf_swap.py"
    printed = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+) of 200 sentences right", printed)
    assert found is not None
    assert int(found[1]) >= 190
