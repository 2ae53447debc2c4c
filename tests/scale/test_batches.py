"""A model as a function of batches: pandas, PyArrow and NumPy, at hand and in Ray Data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import InputError, scale
from tagline.datasets import make_entities
from tagline.scale.cluster import Cluster, quiet_data

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

TEXTS = ["Anna Smith lives in Oslo.", "Rain falls.", "Peter Oduya met Maria Lindqvist on 3 May 2021."]


def as_numpy(rows: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: pandas.Series(values, dtype=object).to_numpy() for name, values in rows.items()}


FORMS = {"pandas": pandas.DataFrame, "pyarrow": pyarrow.table, "numpy": as_numpy}


def column(table: Any, name: str) -> list[Any]:
    values = table[name]
    return values.to_pylist() if hasattr(values, "to_pylist") else list(values)


@pytest.mark.parametrize("form", FORMS)
class TestForms:
    def test_texts(self, model: Path, form: str) -> None:
        crf = tagline.load(model)
        tagged = scale.udf(model, spans=True, marginals=True)(FORMS[form]({"text": [*TEXTS, None], "id": [1, 2, 3, 4]}))
        assert type(tagged) is type(FORMS[form]({"id": [1]}))
        assert column(tagged, "id") == [1, 2, 3, 4]
        assert column(tagged, "tags")[3] is None
        for row, text in enumerate(TEXTS):
            told = crf.tag(text)
            assert list(column(tagged, "tags")[row]) == told.labels
            assert list(column(tagged, "tokens")[row]) == [token.text for token in told.tokens]
            spans = [(span["text"], span["type"], span["char_start"]) for span in column(tagged, "spans")[row]]
            assert spans == [(entity.text, entity.type, entity.start) for entity in told.entities or ()]
            marginals = crf.predict_marginals([[token.text for token in told.tokens]])[0]
            best = [chances[label] for chances, label in zip(marginals, told.labels, strict=True)]
            np.testing.assert_allclose(column(tagged, "probabilities")[row], best, rtol=0, atol=1e-12)

    def test_tokens(self, model: Path, form: str) -> None:
        crf, sentences = tagline.load(model), make_entities(20).tokens
        batch = FORMS[form]({"words": sentences})
        for tagger in (scale.udf(model, columns="words"), scale.udf(crf, columns=["words"])):
            assert [list(tags) for tags in column(tagger(batch), "tags")] == list(crf.predict(sentences))
        assert "tags" not in list(
            batch.columns if form == "pandas" else batch.column_names if form == "pyarrow" else batch
        )

    def test_an_empty_batch(self, model: Path, form: str) -> None:
        empty = FORMS[form]({"text": ["x"]})
        empty = {"text": empty["text"][:0]} if form == "numpy" else empty[:0]
        assert column(scale.udf(model)(empty), "tags") == []


class TestErrors:
    def test_bad_batches(self, model: Path) -> None:
        tagger = scale.udf(model)
        with pytest.raises(InputError, match=r"^batch: "):
            tagger({"id": [1]})
        with pytest.raises(InputError, match=r"^row 1 of a batch: "):
            tagger({"text": ["a", 5]})
        with pytest.raises(InputError, match=r"^row 0 of a batch: "):
            tagger({"tokens": ["Anna"]})
        with pytest.raises(InputError, match=r"^batch: "):
            tagger(5)
        with pytest.raises(InputError, match=r"^columns: "):
            scale.udf(model, columns=("tokens", "pos"))({"tokens": [["a", "b"]], "pos": [["X"]]})

    def test_bad_models(self, tmp_path: Path) -> None:
        with pytest.raises(tagline.StorageError, match=r"none\.tagline: "):
            scale.udf(tmp_path / "none.tagline")
        with pytest.raises(InputError, match=r"^model: "):
            scale.udf(5)  # type: ignore[arg-type]

    def test_columns_that_are_too_few(self) -> None:
        crf = tagline.CRF("U00:%x[0,0]\nU01:%x[0,1]").fit([[("a", "X"), ("b", "Y")]], [["A", "B"]])
        with pytest.raises(InputError, match=r"^columns: "):
            scale.udf(crf)({"tokens": [["a"]]})
        tags = scale.udf(crf, columns=("tokens", "pos"))({"tokens": [["b", "a"]], "pos": [["Y", "X"]]})["tags"]
        assert tags[0] == crf.predict([[("b", "Y"), ("a", "X")]])[0]

    def test_no_dataset(self, cluster: Cluster, model: Path) -> None:
        with pytest.raises(InputError, match=r"^dataset: .*ray\.data"):
            scale.tag([], model)


def test_a_dataset_of_ray_data(cluster: Cluster, model: Path) -> None:
    data, crf = quiet_data(), tagline.load(model)
    sentences = make_entities(300, seed=2).tokens
    dataset = data.from_items([{"n": n, "tokens": tokens} for n, tokens in enumerate(sentences)], override_num_blocks=4)
    labels = crf.predict(sentences)
    for tagged in (
        scale.tag(dataset, model, workers=2),
        dataset.map_batches(scale.udf(model), batch_format="pandas"),
    ):
        rows = {row["n"]: list(row["tags"]) for row in tagged.iter_rows()}
        assert [rows[n] for n in range(len(sentences))] == list(labels)
