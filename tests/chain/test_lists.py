"""Labels as lists: from the core, and without it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tagline import compiled
from tagline.chain import label_lists

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
        with pytest.raises(ValueError, match="numbers"):
            label_lists(LABELS, OFFSETS, ["O"])
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
