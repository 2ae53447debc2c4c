"""How large models may be: refused or said beforehand, not found out by a full memory or after an hour."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from tagline import CRF, HMM, InputError, StorageError, load, storage
from tagline.models import sizes

X, Y = [["Anna", "sings"], ["Bob", "sees", "Rome"]], [["B-PER", "O"], ["B-PER", "O", "B-LOC"]]


def small() -> CRF:
    return CRF("U:%x[0,0]\nB\n", scheme="IOB2").fit(X, Y)


def test_a_small_file_names_no_host_of_labels(tmp_path: Path) -> None:
    """16,001 labels in 200 KB would take tables of two gigabytes."""
    path = tmp_path / "small.tagline"
    small().save(path)
    file = storage.read(path)
    many = [*file.config["labels"], *(f"B-{k}" for k in range(16_000))]
    storage.write(tmp_path / "large.tagline", {**file.config, "labels": many}, file.tensors)
    with pytest.raises(StorageError, match=r"large\.tagline: .*labels"):
        load(tmp_path / "large.tagline")
    fewer = [*file.config["labels"], *(f"B-{k}" for k in range(2_000))]
    storage.write(tmp_path / "large.tagline", {**file.config, "labels": fewer}, file.tensors)
    assert len(load(tmp_path / "large.tagline").labels_) == 2_003


def test_a_file_may_ask_for_more_the_larger_it_is() -> None:
    counts = [sizes.affordable_labels(size) for size in (0, 10**5, 10**6, 10**9)]
    assert counts == sorted(counts)
    assert counts[0] ** 2 * 8 <= sizes.FREE_BYTES < (counts[0] + 1) ** 2 * 8
    assert counts[-1] == sizes.MOST_LABELS


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, path = small(), tmp_path / "m.tagline"
    model.save(path)
    monkeypatch.setattr(sizes, "FREE_BYTES", 0)
    monkeypatch.setattr(sizes, "BYTES_PER_BYTE", 0)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"^save: "):
        model.save(path)
    assert path.read_bytes() == before


def test_more_labels_than_any_model_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST_LABELS", 2)
    for model in (CRF("U:%x[0,0]\nB\n"), HMM()):
        with pytest.raises(InputError, match=r"^labels: "):
            model.fit(X, Y)


class TestCost:
    def test_it_is_said_before_a_long_training(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(sizes, "PAIR_SECONDS", 4.0)
        small()
        assert "3 labels: a pass over 5 tokens takes tokens x labels^2 steps, about " in caplog.text
        caplog.clear()
        HMM(n_states=4, max_iterations=2, random_state=0).fit([[0, 1, 0, 1]])
        assert "4 labels: a pass over 4 tokens" in caplog.text

    @pytest.mark.parametrize(
        ("tokens", "labels", "shown"),
        [(200_000, 9, ""), (200_000, 44, ""), (1_000, 5_000, "100 seconds"), (100_000, 5_000, "3 hours")],
    )
    def test_estimates(self, caplog: pytest.LogCaptureFixture, tokens: int, labels: int, shown: str) -> None:
        with caplog.at_level(logging.WARNING, "tagline"):
            sizes.warn_of_cost(tokens, labels, threads=1)
        assert (shown in caplog.text) if shown else not caplog.text


def test_dense_tables_pay_for_themselves(tmp_path: Path) -> None:
    """A model whose file holds its tables may have any number of labels."""
    states = 3_000
    rng = np.random.default_rng(0)
    model = HMM(n_states=states, max_iterations=1, random_state=0).fit([rng.integers(0, 2, 3).tolist()])
    model.save(tmp_path / "hmm.tagline")
    assert len(load(tmp_path / "hmm.tagline").labels_) == states
