"""Labels that are missing or forbidden, sentences without a legal labelling, teachers that do not fit: all backends."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tagline import InputError  # noqa: E402
from tagline.nn import CRF, losses  # noqa: E402

from .engines import engine  # noqa: E402, F401

B, T, L = 3, 4, 3

pytestmark = pytest.mark.usefixtures("engine")

OBJECTIVES = [
    losses.nll,
    losses.LabelSmoothing(0.1),
    losses.TokenSmoothing(0.1),
    losses.Hinge(),
    losses.SoftmaxMargin(),
    losses.Focal(),
    losses.ClassWeights(torch.tensor([1.0, 0.0, 2.0])),
    losses.EntropyWeight(0.1),
]


def name_of(objective: Any) -> str:
    return str(getattr(objective, "__name__", type(objective).__name__))


def batch(seed: int = 0) -> tuple[CRF, Any]:
    torch.manual_seed(seed)
    return CRF(L, check=True), torch.randn(B, T, L)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=name_of)
def test_labels_are_not_made_up(objective: Any) -> None:
    crf, emissions = batch()
    text = f"tags: expected the labels that the objective {name_of(objective)} reads, got None; Distillation takes none"
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

    with pytest.raises(InputError, match="the objective certainty reads, got None"):
        crf.loss(emissions, None, objective=certainty)
    certainty.needs_labels = False  # type: ignore[attr-defined]
    torch.testing.assert_close(crf.loss(emissions, None, objective=certainty), -emissions.sum())
