"""`tagline train --teacher`: a model in a file teaches another, on labelled and on raw text."""

import pytest

import tagline
from tagline.cli.training import train_file
from tagline.datasets import make_entities
from tagline.errors import InputError
from tagline.readers import write


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("taught")
    corpus = make_entities(300, language="en")
    write(corpus[:40], place / "train.txt")
    write(corpus, place / "much.txt")
    (place / "raw.txt").write_text("".join(" ".join(sentence) + "\n" for sentence in corpus[40:].tokens))
    tagline.CRF("english_ner", scheme="IOB2", c2=0.3).fit(corpus).save(place / "teacher.tagline")
    return place


def train(folder, **run):
    values = {"c2": 0.3, "template": "english_ner", **run}
    return train_file(str(folder / "train.txt"), str(folder / "out.tagline"), "crf", values)


def test_a_file_teaches(folder):
    teacher = str(folder / "teacher.tagline")
    alone, test = train(folder).model, make_entities(200, language="en", seed=5)
    done = train(folder, teacher=teacher, teacher_weight=0.5, unlabelled=str(folder / "raw.txt"))
    assert done.model.training_.sentences > 250
    assert tagline.load(folder / "out.tagline").evaluate(test).spans.f1 > alone.evaluate(test).spans.f1
    columns = train(folder, teacher=teacher, unlabelled=str(folder / "much.txt")).model
    assert columns.training_.sentences == 340


@pytest.mark.parametrize(
    ("run", "place"),
    [
        ({"unlabelled": "raw.txt"}, "--unlabelled: expected .*--teacher MODEL"),
        ({"teacher_weight": 0.5}, "--teacher-weight: expected .*--teacher MODEL"),
        ({"teacher": "teacher.tagline", "cache": "cache"}, "--teacher: expected none beside --cache"),
        ({"teacher": "teacher.tagline", "teacher_weight": 1.5}, "--teacher-weight: expected a number"),
        ({"teacher": "nowhere.tagline"}, "nowhere.tagline"),
    ],
)
def test_what_cannot_be_meant_is_refused(folder, run, place):
    paths = {name: str(folder / value) if isinstance(value, str) else value for name, value in run.items()}
    with pytest.raises((InputError, tagline.StorageError), match=place):
        train(folder, **paths)


def test_a_teacher_is_not_overwritten(folder):
    teacher = str(folder / "teacher.tagline")
    with pytest.raises(InputError, match=r"--output: .* is also read, as --teacher"):
        train_file(str(folder / "train.txt"), teacher, "crf", {"teacher": teacher})
