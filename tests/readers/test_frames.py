"""Data frames and datasets of other libraries, in both directions; each library is tested where it is installed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import tagline
from tagline import CRF, Corpus
from tagline.errors import InputError
from tagline.models.entities import Entity
from tagline.readers import as_corpus, to_dataset
from tagline.readers.tabular import Table

ROWS: dict[str, Any] = {
    "s": [1, 1, 2],
    "word": ["Anna", "sings", "Rome"],
    "pos": ["N", "V", "N"],
    "ner": ["B-PER", "O", "B-LOC"],
}
TAGS = [["B-PER", "O"], ["B-LOC"]]


@pytest.mark.parametrize("library", ["table", "pandas", "polars"])
def test_a_corpus_of_a_frame(library: str) -> None:
    make: Any = Table.of if library == "table" else pytest.importorskip(library).DataFrame
    corpus = Corpus.from_pandas(make(ROWS), token="word", tag="ner", sentence="s", columns=["pos"])
    assert (corpus.names, corpus.tokens, corpus.tags) == (
        ["token", "pos", "tag"],
        [["Anna", "sings"], ["Rome"]],
        TAGS,
    )
    assert Corpus.from_pandas(make({"sentence": [0, 0], "token": ["a", "b"]})).names == ["token"]
    assert as_corpus(make({"sentence": ["x", "y"], "token": [7, 8], "tag": ["A", "B"]})).tokens == [["7"], ["8"]]
    model = CRF("U0:%x[0,0]\n", max_iterations=5).fit(
        make({"sentence": ROWS["s"], "token": ROWS["word"], "tag": ROWS["ner"]})
    )
    assert model.labels_ == ["B-LOC", "B-PER", "O"]


@pytest.mark.parametrize(
    ("rows", "how", "place"),
    [
        ({"a": [1]}, {}, r"^data frame: .*tokens"),
        (ROWS, {"sentence": "t"}, r"^sentence: .*'t'"),
        ({**ROWS, "s": [1, 2, 1]}, {"sentence": "s"}, r"^s: "),
        ({**ROWS, "word": ["a", None, "c"]}, {"sentence": "s"}, r"^data frame: .*keep_default_na="),
        (ROWS, {"sentence": "s", "columns": ["x"]}, r"^X: .*'x'"),
    ],
)
def test_frames_that_are_no_corpus(rows: Any, how: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        Corpus.from_pandas(Table.of(rows), **how)


def test_what_is_no_frame() -> None:
    with pytest.raises(InputError, match=r"^data: "):
        Corpus.from_pandas(3)


# Entities.

FOUND = [[Entity(0, 1, "PER", 0.9, "Anna", 0, 4)], [], [Entity(2, 4, "LOC", 0.5, "New York", 9, 17)]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_entities_as_a_frame(library: str) -> None:
    pytest.importorskip(library)
    frame = tagline.entities_frame(FOUND, library=library)
    rows = frame.to_dict("records") if library == "pandas" else frame.to_dicts()
    assert [(row["sentence"], row["type"], row["text"], row["probability"]) for row in rows] == [
        (0, "PER", "Anna", 0.9),
        (2, "LOC", "New York", 0.5),
    ]
    text = SimpleNamespace(entities=tuple(FOUND[0]))  # as `tag` gives it
    assert len(tagline.entities_frame(text, library=library)) == 1
    keyed = tagline.entities_frame([text, text], keys=["a", "b"], library=library)
    assert list(keyed["sentence"]) == ["a", "b"]
    assert "probability" in tagline.entities_frame([], library=library).columns


def test_entities_that_are_none() -> None:
    for found, how, place in (
        (3, {}, r"^found: "),
        (["a"], {}, r"^found\[0\]: .*'a'"),
        ([SimpleNamespace(entities=None)], {}, r"^found\[0\]: .*labels"),
        (FOUND, {"keys": [1]}, r"^keys: "),
        (FOUND, {"library": "dask"}, r"^library: .*'dask'"),
    ):
        with pytest.raises(InputError, match=place):
            tagline.entities_frame(found, **how)


def test_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match=r"^entities_frame: "):
        tagline.entities_frame(FOUND)
    with pytest.raises(ImportError, match=r"^to_dataset: "):
        to_dataset(Corpus.from_sentences([(["a"], ["A"])]))


# Datasets of Hugging Face.


class Labels:
    """A list of class labels, as a dataset describes it."""

    feature = SimpleNamespace(names=["O", "B-PER"])


class Dataset:
    """What is asked of a dataset."""

    column_names = ("tokens", "ner_tags")
    features = {"ner_tags": Labels()}  # noqa: RUF012

    def __init__(self, tags: list[list[int]]) -> None:
        self.columns_by_name: dict[str, Any] = {"tokens": [["Anna", "sings"]], "ner_tags": tags}

    def __getitem__(self, name: str) -> Any:
        return self.columns_by_name[name]


def test_class_labels_are_names() -> None:
    assert as_corpus(Dataset([[1, 0]])).tags == [["B-PER", "O"]]
    with pytest.raises(InputError, match=r"^sentence 0: "):
        as_corpus(Dataset([[1, -1]]))  # not the last name, as Python counts


def test_datasets_there_and_back() -> None:
    datasets: Any = pytest.importorskip("datasets")
    corpus = Corpus.from_pandas(Table.of(ROWS), token="word", tag="ner", sentence="s", columns=["pos"])
    data = to_dataset(corpus)
    assert isinstance(data, datasets.Dataset)
    assert data.features["ner_tags"].feature.names == ["B-LOC", "B-PER", "O"]
    assert data["pos"] == [["N", "V"], ["N"]]
    again = as_corpus(data)
    assert (again.tokens, again.tags) == (corpus.tokens, corpus.tags)
    model = CRF("U0:%x[0,0]\n", max_iterations=5).fit(data)
    assert model.predict(data) == TAGS
