"""What a training run of a semi-CRF leaves on the way, and what there is to see of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline import InputError, SemiCRF
from tagline.datasets import make_entities

CORPUS = make_entities(40)


def model(**settings: Any) -> SemiCRF:
    return SemiCRF("U00:%x[0,0]\nU01:%x[-1,0]", scheme="IOB2", c2=0.5, **settings)


@pytest.mark.parametrize("settings", [{}, {"c1": 0.2}])
def test_a_run_that_is_resumed_ends_with_the_same_weights(settings: dict[str, Any], tmp_path: Path) -> None:
    whole = model(max_iterations=12, **settings).fit(CORPUS)
    file = tmp_path / "state"
    model(max_iterations=5, **settings).fit(CORPUS, checkpoint=file, save_every=0)
    again = model(max_iterations=12, **settings).fit(CORPUS, checkpoint=file, resume=True)
    assert [done.objective for done in again.training_log_] == [done.objective for done in whole.training_log_]
    for name, table in whole.parameters_.tables.named().items():
        np.testing.assert_array_equal(again.parameters_.tables.named()[name], table)
    with pytest.raises(InputError, match=r"state: .*one that differs: c2 was 0\.5 and is 0\.4"):
        SemiCRF("U00:%x[0,0]\nU01:%x[-1,0]", scheme="IOB2", c2=0.4, **settings).fit(
            CORPUS, checkpoint=file, resume=True
        )
    with pytest.raises(InputError):
        model(**settings).fit(CORPUS[:39], checkpoint=file, resume=True)


def test_the_log_has_a_line_a_pass(tmp_path: Path) -> None:
    model(max_iterations=3).fit(CORPUS, log=tmp_path / "log")
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [event["event"] for event in events] == ["start", "pass", "pass", "pass", "end"]
    assert events[0]["model"] == "semicrf"


def test_a_view_shows_what_speaks_for_tags_and_segments() -> None:
    crf = model(max_iterations=10).fit(CORPUS)
    view = crf.view(2)
    assert set(view.features) == {*crf.labels_, *(f"segment {name}" for name in crf.segment_labels_)}
    table = crf.parameters_.tables.segments[:, crf.segment_labels_.index("PER")]
    best = view.features["segment PER"][0]
    assert best.weight == pytest.approx(table.max())
    assert best.attribute == crf.parameters_.names.names[int(table.argmax())]
    states = crf.parameters_.tables.states[:, crf.labels_.index("B-PER")]
    assert view.features["B-PER"][0].weight == pytest.approx(states.max())
    assert all(first.weight >= second.weight for first, second in zip(*[iter(view.transitions)] * 2, strict=False))
    assert list(crf.view(1, ["B-PER"]).features) == ["B-PER"]
    assert "speaks for segment PER" in view.text()
    with pytest.raises(InputError, match=r"^label: "):
        crf.view(1, ["X"])


def test_a_scheme_is_not_said_to_be_optional() -> None:
    with pytest.raises(InputError, match=r'pass on_illegal="repair" or "drop"$'):
        model(on_illegal="error").fit([["a", "b"]], [["O", "I-PER"]])
