"""Labels that are there and would not be learned: under a key that is not read, or in some of the lines."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from tagline import readers
from tagline.errors import DataWarning

TEXT = {"text": "Anna saw Rome"}
TOKENS = {"tokens": ["Anna", "saw", "Rome"]}
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("label", {**TEXT, "label": [[0, 4, "PER"]]}),
    ("labels", {**TEXT, "labels": [[0, 4, "PER"]]}),
    ("entities", {**TEXT, "entities": [{"start_offset": 0, "end_offset": 4, "label": "PER"}]}),
    ("tags", {**TEXT, "tags": ["B-PER", "O", "O"]}),
    ("ner_tags", {**TOKENS, "ner_tags": [1, 0, 2]}),
    ("spans", {**TOKENS, "spans": [[0, 1, "PER"]]}),
]


def written(path: Path, *items: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


@pytest.mark.parametrize(("key", "item"), OTHERS, ids=[key for key, _ in OTHERS])
def test_a_key_of_labels_that_is_not_read_is_said_once(key: str, item: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", {"text": "nothing"}, item, item)
    with pytest.warns(DataWarning, match=f'a.jsonl:2: .*"{key}"') as heard:
        corpus = readers.read(path)
    assert len(heard) == 1
    assert heard[0].filename == readers.__file__ or heard[0].filename == __file__
    assert (len(corpus), corpus.names) == (3, ["token"])


@pytest.mark.parametrize(
    "item",
    [TEXT, {**TEXT, "label": "positive"}, {**TEXT, "entities": []}, {**TEXT, "spans": [[0, 4, "PER"]], "label": [1]}],
)
def test_other_keys_are_left_alone(item: dict[str, Any], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(readers.read(written(tmp_path / "a.jsonl", item, item))) == 2


def test_tags_of_some_lines_are_not_left_out_in_silence(tmp_path: Path) -> None:
    tagged = {**TOKENS, "tags": ["B-PER", "O", "B-LOC"]}
    with pytest.warns(DataWarning, match=r"a\.jsonl:2: "):
        assert readers.read(written(tmp_path / "a.jsonl", tagged, TOKENS, tagged)).names == ["token"]
