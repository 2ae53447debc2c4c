"""Warnings about data are said by the commands in their own words, not as a line of code."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from .commands import tagline

ROWS = "Anna B-PER\nsaw O\nRome B-LOC\n\n"


@pytest.fixture(autouse=True)
def default_filters() -> None:
    warnings.simplefilter("default")  # pytest restores its own


def test_a_key_of_labels_that_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "doccano.jsonl").write_text('{"text": "Anna sings", "label": [[0, 4, "PER"]]}\n')
    done = tagline("describe", tmp_path / "doccano.jsonl")
    assert done.code == 0
    assert done.err.startswith(f'warning: {tmp_path / "doccano.jsonl"}:1: the key "label" ')
    assert done.err.count("\n") == 1


def test_a_mistyped_tag_and_labels_that_are_seldom(tmp_path: Path) -> None:
    file = tmp_path / "train.txt"
    file.write_text(ROWS * 20 + ROWS.replace("saw O", "saw Q"))
    done = tagline("train", file, "-o", tmp_path / "m.tagline")
    assert done.code == 0, done.err
    assert f"warning: {file}:81, token 1: 'Q' is no tag of IOB2" in done.err
    assert "labels seen fewer than 5 times, which are hardly learned: Q (1)" in done.err
    described = tagline("describe", file).out
    assert f"'Q' is no tag of IOB2, and all others are ({file}:81, token 1)" in described
    assert "seldom     fewer than 5 times: Q (1)" in described
