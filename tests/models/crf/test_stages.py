"""Two stages: a document tells what a sentence alone cannot; files, doors, and labels that were not peeked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import tagline
from tagline import CRF, InputError, StorageError, storage
from tagline.features.documents import COLUMNS
from tagline.interop.formats import write_model
from tagline.models.crf.file import unpack
from tagline.models.crf.stages import first_stage

from .documents import TEMPLATE, documents, loaded_everywhere, marked


def two_stages(**settings: Any) -> CRF:
    X, y, sizes = documents(60)
    return CRF(TEMPLATE, c2=0.1, scheme="IOB2", stages=2, **settings).fit(X, y, documents=sizes)


def test_the_document_tells() -> None:
    X, y, sizes = documents(40, seed=1)
    train_X, train_y, _ = documents(60)
    alone = CRF(TEMPLATE, c2=0.1, scheme="IOB2").fit(train_X, train_y)
    crf = two_stages()
    assert alone.score(X, y) <= 0.9
    assert crf.score(X, y, documents=sizes) == 1.0
    assert [row for n, row in enumerate(crf.predict(marked(X))) if n % 3] == y


def test_files_and_pickles_keep_both_stages(tmp_path: Path) -> None:
    crf = two_stages(clusters={"mr": "title"})
    assert crf.input_.columns == 1
    loaded_everywhere(crf, tmp_path)
    file = storage.read(tmp_path / "one")
    for config in ({**file.config, "first": 3}, {**file.config, "first": file.config}):
        with pytest.raises(StorageError):
            unpack(storage.loads(storage.dumps(config, file.tensors)))


def test_without_dates_two_runs_make_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in "01":
        monkeypatch.setenv("SOURCE_DATE_EPOCH", day)
        two_stages().save(tmp_path / day, date=False)
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    assert tagline.load(tmp_path / "0").training_.date == ""


def test_training_labels_come_from_models_that_have_not_seen_them() -> None:
    # Every word is new, with a random label: only who has learned from a sentence knows it.
    rng = np.random.default_rng(0)
    X = [[f"w{n}", f"w{n}"] for n in range(50)]
    y = [[str(label)] * 2 for label in rng.choice(["A", "B"], 50)]
    crf = CRF("U00:%x[0,0]\nB\n", c2=0.01, stages=2)
    column = first_stage(crf, X, y, [1] * 50).sentences.column(COLUMNS[0]).strings
    agreement = np.mean([seen == row[0] for seen, row in zip(column[::2], y, strict=True)])
    assert agreement < 0.8
    assert CRF("U00:%x[0,0]\nB\n", c2=0.01).fit(X, y).predict(X) == y


def test_dev_sets_and_explanations_see_the_stage() -> None:
    X, y, sizes = documents(60)
    X_dev, y_dev, sizes_dev = documents(10, seed=2)
    crf = CRF(TEMPLATE, c2=0.1, scheme="IOB2", stages=2, max_iterations=30)
    crf.fit(X, y, documents=sizes, X_dev=X_dev, y_dev=y_dev, documents_dev=sizes_dev)
    assert crf.training_log_[-1].dev_score == 1.0
    assert len(crf.explain(["Mr", "Who"]).tokens) == 2
    assert crf.predict([]) == []


@pytest.mark.parametrize(
    ("settings", "inputs", "place"),
    [
        ({"stages": 3}, {}, "stages: expected .* 2, got 3"),
        ({"stages": 1}, {"documents": [1]}, "documents: expected None with one stage"),
        ({"stages": 2, "features": None}, {}, "stages: expected 1 without a template"),
        ({"stages": 2, "warm_start": True}, {}, "warm_start: expected False beside stages=2"),
        (
            {"stages": 2, "features": "U80:%v[0,0]\nB\n", "vectors": {"mr": [1.0]}},
            {},
            r"^stages: ",
        ),
        ({"stages": 2}, {"documents": [4]}, r"^documents: "),
        ({"stages": 2}, {"documents": [4, 4]}, r"^documents: "),
    ],
)
def test_what_cannot_be_meant(settings: dict[str, Any], inputs: dict[str, Any], place: str) -> None:
    X, y, _ = documents(2)
    with pytest.raises(InputError, match=place):
        CRF(**{"features": TEMPLATE, **settings}).fit(X, y, **inputs)


def test_crfsuite_holds_one_stage(tmp_path: Path) -> None:
    X, y, sizes = documents(12)
    crf = CRF(TEMPLATE, stages=2).fit(X, y, documents=sizes)
    with pytest.raises(InputError, match=r"^model: "):
        write_model(crf, tmp_path / "model", "crfsuite")


def test_documents_need_two_stages() -> None:
    X, y, sizes = documents(4)
    with pytest.raises(InputError, match=r"^documents: "):
        CRF(TEMPLATE).fit(X, y).predict(X, documents=sizes)
    with pytest.raises(InputError, match=r"^stages: .*partial_fit"):
        CRF(TEMPLATE, stages=2).partial_fit(X, y)


def test_a_loaded_model_is_trained_anew_as_the_first_one_was(tmp_path: Path) -> None:
    X, y, sizes = documents(60)
    new, _, new_sizes = documents(20, seed=1)
    vectors = {"mr": [1.0, 0.0], "visit": [0.0, 1.0]}
    crf = two_stages(clusters={"mr": "title"}, vectors=vectors)
    crf.save(tmp_path / "model")
    again = clone(tagline.load(tmp_path / "model")).fit(X, y, documents=sizes)
    assert again.objective_ == pytest.approx(crf.objective_, rel=1e-6)
    assert again.predict(new, documents=new_sizes) == crf.predict(new, documents=new_sizes)
    lines = [{line.text for line in model._extraction.template.lines} for model in (crf, again)]
    assert lines[0] == lines[1]


def test_one_seed_is_drawn_for_both_stages() -> None:
    X, y, sizes = documents(30)
    settings: dict[str, Any] = {"features": TEMPLATE, "stages": 2, "algorithm": "sgd:passes=2"}
    drawn = CRF(**settings, random_state=None).fit(X, y, documents=sizes)
    again = CRF(**settings, random_state=drawn.training_.seed).fit(X, y, documents=sizes)
    ours, theirs = drawn._packed()[1], again._packed()[1]
    assert ours.keys() == theirs.keys()
    assert all((ours[name] == theirs[name]).all() for name in ours)


def test_an_interrupt_of_the_first_stage_ends_training(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, sizes = documents(30)
    fitted: list[int] = []

    def interrupted(self: CRF, *args: Any, **kwargs: Any) -> CRF:
        if self.stages == 1:
            self.set_params(callbacks=[_interrupt])
            fitted.append(1)
        return fit(self, *args, **kwargs)

    fit = CRF.fit
    monkeypatch.setattr(CRF, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        CRF(TEMPLATE, stages=2).fit(X, y, documents=sizes)
    assert len(fitted) == 1


def _interrupt(state: Any) -> bool:
    raise KeyboardInterrupt


def test_a_sentence_is_named_by_its_number_in_all_parts() -> None:
    X, y, sizes = documents(8)
    y[13] = ["O", "I-PER", "O"]
    with pytest.raises(InputError, match=r"^sentence 13: expected tags that IOB2 allows.* 1 of 16 sentences"):
        CRF(TEMPLATE, scheme="IOB2", on_illegal="error", stages=2).fit(X, y, documents=sizes)
