"""Heads and taggers, against enumeration of all labellings and loops over tokens."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from tagline.chain import viterbi  # noqa: E402
from tagline.errors import InputError, NoPathError  # noqa: E402
from tagline.nn import losses  # noqa: E402
from tagline.nn.crf import CRF  # noqa: E402
from tagline.nn.heads import CRFHead, SoftmaxHead, Tagger  # noqa: E402
from tagline.readers.schemes import legal  # noqa: E402
from tagline.types import Chain  # noqa: E402

from .encoder_cases import SENTENCES, TABLE, batch_of, encoder_of  # noqa: E402

L, D = 3, 4
LABELS = ["O", "B-X", "I-X"]
RULES = legal(LABELS, "IOB2")
LENGTHS = torch.tensor([3, 1, 0, 4])
CLOSE: Any = {"rtol": 1e-5, "atol": 1e-5}
HEADS = pytest.mark.parametrize("kind", [CRFHead, SoftmaxHead])


def head_of(kind: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    return kind(D, L, **options)


def case(seed: int = 0) -> tuple[Any, Any]:
    """Vectors of an encoder and legal tags, with nonsense at padding."""
    torch.manual_seed(seed)
    tags = torch.tensor([[1, 2, 0, 99], [0, -100, 7, 7], [5, 5, 5, 5], [1, 2, 2, 1]])
    return torch.randn(4, 4, D), tags


def paths(head: Any, emissions: Any, kept: Any = None) -> dict[tuple[int, ...], float]:
    """The score of every legal labelling of one sentence, by the head's own definition of a chain."""
    transitions, start, end = (
        head.scores() if isinstance(head, CRFHead) else (np.zeros((L, L)), np.zeros(L), np.zeros(L))
    )
    found = {}
    for path in product(range(L), repeat=len(emissions)):
        score = sum(float(emissions[t, k]) for t, k in enumerate(path))
        if path:
            score += float(start[path[0]]) + float(end[path[-1]])
            score += sum(float(transitions[i, j]) for i, j in pairwise(path))
        if score > -np.inf and (kept is None or kept(path)):
            found[path] = score
    return found


def log_total(scores: Any) -> float:
    return float(np.logaddexp.reduce([*scores]))


@HEADS
@pytest.mark.parametrize("rules", [None, RULES])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_losses_by_enumeration(kind: Any, rules: Any, smoothing: float) -> None:
    head = head_of(kind, rules=rules, smoothing=smoothing)
    hidden, tags = case()
    emissions = head.emissions(hidden)
    each = []
    for b, length in enumerate(LENGTHS.tolist()):
        scores = paths(head, emissions[b, :length].detach())
        gold = scores[tuple(tags[b, :length].tolist())]
        mean = sum(scores.values()) / len(scores)
        each.append(log_total(scores.values()) - (1 - smoothing) * gold - smoothing * mean)
    torch.testing.assert_close(head.sentence_losses(emissions, tags, LENGTHS), torch.tensor(each), **CLOSE)
    torch.testing.assert_close(head.loss(emissions, tags, LENGTHS), torch.tensor(sum(each) / 4), **CLOSE)
    weights = torch.tensor([2.0, 0.5, 3.0, 0.0])
    weighted = (torch.tensor(each) * weights).sum() / 4
    torch.testing.assert_close(head.loss(emissions, tags, LENGTHS, weights), weighted, **CLOSE)


@HEADS
@pytest.mark.parametrize("rules", [None, RULES])
def test_sets_of_labels_by_enumeration(kind: Any, rules: Any) -> None:
    head = head_of(kind, rules=rules)
    hidden, tags = case()
    emissions = head.emissions(hidden)
    sets = torch.rand(4, 4, L) < 0.4
    for b, length in enumerate(LENGTHS.tolist()):
        sets[b, torch.arange(length), tags[b, :length]] = True
        sets[b, length:] = False  # an empty set at padding is no error
    each = []
    for b, length in enumerate(LENGTHS.tolist()):
        rows = emissions[b, :length].detach()
        within = paths(head, rows, lambda path, b=b: all(sets[b, t, k] for t, k in enumerate(path)))
        each.append(log_total(paths(head, rows).values()) - log_total(within.values()))
    torch.testing.assert_close(head.sentence_losses(emissions, sets, LENGTHS), torch.tensor(each), **CLOSE)
    head.loss(emissions, sets, LENGTHS).backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in head.parameters())


@HEADS
def test_padding_has_no_gradient_and_does_not_count(kind: Any) -> None:
    for smoothing in (0.0, 0.1):
        head = head_of(kind, smoothing=smoothing)
        hidden, tags = case()
        emissions = head.emissions(hidden).detach()
        inside = (torch.arange(4) < LENGTHS[:, None])[:, :, None]
        found = []
        for fill in (0.0, 1e4):
            filled = torch.where(inside, emissions, fill).requires_grad_()
            value = head.loss(filled, tags, LENGTHS)
            value.backward()
            assert (filled.grad[~inside[:, :, 0]] == 0).all()
            found.append((value, filled.grad))
        torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-6)


def test_the_softmax_is_a_chain_without_transitions() -> None:
    head, crf = head_of(SoftmaxHead, smoothing=0.3), CRF(L)
    nn.init.zeros_(crf.transitions), nn.init.zeros_(crf.start_transitions), nn.init.zeros_(crf.end_transitions)
    hidden, tags = case(1)
    emissions = head.emissions(hidden)
    wanted = crf.loss(emissions, tags, lengths=LENGTHS, objective=losses.LabelSmoothing(0.3))
    torch.testing.assert_close(head.loss(emissions, tags, LENGTHS), wanted, **CLOSE)


@HEADS
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 0)])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_batches_without_tokens(kind: Any, shape: tuple[int, int], smoothing: float) -> None:
    head = head_of(kind, smoothing=smoothing)
    emissions = head.emissions(torch.zeros(*shape, D))
    value = head.loss(emissions, torch.zeros(shape, dtype=torch.int64), torch.zeros(shape[0], dtype=torch.int64))
    assert float(value.detach()) == 0
    value.backward()


@HEADS
def test_scores_forbid_what_the_rules_do(kind: Any) -> None:
    transitions, start, end = head_of(kind, rules=RULES).scores()
    assert transitions.dtype == start.dtype == end.dtype == np.float32
    np.testing.assert_array_equal(np.isneginf(transitions), ~RULES.transitions)
    np.testing.assert_array_equal(np.isneginf(start), ~RULES.start)
    np.testing.assert_array_equal(np.isneginf(end), ~RULES.end)
    for part in head_of(kind).scores():
        assert np.isfinite(part).all()
    if kind is SoftmaxHead:
        assert set(np.unique(transitions).tolist()) == {-np.inf, 0.0}


def test_the_chain_decodes_as_the_layer_does() -> None:
    head = head_of(CRFHead, rules=RULES)
    emissions = head.emissions(case(2)[0]).detach()
    rows = [row[:length].numpy() for row, length in zip(emissions, LENGTHS.tolist(), strict=True)]
    chain = Chain.from_sentences(rows, *head.scores())
    found = [part.tolist() for part in chain.split(viterbi(chain).labels)]
    assert found == head.crf.decode(emissions, lengths=LENGTHS)


def test_illegal_tags_and_a_softmax() -> None:
    """Rules hold in training for the CRF only."""
    emissions, tags = torch.zeros(1, 2, L), torch.tensor([[0, 2]])
    with pytest.raises(NoPathError, match=r"^labels of sentence 0: "):
        head_of(CRFHead, rules=RULES).loss(emissions, tags, torch.tensor([2]))
    value = head_of(SoftmaxHead, rules=RULES).loss(emissions, tags, torch.tensor([2]))
    torch.testing.assert_close(value, torch.tensor(2 * np.log(3), dtype=torch.float32), **CLOSE)


@HEADS
def test_emissions_are_never_in_half_precision(kind: Any) -> None:
    head = head_of(kind)
    hidden, tags = case()
    with torch.autocast("cpu", torch.bfloat16):
        emissions = head.emissions(hidden.bfloat16())
        assert emissions.dtype == head.loss(emissions, tags, LENGTHS).dtype == torch.float32
    wanted = hidden.bfloat16().float() @ head.linear.weight.T + head.linear.bias
    torch.testing.assert_close(emissions, wanted, **CLOSE)


@HEADS
def test_wrong_input(kind: Any) -> None:
    with pytest.raises(InputError, match=r"^smoothing: "):
        kind(D, L, smoothing=1)
    head = head_of(kind, smoothing=0.1)
    emissions, lengths = torch.zeros(1, 2, L), torch.tensor([2])
    with pytest.raises(InputError, match=r"^smoothing: "):
        head.loss(emissions, torch.ones(1, 2, L, dtype=torch.bool), lengths)
    with pytest.raises(InputError, match=r"^tags: "):
        head.loss(emissions, torch.tensor([[0, 3]]), lengths)
    with pytest.raises(InputError, match=r"^tags: "):
        head.loss(emissions, torch.tensor([[0, 1, 2]]), lengths)
    with pytest.raises(NoPathError, match=r"sentence 0: "):
        head_of(kind).loss(emissions, torch.tensor([[[True, False, False], [False] * 3]]), lengths)


# Taggers


def tagger_of(kind: Any = CRFHead, **options: Any) -> Tagger:
    encoder = encoder_of(**options)
    return Tagger(encoder, kind(encoder.size, L, rules=RULES))


@HEADS
def test_a_tagger_is_its_encoder_and_its_head(kind: Any) -> None:
    tagger, batch = tagger_of(kind).eval(), batch_of(SENTENCES)
    tags, weights = torch.zeros(batch.forms.shape, dtype=torch.int64), torch.rand(5)
    emissions = tagger.emissions(batch)
    torch.testing.assert_close(emissions, tagger.head.linear(tagger.encoder(batch)), **CLOSE)
    torch.testing.assert_close(
        tagger(batch, tags, weights), tagger.head.loss(emissions, tags, batch.lengths, weights), rtol=0, atol=0
    )


def test_sizes_must_fit() -> None:
    with pytest.raises(InputError, match=r"^head: "):
        Tagger(encoder_of(), CRFHead(5, L))


def names_of(tagger: Tagger, group: Any) -> set[str]:
    wanted = {id(parameter) for parameter in group["params"]}
    return {name for name, parameter in tagger.named_parameters() if id(parameter) in wanted}


def test_groups() -> None:
    tagger = tagger_of(layers=2)
    tagger.encoder.norm = nn.LayerNorm(3)
    groups = tagger.groups({"head.crf": 100, "encoder": 0.5, "encoder.words": 0.1, "encoder.layers.1": 2})
    every = [id(parameter) for group in groups for parameter in group["params"]]
    assert sorted(every) == sorted(id(parameter) for parameter in tagger.parameters())
    rates = {name: (group["rate"], group.get("weight_decay")) for group in groups for name in names_of(tagger, group)}
    wanted = {
        "head.crf.transitions": (100, 0),
        "head.crf.start_transitions": (100, 0),
        "head.linear.weight": (1, None),
        "head.linear.bias": (1, 0),
        "encoder.words.weight": (0.1, 0),
        "encoder.characters.vectors.weight": (0.5, 0),
        "encoder.characters.filters.0.weight": (0.5, None),
        "encoder.layers.0.weight_ih_l0": (0.5, None),
        "encoder.layers.1.weight_ih_l0": (2, None),
        "encoder.layers.1.bias_ih_l0": (2, 0),
        "encoder.norm.weight": (0.5, 0),
    }
    assert {name: rates[name] for name in wanted} == wanted
    assert len({group["name"] for group in groups}) == len(groups)
    optimiser = torch.optim.AdamW([{**g, "lr": 0.1 * g["rate"]} for g in groups], weight_decay=0.3)
    assert {group["weight_decay"] for group in optimiser.param_groups} == {0.0, 0.3}


def test_groups_leave_out_what_is_frozen() -> None:
    tagger = tagger_of(freeze_words=True)
    assert not any("encoder.words.weight" in names_of(tagger, group) for group in tagger.groups({}))
    assert {group["rate"] for group in tagger.groups({})} == {1.0}


def test_a_key_is_a_whole_name() -> None:
    rates = {group["rate"] for group in tagger_of().groups({"enc": 5, "head.cr": 7})}
    assert rates == {1.0}


@HEADS
def test_a_tagger_learns(kind: Any) -> None:
    """Words of two tokens that begin with a capital are spans."""
    sentences = [["a", "Bb", "Cc", "d"], ["Ee", "Ff"], ["g"], [], ["h", "Ii", "Jj"]]
    tags = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 2, 0]])
    tagger, batch = tagger_of(kind, dropout=0.1), batch_of(sentences)
    descent = torch.optim.Adam(tagger.parameters(), 0.02)
    for _ in range(60):
        descent.zero_grad()
        loss = tagger(batch, tags)
        loss.backward()
        descent.step()
    tagger.eval()
    with torch.no_grad():
        rows = [row[:n].numpy() for row, n in zip(tagger.emissions(batch), batch.lengths.tolist(), strict=True)]
    chain = Chain.from_sentences(rows, *tagger.head.scores())
    found = [part.tolist() for part in chain.split(viterbi(chain).labels)]
    assert found == [row[: len(words)].tolist() for row, words in zip(tags, sentences, strict=True)]
    assert float(loss.detach()) < 0.2
    assert TABLE.num_words == tagger.encoder.words.num_embeddings
