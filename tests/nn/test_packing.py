"""Where tokens lie: packed on the CPU, permuted elsewhere, and the same answers from both."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tagline import compiled  # noqa: E402
from tagline.nn import CRF, packing  # noqa: E402

from .batches import MASKS, make_mask, poisoned  # noqa: E402

B, T, L = 4, 6, 3


@pytest.fixture(params=MASKS)
def mask(request: pytest.FixtureRequest) -> Any:
    return make_mask(request.param, B, T)


@pytest.mark.parametrize("pack", [packing.by_mask, packing._permuted], ids=["by_mask", "permuted"])
def test_tokens_that_count_keep_their_order(mask: Any, pack: Any) -> None:
    places = pack(mask)
    values = torch.arange(B * T).view(B, T)
    rows = places.pack(values)
    for b in range(B):
        first, length = int(places.first[b]), int(places.lengths[b])
        assert rows[first : first + length].tolist() == values[b][mask[b]].tolist()
    assert torch.equal(places.unpack(rows, -1), torch.where(mask, values, -1))
    assert int(places.num_tokens()) == int(mask.sum())


@pytest.mark.parametrize("pack", [packing.by_mask, packing._permuted], ids=["by_mask", "permuted"])
def test_packing_can_be_differentiated_twice(mask: Any, pack: Any) -> None:
    places = pack(mask)
    values = torch.randn(B, T, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(places.pack, values)
    assert torch.autograd.gradgradcheck(places.pack, values)


def test_both_give_the_same_answers(mask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    crf = CRF(L, constraints=[[True, True, False], [True, True, True], [True, True, True]]).double()
    emissions = poisoned(torch.randn(B, T, L, dtype=torch.float64), mask).requires_grad_()
    tags = torch.where(mask, torch.randint(0, 2, (B, T)), -100)

    def answers() -> tuple[Any, ...]:
        numbers = torch.Generator().manual_seed(1)
        loss = crf.loss(emissions, tags, mask, reduction="none")
        gradients = torch.autograd.grad(loss.sum(), [emissions, *crf.parameters()])
        sums = (crf.marginals(emissions, mask), crf.entropy(emissions, mask), crf.log_partition(emissions, mask))
        ranked, decoded = crf.k_best(emissions, 3, mask), crf.decode(emissions, mask, pad_tag=-7)
        assert crf.sample(emissions, 2, mask, generator=numbers)[:, ~mask].eq(-1).all()
        assert crf.decode(emissions, mask) == [tags_[on].tolist() for tags_, on in zip(decoded.tags, mask, strict=True)]
        return (loss, *gradients, *sums, *ranked, *decoded)

    expected = answers()
    with monkeypatch.context() as patch:
        patch.setattr(packing, "by_mask", packing._permuted)
        permuted = answers()
    monkeypatch.setattr(compiled, "core", None)
    for other in (permuted, answers()):
        for found, wanted in zip(other, expected, strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", MASKS)
def test_tokens_that_follow_each_other_stay_where_they_are(kind: str) -> None:
    assert (packing.by_mask(make_mask(kind, B, T)).rows is None) == (kind != "gaps")


def test_padding_changes_no_sample() -> None:
    crf, emissions, lengths = CRF(L), torch.randn(2, 4, L), torch.tensor([2, 4])
    wide = torch.cat([emissions, torch.full((2, 3, L), torch.nan)], 1)
    found = [
        crf.sample(scores, 5, lengths=lengths, generator=torch.Generator().manual_seed(0))[:, :, :4]
        for scores in (emissions, wide)
    ]
    assert torch.equal(*found)


def test_nothing_at_all() -> None:
    crf = CRF(L)
    for B_, T_ in ((0, 3), (2, 0), (0, 0)):
        emissions, tags = torch.randn(B_, T_, L), torch.zeros(B_, T_, dtype=torch.long)
        assert crf.loss(emissions, tags, reduction="sum").item() == 0
        assert crf.decode(emissions) == [[] for _ in range(B_)]
        assert crf.marginals(emissions).shape == (B_, T_, L)
        for pack in (packing.by_mask, packing._permuted):
            assert pack(tags.bool()).lengths.tolist() == [0] * B_
