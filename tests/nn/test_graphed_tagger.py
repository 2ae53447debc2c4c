"""The loss of a whole BiLSTM tagger from CUDA graphs, against the same tagger asked step by step.

What is recorded runs on a CPU, too; the graphs themselves need a GPU.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tagline.nn import graphs  # noqa: E402
from tagline.nn.batches import WordBatch  # noqa: E402
from tagline.nn.heads import CRFHead, Head, SoftmaxHead, Tagger  # noqa: E402
from tagline.readers.schemes import legal  # noqa: E402

from .encoder_cases import batch_of, encoder_of  # noqa: E402

LABELS = ["O", "B-X", "I-X"]
WORDS = ["Anna", "sings", "a", "very", "long", "sentence", "in", "1996", "Internationalization", "?"]
KINDS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "CNN and CRF": (CRFHead, {}, {}),
    "LSTM of characters": (CRFHead, {"characters": "lstm"}, {}),
    "no characters, no case": (CRFHead, {"characters": None, "case_dim": 0}, {}),
    "bigrams and two layers": (CRFHead, {"bigram_dim": 4, "layers": 2}, {}),
    "fixed words": (CRFHead, {"freeze_words": True}, {}),
    "rules": (CRFHead, {}, {"rules": legal(LABELS, "IOB2")}),
    "smoothing": (CRFHead, {}, {"smoothing": 0.1}),
    "softmax": (SoftmaxHead, {}, {"smoothing": 0.1}),
}
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")


def tagger_of(kind: str = "CNN and CRF", device: str = "cuda", dropout: float = 0.0, **more: Any) -> Tagger:
    head, encoder, options = KINDS[kind]
    made = encoder_of(dropout=dropout, **encoder, **more)
    return Tagger(made, head(made.size, len(LABELS), **options)).to(device, torch.float64).train()


def case(B: int, T: int, device: str = "cuda", seed: int = 0) -> tuple[WordBatch, Any]:
    """A batch with a full sentence and an empty one, and its labels: legal ones, nonsense at padding."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, T + 1, B)
    lengths[0], lengths[-1] = T, T if B == 1 else 0
    sentences = [[WORDS[k] for k in rng.integers(0, len(WORDS), length)] for length in lengths]
    labels = torch.tensor([0, 1, 2])[torch.arange(B * T).view(B, T) % T % 3]
    labels = torch.where(torch.arange(T) < torch.from_numpy(lengths)[:, None], labels, 77)
    return batch_of(sentences).to(device), labels.to(device)


def slopes(tagger: Tagger, loss: Any) -> list[Any]:
    trained = [weight for weight in tagger.parameters() if weight.requires_grad]
    return [loss.detach(), *torch.autograd.grad(loss, trained, retain_graph=True)]


def stepwise(tagger: Tagger, batch: WordBatch, labels: Any, weights: Any = None) -> Any:
    return Head.loss(tagger.head, tagger.emissions(batch), labels, batch.device_lengths, weights)


def close(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6 * max(1.0, float(other.abs().max())))


def check(tagger: Tagger, batch: WordBatch, labels: Any, weights: Any = None) -> None:
    found = tagger(batch, labels, weights)
    expected = slopes(tagger, stepwise(tagger, batch, labels, weights))
    for _ in range(2):
        close(slopes(tagger, found), expected)


def recorded(tagger: Tagger) -> int:
    return len(tagger._graphed._graphs)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_recorded_ignores_padding(kind: str) -> None:
    tagger = tagger_of(kind, "cpu")
    (B, T), (U, C) = (5, 9), (40, 16)
    batch, labels = case(B, T, "cpu")
    inputs = (batch.forms, batch.words, batch.cases, batch.characters, labels, batch.device_lengths)
    sizes = ((8, 16), (U,), (U,), (U, C), (8, 16), (8,))
    places, _ = graphs._places_for(inputs, sizes)
    for place, values in zip(places, inputs, strict=True):
        graphs._front(place, values).copy_(values)
    losses = tagger._recorded_losses(*places)
    assert losses[B:].tolist() == [0.0] * 3
    close(slopes(tagger, losses.sum() / B), slopes(tagger, stepwise(tagger, batch, labels)))


def test_a_cpu_replays_nothing() -> None:
    tagger = tagger_of(device="cpu")
    tagger(*case(3, 4, "cpu"))
    assert not recorded(tagger)


@on_gpu
@pytest.mark.parametrize("kind", KINDS)
def test_replays_equal_single_steps(kind: str) -> None:
    tagger = tagger_of(kind)
    for number, (B, T) in enumerate([(30, 45), (32, 48), (3, 1), (9, 17), (30, 45)]):  # the first two share a graph
        check(tagger, *case(B, T, seed=number))
        check(tagger, *case(B, T, seed=number), torch.rand(B).cuda())
    assert recorded(tagger) == 3


@on_gpu
def test_other_passes_before_the_backward_pass() -> None:
    tagger = tagger_of()
    cases = [case(12, 20, seed=1), case(12, 20, seed=2), case(5, 40, seed=3)]
    losses = [tagger(*batch) for batch in cases]
    for batch, loss in zip(cases, losses, strict=True):
        close(slopes(tagger, loss), slopes(tagger, stepwise(tagger, *batch)))


@on_gpu
def test_losses_are_scaled_and_gradients_add_up() -> None:
    tagger = tagger_of()
    first, second = case(12, 20, seed=1), case(5, 9, seed=2)
    (3 * tagger(*first)).backward()
    (-tagger(*second)).backward()
    found = [weight.grad.clone() for weight in tagger.parameters()]
    tagger.zero_grad()
    (3 * stepwise(tagger, *first) - stepwise(tagger, *second)).backward()
    close(found, [weight.grad for weight in tagger.parameters()])


@on_gpu
def test_weights_that_change_move_or_rest() -> None:
    tagger, batch = tagger_of(), case(12, 20)
    check(tagger, *batch)
    with torch.no_grad():
        for weight in tagger.parameters():
            weight.mul_(0.7)
    check(tagger, *batch)
    assert recorded(tagger) == 1
    tagger.cpu().cuda()
    check(tagger, *batch)
    tagger.encoder.layers.requires_grad_(False)
    check(tagger, *batch)
    tagger(*batch).backward()
    assert all(weight.grad is None for weight in tagger.encoder.layers.parameters())


@on_gpu
@pytest.mark.parametrize("noise", [{"dropout": 0.4}, {"word_dropout": 0.4}])
def test_noise_is_drawn_in_replays_alone(noise: Any) -> None:
    """Recording draws nothing, so that a run that is resumed, and records later, comes to the same numbers."""
    tagger, batch = tagger_of(**noise), case(8, 16)
    torch.manual_seed(1)
    first = [tagger(*batch).item() for _ in range(3)]
    state = torch.cuda.get_rng_state()
    after = tagger(*batch).item()
    torch.manual_seed(1)
    again = [tagger(*batch).item() for _ in range(3)]
    assert first == again
    assert len({*first, after}) == 4
    torch.cuda.set_rng_state(state)
    assert copy.deepcopy(tagger)(*batch).item() == after


@on_gpu
def test_noise_of_a_full_graph_is_that_of_single_steps() -> None:
    tagger, batch = tagger_of(dropout=0.4), case(8, 16)
    for seed in range(3):
        torch.manual_seed(seed)
        found = [slopes(tagger, tagger(*batch)) for _ in range(2)]
        torch.manual_seed(seed)
        for one in found:
            close(one, slopes(tagger, stepwise(tagger, *batch)))


@on_gpu
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_twice(kind: str) -> None:
    tagger, batch = tagger_of(kind, dropout=0.4).float(), case(8, 16)
    runs = []
    for _ in range(3):
        torch.manual_seed(1)
        runs.append(slopes(tagger, tagger(*batch)))
    for again in runs[1:]:
        assert all(torch.equal(one, other) for one, other in zip(runs[0], again, strict=True))


@on_gpu
def test_other_noise_is_recorded_anew() -> None:
    tagger, batch = tagger_of(dropout=0.4), case(8, 16)
    tagger(*batch)
    tagger.encoder.dropout.p = 0.0
    check(tagger, *batch)


@on_gpu
def test_half_precision() -> None:
    tagger, (batch, labels) = tagger_of().float(), case(12, 20)
    with torch.autocast("cuda", torch.bfloat16):
        found = slopes(tagger, tagger(batch, labels))
        expected = slopes(tagger, stepwise(tagger, batch, labels))
    assert recorded(tagger) == 1
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0.02, atol=0.05)
    with torch.autocast("cuda", torch.float16):  # whose gradients are scaled up before the backward pass
        tagger(batch, labels)
    assert recorded(tagger) == 1


@on_gpu
def test_parts_that_are_asked_about_run_by_themselves() -> None:
    tagger, batch = tagger_of(dropout=0.4), case(8, 16)
    tagger.encoder.dropout.eval()
    check(tagger, *batch)
    tagger.train()
    seen: list[Any] = []
    handle = tagger.encoder.register_forward_hook(lambda module, inputs, output: seen.append(output))
    tagger(*batch)
    assert len(seen) == 1
    assert not recorded(tagger)
    handle.remove()
    with torch.no_grad():
        tagger(*batch)
    assert not recorded(tagger)
    tagger(*batch)
    assert recorded(tagger) == 1


@on_gpu
def test_copies_record_their_own() -> None:
    tagger, batch = tagger_of(), case(8, 16)
    check(tagger, *batch)
    expected = slopes(tagger, stepwise(tagger, *batch))
    for other in (copy.deepcopy(tagger), pickle.loads(pickle.dumps(tagger))):
        assert not recorded(other)
        close(slopes(other, other(*batch)), expected)
        check(tagger, *batch)
