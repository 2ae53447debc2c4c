"""Labels as lists: from the core, and without it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tagline import compiled
from tagline.chain import label_lists
from tagline.errors import InputError

OFFSETS = np.array([0, 2, 2, 5])
LABELS = np.array([1, 0, 2, 2, 0])


@pytest.mark.parametrize("core", [True, False])
def test_labels_are_cut_at_the_offsets(core: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not core:
        monkeypatch.setattr(compiled, "core", None)
    assert label_lists(LABELS, OFFSETS) == [[1, 0], [], [2, 2, 0]]
    assert label_lists(LABELS, OFFSETS, ["O", "B", "I"]) == [["B", "O"], [], ["I", "I", "O"]]
    assert label_lists(LABELS[:0], np.zeros(1, np.int64)) == []


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(enabled: bool) -> None:
    pytest.importorskip("tagline._core")
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        label_lists(LABELS, OFFSETS)
        with pytest.raises(ValueError, match=r"^numbers: "):
            compiled.core.lists_of(("O",), LABELS, OFFSETS)  # type: ignore[union-attr]
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("core", [True, False])
@pytest.mark.parametrize(
    ("labels", "offsets", "place"),
    [
        ([-1, 0], [0, 2], r"^labels: "),
        ([0, 2], [0, 2], r"^labels: "),
        ([0.0, 1.7], [0, 2], r"^labels: "),
        ([0, 1], [0, 3], r"^offsets: "),
        ([0, 1], [1, 2], r"^offsets: "),
        ([0, 1], [0, 2, 1, 2], r"^offsets: "),
        ([0, 1], [], r"^offsets: "),
    ],
)
def test_wrong_arguments(
    core: bool, labels: list[float], offsets: list[int], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not core:
        monkeypatch.setattr(compiled, "core", None)
    with pytest.raises(InputError, match=place):
        label_lists(np.array(labels), np.array(offsets, np.int64), ["O", "B"])


def test_lists_and_other_types_are_taken() -> None:
    assert label_lists([1, 0], [0, 1, 2]) == [[1], [0]]  # type: ignore[arg-type]
    assert label_lists(np.array([1, 9, 0], np.int32)[::2], np.array([0, 1, 2], np.int32)) == [[1], [0]]
