"""No golden entry is forgotten: each has a test of the engine, or belongs to a later room."""

from __future__ import annotations

from pathlib import Path

import pytest

from .golden import GOLDEN

NOT_INFERENCE = {
    "_meta": "how the file was made",
    "doc001_training_optimum": "training",
    "crfpp_templates": "feature templates",
    "counterexample_003_label_smoothing": "a loss of the document's own, stated without its inputs",
}


@pytest.mark.parametrize("entry", [name for name in GOLDEN if name not in NOT_INFERENCE])
def test_entry_has_a_test(entry: str) -> None:
    rooms = [room for room in Path(__file__).parent.glob("test_golden_*.py") if room.name != Path(__file__).name]
    assert any(f"test_{entry}" in text or f'["{entry}"' in text or f', "{entry}"' in text for text in map(_text, rooms))


def _text(room: Path) -> str:
    return room.read_text(encoding="utf-8")


def test_the_list_of_exceptions_is_up_to_date() -> None:
    assert set(NOT_INFERENCE) <= set(GOLDEN)
