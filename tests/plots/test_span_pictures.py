"""Spans over their text: what overlaps is drawn under each other, probabilities are the model's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawing.pages import Fragment

from tagline import CRF, Corpus, InputError, TrigramTagger, plots
from tagline.plots import Mark

from .test_trellis import EVIL

SENTENCES = [(["Anna", "Smith", "sings"], ["B-PER", "I-PER", "O"]), (["Rome", "sleeps"], ["B-LOC", "O"])]


@pytest.fixture(scope="module")
def model() -> CRF:
    return CRF("english_ner", c2=0.5, scheme="auto", max_iterations=5).fit(Corpus.from_sentences(SENTENCES * 2))


def test_overlapping_spans_share_no_line() -> None:
    marks = [Mark(5, 10, "PER", 0.3), Mark(0, 10, "PER", 0.6), Mark(0, 4, "LOC", 0.2), Mark(11, 16, "X")]
    drawn = plots.spans("Anna Smith sings", marks)
    assert str(drawn).splitlines() == ["[PER Anna Smith 0.600] [X sings]", "[LOC Anna 0.200] [PER Smith 0.300] sings"]
    page = Fragment(drawn.html())
    assert "Anna SmithPER 0.600" in page.words
    assert page.marks == 4
    assert "\x1b[30;" in drawn.text(colour=True)


def test_readings_that_the_caller_has() -> None:
    drawn = plots.spans(["Anna", "Smith"], [[Mark(0, 2, "PER", 0.7)], [Mark(0, 1, "PER", 0.2)], []])
    assert str(drawn).splitlines() == ["[PER Anna Smith 0.700]", "[PER Anna 0.200] Smith", "Anna Smith"]
    assert str(plots.spans("Anna", [])) == "Anna"
    assert str(plots.spans("", [])) == ""


def test_what_show_takes(model: CRF) -> None:
    tagged = model.tag("Anna Smith sings")
    assert str(plots.spans(tagged)) == str(plots.spans("Anna Smith sings", list(tagged.entities or ())))
    assert str(plots.spans(["Anna", "sings"], ["B-PER", "O"])) == "[PER Anna] sings"


def test_the_k_best_readings_of_a_model(model: CRF) -> None:
    drawn = plots.spans(model, "Anna  Smith sleeps", k=4)
    best = model.predict_k_best([["Anna", "Smith", "sleeps"]], 4)[0]
    lines = str(drawn).splitlines()
    assert [line.split()[0] for line in lines] == [f"{labelling.probability:.4f}" for labelling in best]
    assert all("Anna  Smith" in line or "] " in line for line in lines)
    entity = model.predict_spans([["Anna", "Smith", "sleeps"]])[0][0]
    shown = [piece for piece in drawn.lines[0] if piece.label is not None]
    assert shown[0].probability == pytest.approx(entity.probability, abs=1e-6)
    assert str(plots.spans((model, "Anna Smith sleeps"))) == str(plots.spans(model.tag("Anna Smith sleeps")))
    fixed = plots.spans(model, ["Anna", "sleeps"], known=["B-LOC", None])
    assert str(fixed).startswith("[LOC Anna 1.000]")
    assert str(plots.spans(model, "")) == ""


def test_labels_of_no_scheme() -> None:
    tagger = TrigramTagger().fit(Corpus.from_sentences([(["the", "dog"], ["DET", "NOUN"]), (["dog"], ["NOUN"])] * 3))
    drawn = plots.spans(tagger, ["the", "dog"])
    assert [piece.label for piece in drawn.lines[0] if piece.label] == ["DET", "NOUN"]


def test_chinese_and_hostile_texts(tmp_path: Path) -> None:
    drawn = plots.spans(list("张伟在上海"), [Mark(0, 2, EVIL, 0.9), Mark(3, 5, "LOC", 0.8)], tmp_path / "page.html")
    assert str(drawn) == f"[{EVIL} 张伟 0.900]在[LOC 上海 0.800]"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<img" not in page
    assert "<img" not in plots.spans(EVIL, [Mark(0, 4, "X")]).html()
    drawn.save(tmp_path / "plain.txt")
    assert (tmp_path / "plain.txt").read_text(encoding="utf-8") == f"{drawn}\n"


def test_refusals(model: CRF, tmp_path: Path) -> None:
    for arguments, how, message in (
        (("Anna", [Mark(0, 9, "PER")]), {}, r"^answers: "),
        (("Anna", [Mark(0, 4, "PER")]), {"k": 2}, r"^k, known: "),
        (("Anna", [Mark(0, 4, "PER")], tmp_path / "x.png"), {}, r"^path: .*\.html, \.txt"),
        ((model,), {}, r"^sentence: .*None"),
        ((model, "Anna"), {"k": 0}, r"^k: "),
        ((model, 3), {}, r"^sentence: .*\b3\b"),
        ((model.summary(),), {}, r"\bCRFSummary\b"),
    ):
        with pytest.raises(InputError, match=message):
            plots.spans(*arguments, **how)
