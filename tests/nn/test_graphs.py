"""The loss of a head from CUDA graphs, against the same head asked step by step; these tests need a GPU."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tagline.nn import graphs  # noqa: E402
from tagline.nn.heads import CRFHead, Head  # noqa: E402
from tagline.readers.schemes import legal  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")

LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
L, D = len(LABELS), 4
CLOSE: Any = {"rtol": 1e-5, "atol": 1e-6}


def head_of(**options: Any) -> CRFHead:
    torch.manual_seed(0)
    head = CRFHead(D, L, **options).cuda()
    with torch.no_grad():
        for part in head.crf.parameters():
            part.normal_()
    return head


def case(B: int, T: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Emissions, legal tags with nonsense at padding, lengths of which one is 0."""
    torch.manual_seed(seed)
    lengths = torch.randint(1, T + 1, (B,)).clamp(max=T)
    lengths[-1], lengths[0] = 0, T
    tags = torch.tensor([0, 1, 2])[torch.arange(B * T).view(B, T) % T % 3]
    tags = torch.where(torch.arange(T) < lengths[:, None], tags, 77)
    return torch.randn(B, T, L).cuda().requires_grad_(), tags.cuda(), lengths.cuda()


def slopes(head: CRFHead, emissions: Any, loss: Any) -> list[Any]:
    return [loss.detach(), *torch.autograd.grad(loss, (emissions, *head.crf.parameters()), retain_graph=True)]


def check(head: CRFHead, emissions: Any, tags: Any, lengths: Any, weights: Any = None) -> None:
    found = slopes(head, emissions, head.loss(emissions, tags, lengths, weights))
    expected = slopes(head, emissions, Head.loss(head, emissions, tags, lengths, weights))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


@pytest.mark.parametrize("options", [{}, {"smoothing": 0.1}, {"rules": legal(LABELS, "IOB2")}])
def test_replays_equal_what_was_recorded(options: Any) -> None:
    head = head_of(**options)
    for number, (B, T) in enumerate([(30, 45), (32, 48), (3, 1), (9, 17), (30, 45)]):  # the first two share a graph
        check(head, *case(B, T, number))
        check(head, *case(B, T, number), torch.rand(B).cuda())
    assert len(head._graphed._graphs) == 3


def test_double_precision() -> None:
    head = head_of().double()
    emissions, tags, lengths = case(12, 20)
    check(head, emissions.detach().double().requires_grad_(), tags, lengths)


def test_emissions_and_tags_that_lie_otherwise() -> None:
    head = head_of()
    emissions, tags, lengths = case(12, 20)
    turned = emissions.detach().transpose(0, 1).contiguous().requires_grad_()
    found = torch.autograd.grad(head.loss(turned.transpose(0, 1), tags.T.contiguous().T, lengths), turned)[0]
    expected = torch.autograd.grad(Head.loss(head, emissions, tags, lengths), emissions)[0]
    torch.testing.assert_close(found.transpose(0, 1), expected, **CLOSE)


def test_scores_far_apart_stay_finite() -> None:
    head = head_of()
    emissions, tags, lengths = case(8, 40)
    check(head, (emissions.detach() * 300).requires_grad_(), tags, lengths)


def test_two_batches_of_a_size_before_the_backward_pass() -> None:
    head = head_of()
    first, second = case(12, 20, 1), case(12, 20, 2)
    losses = [head.loss(*first), head.loss(*second)]
    for batch, loss in zip((first, second), losses, strict=True):
        expected = slopes(head, batch[0], Head.loss(head, *batch))
        for one, other in zip(slopes(head, batch[0], loss), expected, strict=True):
            torch.testing.assert_close(one, other, **CLOSE)


def test_losses_are_scaled_and_added_up() -> None:
    head = head_of()
    first, second = case(12, 20, 1), case(5, 9, 2)
    found = torch.autograd.grad(3 * head.loss(*first) - head.loss(*second), tuple(head.crf.parameters()))
    expected = torch.autograd.grad(3 * Head.loss(head, *first) - Head.loss(head, *second), tuple(head.crf.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


def test_parameters_that_change_or_move() -> None:
    head = head_of()
    batch = case(12, 20)
    check(head, *batch)
    with torch.no_grad():
        head.crf.transitions.add_(1.0)
    check(head, *batch)  # read where they lie
    assert len(head._graphed._graphs) == 1
    head.cpu().cuda()
    with torch.no_grad():
        head.crf.transitions.add_(1.0)
    check(head, *batch)


def test_parameters_that_are_not_trained() -> None:
    head = head_of()
    batch = case(12, 20)
    head.crf.transitions.requires_grad_(False)
    head.loss(*batch).backward()
    assert head.crf.transitions.grad is None
    assert head.crf.start_transitions.grad is not None
    head.crf.transitions.requires_grad_(True)
    check(head, *batch)


def test_copies_record_their_own() -> None:
    head = head_of()
    batch = case(12, 20)
    check(head, *batch)
    for other in (copy.deepcopy(head), pickle.loads(pickle.dumps(head))):
        assert not other._graphed._graphs
        with torch.no_grad():
            other.crf.transitions.add_(1.0)
        check(other, *batch)
        check(head, *batch)


def test_graphs_go_with_their_head() -> None:
    """Not when the garbage collector comes, which might be in the middle of another recording."""
    gc.disable()
    try:
        head = head_of()
        check(head, *case(12, 20))
        graph = weakref.ref(next(iter(head._graphed._graphs.values())))
        del head
        assert graph() is None
    finally:
        gc.enable()


def test_garbage_while_recording() -> None:
    """Heads in cycles, which only the collector finds."""
    threshold = gc.get_threshold()
    gc.set_threshold(50)
    try:
        for seed in range(6):
            head = head_of()
            head.itself = [head]  # type: ignore[assignment]
            check(head, *case(4 + seed, 20, seed))
    finally:
        gc.set_threshold(*threshold)


def test_few_graphs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "MOST_GRAPHS", 2)
    head = head_of()
    for T in (5, 20, 5, 40, 5):
        check(head, *case(4, T))
    assert [sizes[0][1] for sizes, *_ in head._graphed._graphs] == [48, 16]


def test_without_gradients_nothing_is_recorded() -> None:
    head = head_of()
    emissions, tags, lengths = case(12, 20)
    with torch.no_grad():
        head.loss(emissions, tags, lengths)
    assert not head._graphed._graphs
