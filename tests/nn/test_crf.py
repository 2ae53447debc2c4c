"""The CRF layer against the definition: every mask, every answer, gradients."""

from __future__ import annotations

import ast
import os
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tagline import InputError, NoPathError  # noqa: E402
from tagline import chain as engine  # noqa: E402
from tagline.chain import naive  # noqa: E402
from tagline.nn import CRF, checks, using_tensor_engine  # noqa: E402
from tagline.readers.schemes import legal  # noqa: E402
from tagline.types import Chain  # noqa: E402
from tests.chain.golden import GOLDEN, assert_golden  # noqa: E402

from .batches import MASKS, chain_of, compact, make_mask, poisoned  # noqa: E402

B, T, L = 4, 6, 3


@pytest.fixture(params=["native", "batched"], autouse=True)
def tensor_engine(request: pytest.FixtureRequest) -> Any:
    if request.param == "native" and engine.engine() != "native":
        pytest.skip("the compiled core is missing")
    with using_tensor_engine(request.param):
        yield request.param


@pytest.fixture(params=MASKS)
def mask(request: pytest.FixtureRequest) -> Any:
    return make_mask(request.param, B, T)


def batch(mask: Any, **options: Any) -> tuple[CRF, Any, Any, Chain]:
    torch.manual_seed(3)
    crf = CRF(L, **options).double()
    emissions = torch.randn(B, T, L, dtype=torch.float64)
    tags = torch.where(mask, torch.randint(0, L, (B, T)), -100)
    return crf, poisoned(emissions, mask), tags, chain_of(crf, emissions, mask)


def test_forward_and_loss(mask: Any) -> None:
    crf, emissions, tags, chain = batch(mask)
    gold = compact(tags, mask)
    expected = naive.score(chain, gold) - naive.log_partition(chain)
    for given in ({"mask": mask}, {"mask": mask.to(torch.uint8)}, {}):  # the tags alone say it, too
        np.testing.assert_allclose(crf(emissions, tags, **given).item(), expected.sum(), atol=1e-10)
        found = crf.loss(emissions, tags, reduction="none", **given)
        np.testing.assert_allclose(found.detach(), -expected, atol=1e-10)
        assert abs(crf.loss(emissions, tags, **given).item() + expected.mean()) < 1e-10
        tokens = crf.loss(emissions, tags, reduction="token_mean", **given)
        assert abs(tokens.item() + expected.sum() / max(1, len(gold))) < 1e-10


def test_gradients(mask: Any) -> None:
    crf, emissions, tags, chain = batch(mask)
    emissions.requires_grad_()
    crf(emissions, tags, mask).backward()
    found = naive.gradients(chain, compact(tags, mask))
    np.testing.assert_allclose(compact(emissions.grad, mask), found.emissions, atol=1e-10)
    assert (emissions.grad[~mask] == 0).all()
    for name, expected in (("transitions", found.transitions), ("start_transitions", found.start)):
        np.testing.assert_allclose(getattr(crf, name).grad, expected, atol=1e-10)
    np.testing.assert_allclose(crf.end_transitions.grad, found.end, atol=1e-10)


def test_answers(mask: Any) -> None:
    crf, emissions, _, chain = batch(mask)
    np.testing.assert_allclose(crf.log_partition(emissions, mask).detach(), naive.log_partition(chain), atol=1e-10)
    nodes = crf.marginals(emissions, mask)
    np.testing.assert_allclose(compact(nodes, mask), naive.marginals(chain).nodes, atol=1e-10)
    assert (nodes[~mask] == 0).all()
    np.testing.assert_allclose(crf.entropy(emissions, mask).detach(), naive.entropy(chain), atol=1e-10)
    best = naive.viterbi(chain)
    assert crf.decode(emissions, mask) == [part.tolist() for part in chain.split(best.labels)]
    decoded = crf.decode(emissions, mask, pad_tag=-7)
    assert (decoded.tags[~mask] == -7).all()
    assert compact(decoded.tags, mask).tolist() == best.labels.tolist()
    np.testing.assert_allclose(decoded.scores.detach(), best.scores, atol=1e-10)


def test_k_best(mask: Any) -> None:
    crf, emissions, _, chain = batch(mask)
    ranked = crf.k_best(emissions, 5, mask, pad_tag=-7)
    assert ranked.tags.shape == (B, 5, T)
    for b, expected in enumerate(naive.k_best(chain, 5)):
        count = len(expected.scores)
        assert ranked.tags[b, :count][:, mask[b]].tolist() == expected.labels.tolist()
        np.testing.assert_allclose(ranked.scores[b, :count], expected.scores, atol=1e-10)
        np.testing.assert_allclose(ranked.probabilities[b, :count], expected.probabilities, atol=1e-10)
        assert (ranked.scores[b, count:] == -torch.inf).all()
        assert (ranked.tags[b, count:] == -7).all()
        assert (ranked.probabilities[b, count:] == 0).all()


def test_samples(mask: Any) -> None:
    crf, emissions, _, chain = batch(mask)
    numbers = torch.Generator().manual_seed(5)
    found = crf.sample(emissions, 3, mask, generator=numbers, pad_tag=-7)
    again = crf.sample(emissions, 3, mask, generator=torch.Generator().manual_seed(5), pad_tag=-7)
    assert found.shape == (3, B, T)
    assert torch.equal(found, again)
    assert (found[:, ~mask] == -7).all()
    uniforms = torch.rand((3, chain.num_tokens), dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    expected = naive.sample(chain, uniforms.numpy())
    assert found[:, mask].tolist() == expected.tolist()
    assert crf.sample(emissions, 0, mask).shape == (0, B, T)


def test_samples_follow_the_marginals() -> None:
    torch.manual_seed(0)
    crf, emissions = CRF(3), torch.randn(2, 4, 3)
    drawn = crf.sample(emissions, 4000, generator=torch.Generator().manual_seed(1))
    shares = torch.nn.functional.one_hot(drawn, 3).float().mean(0)
    np.testing.assert_allclose(shares, crf.marginals(emissions).detach(), atol=0.04)


def test_span_probability(mask: Any) -> None:
    crf, emissions, _, chain = batch(mask)
    spans: list[Any] = [
        (b, t, [{0, 2}, 1][: min(2, int(length) - t)]) for b, length in enumerate(chain.lengths) for t in range(length)
    ]
    found = crf.span_probability(emissions, spans, mask)
    np.testing.assert_allclose(found.detach(), naive.span_probability(chain, spans), atol=1e-10)
    if spans:
        with torch.no_grad():
            np.testing.assert_allclose(crf.span_probability(emissions, spans, mask), found.detach(), atol=1e-10)
        (gradient,) = torch.autograd.grad(found.sum(), crf.transitions)
        assert torch.isfinite(gradient).all()
    with pytest.raises(InputError, match=r"^spans\[0\]: "):
        crf.span_probability(emissions, [(9, 0, [1])], mask)


def test_lengths_say_the_same_as_a_mask() -> None:
    mask = make_mask("right", B, T)
    crf, emissions, tags, _ = batch(mask)
    lengths = mask.sum(1)
    wanted = crf.loss(emissions, tags, mask)
    torch.testing.assert_close(crf.loss(emissions, tags.clamp(min=0), lengths=lengths), wanted)
    assert crf.decode(emissions, lengths=lengths) == crf.decode(emissions, mask)
    tags_, _ = crf.decode(emissions, lengths=lengths, pad_tag=-1)
    assert torch.equal(tags_, crf.decode(emissions, mask, pad_tag=-1).tags)
    with pytest.raises(InputError, match=r"^lengths: "):
        crf.decode(emissions, lengths=lengths + T)
    with pytest.raises(InputError, match=r"^lengths: "):
        crf.decode(emissions, mask, lengths=lengths)


@pytest.mark.parametrize("engine", ["batched", "fused"])
def test_batch_second_with_lengths(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    if engine == "fused" and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("needs Triton's interpreter")
    monkeypatch.setattr(checks, "looks", lambda device, check: False)
    emissions, tags, lengths = torch.randn(3, 4, L), torch.randint(0, L, (3, 4)), torch.tensor([4, 1, 3])
    crf = CRF(L)
    other = CRF(L, batch_first=False)
    other.load_state_dict(crf.state_dict())
    with using_tensor_engine(engine):
        found = other.loss(emissions.transpose(0, 1), tags.t(), lengths=lengths)
        best = other.decode(emissions.transpose(0, 1), lengths=lengths, pad_tag=torch.tensor(-1))
    torch.testing.assert_close(found, crf.loss(emissions, tags, lengths=lengths))
    assert torch.equal(best.tags.t(), crf.decode(emissions, lengths=lengths, pad_tag=-1).tags)


@pytest.mark.parametrize("pad_tag", [-1.5, "x", 2**70])
def test_a_pad_tag_that_is_no_number(pad_tag: Any) -> None:
    with pytest.raises(InputError, match=r"^pad_tag: "):
        CRF(L).decode(torch.zeros(1, 2, L), pad_tag=pad_tag)


def test_batch_second() -> None:
    mask = make_mask("gaps", B, T)
    crf, emissions, tags, _ = batch(mask)
    other = CRF(L, batch_first=False).double()
    other.load_state_dict(crf.state_dict())
    turned = [part.transpose(0, 1) for part in (emissions, tags, mask)]
    torch.testing.assert_close(other.loss(*turned), crf.loss(emissions, tags, mask))
    assert other.decode(turned[0], turned[2]) == crf.decode(emissions, mask)
    torch.testing.assert_close(other.marginals(turned[0], turned[2]), crf.marginals(emissions, mask).transpose(0, 1))
    drawn = other.sample(turned[0], 2, turned[2], generator=torch.Generator().manual_seed(1))
    assert drawn.shape == (2, T, B)
    assert other.k_best(turned[0], 2, turned[2]).tags.shape == (B, 2, T)
    allowed = torch.rand(B, T, L) < 0.7
    allowed[:, :, 0] = True
    torch.testing.assert_close(
        other.log_partition(turned[0], turned[2], allowed=allowed.transpose(0, 1)),
        crf.log_partition(emissions, mask, allowed=allowed),
    )


def test_other_ignore_indices() -> None:
    crf, emissions, tags, _ = batch(make_mask("full", B, T), ignore_index=(-1, 7))
    marked = tags.clone()
    marked[0, 2], marked[1, 0] = -1, 7
    mask = (marked >= 0) & (marked < L)
    torch.testing.assert_close(crf.loss(emissions, marked), crf.loss(emissions, tags, mask))
    with pytest.raises(InputError, match=r"^tags: "):
        crf.loss(emissions, torch.where(mask, tags, -100))


@pytest.mark.parametrize("kind", ["matrix", "rules", "tensor"])
def test_constraints(kind: str) -> None:
    """Exact in training and in every answer."""
    labels = ["O", "B-X", "I-X"]
    rules = legal(labels, "IOB2")
    constraints: Any = {"rules": rules, "matrix": rules.transitions, "tensor": torch.tensor(rules.transitions)}[kind]
    mask = make_mask("gaps", B, T)
    crf, emissions, _, chain = batch(mask, constraints=constraints)
    assert np.isneginf(chain.transitions).any()
    assert np.isneginf(chain.start).any() == (kind == "rules")
    tags = torch.where(mask, torch.zeros(B, T, dtype=torch.long), -100)
    gold = compact(tags, mask)
    value = crf(emissions, tags)
    assert abs(value.item() - (naive.score(chain, gold) - naive.log_partition(chain)).sum()) < 1e-10
    value.backward()
    assert crf.transitions.grad is not None
    assert (crf.transitions.grad[~torch.tensor(rules.transitions)] == 0).all()
    assert torch.isfinite(crf.transitions.grad).all()
    np.testing.assert_allclose(compact(crf.marginals(emissions, mask), mask), naive.marginals(chain).nodes, atol=1e-10)
    assert "may_follow" not in crf.state_dict()


def test_rules_hold_at_both_ends() -> None:
    rules = legal(["O", "B-X", "I-X", "E-X", "S-X"], "BIOES")
    crf = CRF(5, constraints=rules)
    for scores, allowed in zip(crf.scores(torch.float32), (rules.transitions, rules.start, rules.end), strict=True):
        assert (torch.isneginf(scores).numpy() == ~allowed).all()
        assert not allowed.all()


def test_forbidden_tags_are_named() -> None:
    crf = CRF(3, constraints=legal(["O", "B-X", "I-X"], "IOB2"))
    with pytest.raises(NoPathError, match=r"^labels of sentence 1: "):
        crf.loss(torch.randn(2, 2, 3), torch.tensor([[0, 1], [0, 2]]))


def random_sets(seed: int, always: int) -> Any:
    """A set of labels for each token, with one label in all of them."""
    sets = torch.rand(B, T, L, generator=torch.Generator().manual_seed(seed)) < 0.5
    sets[:, :, always] = True
    return sets


def test_allowed_labels() -> None:
    mask = make_mask("right", B, T)
    crf, emissions, _, _ = batch(mask)
    allowed = random_sets(seed=1, always=1)
    chain = chain_of(crf, torch.where(allowed, emissions, -torch.inf), mask)
    best = naive.viterbi(chain)
    assert crf.decode(emissions, mask, allowed=allowed) == [part.tolist() for part in chain.split(best.labels)]
    found = crf.log_partition(emissions, mask, allowed=allowed)
    np.testing.assert_allclose(found.detach(), naive.log_partition(chain), atol=1e-10)
    none = torch.zeros(B, T, L, dtype=torch.bool)
    for answer in (crf.decode, crf.log_partition, crf.marginals):
        with pytest.raises(NoPathError, match=r"^sentence 0: "):
            answer(emissions, mask, allowed=none)
    with pytest.raises(InputError, match=r"^allowed: "):
        crf.decode(emissions, mask, allowed=none[:, :2])


def test_partial_labels() -> None:
    """The likelihood of sets is the sum over all labellings within them."""
    mask = make_mask("gaps", B, T)
    crf, emissions, _, chain = batch(mask)
    sets = random_sets(seed=2, always=2)
    within = chain_of(crf, torch.where(sets, emissions, -torch.inf), mask)
    expected = naive.log_partition(within) - naive.log_partition(chain)
    emissions.requires_grad_()
    found = crf(emissions, sets, mask, reduction="none")
    np.testing.assert_allclose(found.detach(), expected, atol=1e-10)
    found.sum().backward()
    difference = naive.marginals(within).nodes - naive.marginals(chain).nodes
    np.testing.assert_allclose(compact(emissions.grad, mask), difference, atol=1e-10)
    everything = crf.loss(emissions, torch.ones(B, T, L, dtype=torch.bool), mask)
    assert abs(everything.item()) < 1e-12


def test_transitions_for_each_token(mask: Any) -> None:
    crf, emissions, tags, _ = batch(mask, constraints=np.array([[1, 1, 0], [1, 1, 1], [1, 1, 1]], np.bool_))
    tags = torch.where(tags == 2, 1, tags)
    transitions = torch.randn(B, T, L, L, dtype=torch.float64)
    own, start, end = (part.detach().numpy() for part in crf.scores(torch.float64))
    chain = Chain(
        compact(emissions, mask),
        own + compact(transitions, mask),
        start,
        end,
        np.append(0, np.cumsum(mask.sum(1).numpy())),
    )
    expected = naive.score(chain, compact(tags, mask)) - naive.log_partition(chain)
    transitions = torch.where(mask[:, :, None, None], transitions, torch.nan).requires_grad_()
    found = crf(emissions, tags, mask, reduction="none", transitions=transitions)
    np.testing.assert_allclose(found.detach(), expected, atol=1e-10)
    found.sum().backward()
    assert torch.isfinite(transitions.grad).all()
    np.testing.assert_allclose(
        compact(transitions.grad, mask), naive.gradients(chain, compact(tags, mask)).transitions, atol=1e-10
    )
    best = naive.viterbi(chain).labels
    assert [tag for path in crf.decode(emissions, mask, transitions=transitions) for tag in path] == best.tolist()
    with pytest.raises(InputError, match=r"^transitions: "):
        crf.decode(emissions, mask, transitions=transitions[:, 1:])


def test_low_rank_transitions() -> None:
    crf = CRF(L, rank=2).double()
    assert set(crf.state_dict()) == {"start_transitions", "end_transitions", "transitions_from", "transitions_to"}
    emissions, tags = torch.randn(B, T, L, dtype=torch.float64), torch.randint(0, L, (B, T))
    dense = CRF(L).double()
    with torch.no_grad():
        dense.transitions.copy_(crf.transitions_from @ crf.transitions_to)
        dense.start_transitions.copy_(crf.start_transitions)
        dense.end_transitions.copy_(crf.end_transitions)
    torch.testing.assert_close(crf.loss(emissions, tags), dense.loss(emissions, tags))
    crf.loss(emissions, tags).backward()
    assert crf.transitions_from.grad is not None


def test_tied_and_frozen_transitions() -> None:
    groups = torch.tensor([[0, 1, 1], [2, 0, 1], [2, 2, 0]])
    crf = CRF(3, tied=groups)
    assert crf.tied_transitions.shape == (3,)
    assert torch.equal(crf.scores(torch.float32)[0], crf.tied_transitions[groups])
    crf.loss(torch.randn(2, 4, 3), torch.zeros(2, 4, dtype=torch.long)).backward()
    assert crf.tied_transitions.grad is not None
    frozen = CRF(3, frozen=True)
    emissions = torch.randn(2, 4, 3, requires_grad=True)
    frozen.loss(emissions, torch.zeros(2, 4, dtype=torch.long)).backward()
    assert emissions.grad is not None
    assert all(parameter.grad is None for parameter in frozen.parameters())
    with pytest.raises(InputError, match=r"^tied: "):
        CRF(3, tied=[[0]])
    with pytest.raises(InputError, match=r"^tied: "):
        CRF(3, tied=groups, rank=1)


def test_without_start_and_end() -> None:
    crf = CRF(L, start_end=False).double()
    assert set(crf.state_dict()) == {"transitions"}
    emissions = torch.randn(B, T, L, dtype=torch.float64)
    chain = Chain.from_sentences(list(emissions.numpy()), crf.transitions.detach().numpy())
    np.testing.assert_allclose(crf.log_partition(emissions).detach(), naive.log_partition(chain), atol=1e-10)


def test_initialise_from_tags() -> None:
    """With emissions of 0 the layer is the Markov chain of the tags, given the length."""
    crf = CRF(2).double()
    crf.initialise_from_tags([[0, 1, 1], [1], [], [0, 0]], smoothing=0.5)
    pairs = np.array([[1, 1], [0, 1]]) + 0.5
    uses = np.array([1 + 1 + 1, 0 + 1 + 2]) + 1.5  # followed or last: 0 is last once, 1 twice
    np.testing.assert_allclose(crf.transitions.detach().exp(), pairs / uses[:, None])
    np.testing.assert_allclose(crf.end_transitions.detach().exp(), (np.array([1, 2]) + 0.5) / uses)
    np.testing.assert_allclose(crf.start_transitions.detach().exp(), np.array([2.5, 1.5]) / 4)
    with pytest.raises(InputError, match=r"^smoothing: "):
        crf.initialise_from_tags([[0, 0]], smoothing=0)
    with pytest.raises(InputError, match=r"^sequences\[1\]: "):
        crf.initialise_from_tags([[0], [5]])
    with pytest.raises(InputError, match=r"^initialise_from_tags: "):
        CRF(2, rank=1).initialise_from_tags([[0]])


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_types_of_numbers(kind: str) -> None:
    torch.manual_seed(1)
    given, out = getattr(torch, kind), torch.float64 if kind == "float64" else torch.float32
    crf = CRF(L)
    emissions = torch.randn(B, T, L).to(given).requires_grad_()
    tags = torch.randint(0, L, (B, T))
    loss = crf.loss(emissions, tags)
    assert loss.dtype == crf.marginals(emissions).dtype == crf.entropy(emissions).dtype == out
    loss.backward()
    assert emissions.grad.dtype == given
    wanted = crf.loss(emissions.to(out), tags)
    torch.testing.assert_close(loss, wanted)


def test_nothing_of_the_caller_changes() -> None:
    mask = make_mask("gaps", B, T)
    crf, emissions, tags, _ = batch(mask)
    before = emissions.clone(), tags.clone(), mask.clone()
    crf.loss(emissions, tags, mask)
    crf.decode(emissions, mask)
    crf.k_best(emissions, 2, mask)
    for part, copy in zip((emissions, tags, mask), before, strict=True):
        torch.testing.assert_close(part, copy, equal_nan=True, rtol=0, atol=0)


def test_golden_padded_batch() -> None:
    inputs, ref = GOLDEN["doc003_padded_batch"]["inputs"], GOLDEN["doc003_padded_batch"]["ref"]
    crf = CRF(3).double()
    names = ("transitions", "start_transitions", "end_transitions")
    keys = ("transitions[from][to]", "start_transitions", "end_transitions")
    crf.load_state_dict(
        {name: torch.tensor(inputs[key], dtype=torch.float64) for name, key in zip(names, keys, strict=True)}
    )
    emissions = torch.tensor(inputs["emissions(batch,seq,tag)"], dtype=torch.float64, requires_grad=True)
    tags, mask = torch.tensor(inputs["tags"]), torch.tensor(inputs["mask"])
    assert_golden(crf.loss(emissions, tags, mask).item(), ref["loss_mean_over_sequences"])
    assert_golden(crf.loss(emissions, tags, mask, reduction="token_mean").item(), ref["loss_token_mean"])
    loss = crf.loss(emissions, tags, mask, reduction="sum")
    assert_golden(loss.item(), ref["loss_sum"])
    loss.backward()
    assert_golden(emissions.grad, ref["grad_of_SUM_nll"]["emissions"])
    assert_golden(crf.transitions.grad, ref["grad_of_SUM_nll"]["transitions[from][to]"])
    assert crf.decode(emissions, mask) == [row["best_path"] for row in ref["per_sequence"]]


def test_golden_mask_with_a_hole() -> None:
    ref = GOLDEN["counterexample_003_mask_hole"]
    wanted = ref["correct loss after compaction (y0,y2)"]
    crf = CRF(2).double()
    with torch.no_grad():  # the two kept tokens follow each other: all of the score is in their transition
        for part in crf.parameters():
            part.zero_()
        for pair, loss in wanted.items():
            crf.transitions[ast.literal_eval(pair)] = -loss
    mask = torch.tensor([ref["mask"]], dtype=torch.bool)
    emissions = torch.tensor([[[0.0, 0.0], [7.0, -9.0], [0.0, 0.0]]], dtype=torch.float64)
    for pair, loss in wanted.items():
        first, last = ast.literal_eval(pair)
        for masked in (0, 1):
            assert_golden(crf.loss(emissions, torch.tensor([[first, masked, last]]), mask).item(), loss)
    assert crf.decode(emissions, mask) == ref["decode_compacted"]


def test_golden_constraints() -> None:
    ref = GOLDEN["counterexample_003_constraints"]
    labels = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    rules = legal(labels, "IOB2")
    crf = CRF(5, constraints=rules)
    for previous, following in ref["illegal BIO transitions"]:
        wanted = torch.full((1, 2, 5), 0.0)
        wanted[0, 0, labels.index(previous)] = wanted[0, 1, labels.index(following)] = 100.0
        path = crf.decode(wanted)[0]
        assert [labels[tag] for tag in path] != [previous, following]
        assert rules.transitions[path[0], path[1]]
