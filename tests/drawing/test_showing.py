"""tagline.show: what it takes, and what notebooks, terminals and files get."""

from __future__ import annotations

import io
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import tagline
from tagline import Corpus, InputError
from tagline.evaluation import evaluate
from tagline.models.answers import Answer
from tagline.models.entities import Entity
from tagline.readers import corpus_of_texts
from tagline.showing import picture

from .pages import Fragment

TEXT = "Anna Smith, of Rome."
ANNA, ROME = Entity(0, 2, "PER", 0.98, "Anna Smith", 0, 10), Entity(4, 5, "LOC", 0.5, "Rome", 15, 19)
SHOWN = "[PER Anna Smith 0.980], of [LOC Rome 0.500]."
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]
EVIL = "<script>alert('&')</script>\x1b[31m\u202e\x00\ud800\""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(*things: Any, **how: Any) -> str:
    out = io.StringIO()
    tagline.show(*things, file=out, **how)
    return out.getvalue().removesuffix("\n")


@pytest.fixture
def corpus() -> Corpus:
    return corpus_of_texts([TEXT, "Rome."])


def by_token(entity: Entity) -> Entity:
    return Entity(entity.start, entity.end, entity.type, entity.probability)


@pytest.mark.parametrize("thing", ["text", "sentence", "tokens"])
def test_a_sentence_beside_what_a_model_says(corpus: Corpus, thing: str) -> None:
    given: Any = {"text": TEXT, "sentence": corpus[0], "tokens": corpus[0].tokens}[thing]
    entities = [ROME, ANNA]  # in any order
    expected = SHOWN
    if thing == "tokens":
        entities, expected = [by_token(entity) for entity in entities], SHOWN.replace("],", "] ,").replace("].", "] .")
    assert written(given, entities) == expected
    assert written(given, Answer(TAGS, entities=entities)) == expected
    if thing != "text":
        assert written(given, TAGS) == re.sub(r" [\d.]+\]", "]", expected)


def test_several_sentences(corpus: Corpus) -> None:
    entities = [[ANNA, ROME], [Entity(0, 1, "LOC", 1.0, "Rome", 0, 4)]]
    both = f"{SHOWN}\n[LOC Rome 1.000]."
    assert written(corpus, entities) == both
    assert written([TEXT, "Rome."], entities) == both
    assert written(corpus, [Answer([], entities=row) for row in entities]) == both
    assert written(corpus, [TAGS, ["B-LOC", "O"]]) == re.sub(r" [\d.]+\]", "]", both)
    assert written(corpus, entities, most=1) == f"{SHOWN}\n… 1 more"


def test_what_a_model_tagged_is_shown_by_itself() -> None:
    found = SimpleNamespace(text=TEXT, entities=[SimpleNamespace(start=0, end=10, type="PER", probability=0.98)])
    assert written(found) == "[PER Anna Smith 0.980], of Rome."
    token = SimpleNamespace(start=0, end=4, label="NOUN", probability=0.5)
    assert written(SimpleNamespace(text=TEXT, entities=None, tokens=[token])) == "[NOUN Anna 0.500] Smith, of Rome."
    assert written([found, found]) == "[PER Anna Smith 0.980], of Rome.\n[PER Anna Smith 0.980], of Rome."
    assert written(iter([found] * 3), most=1) == "[PER Anna Smith 0.980], of Rome.\n… 2 more"


def test_tags_of_a_corpus() -> None:
    corpus = Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])] * 3)
    assert written(corpus[0]) == "[PER Anna] sings"
    assert written(corpus, most=1) == ("3 sentences, 6 tokens, columns token, tag\n[PER Anna] sings\n… 2 more")
    assert written([corpus[0], corpus[1]]) == "[PER Anna] sings\n[PER Anna] sings"
    assert written(Corpus.from_sentences([(["she", "sings"], ["PRON", "VERB"])])[0]) == "[PRON she] [VERB sings]"


def test_results_are_printed() -> None:
    report = evaluate([["B-PER", "O"]], [["B-PER", "O"]])
    assert written(report) == str(report)
    assert picture(report) is report


@pytest.mark.parametrize(
    ("things", "place"),
    [
        (["no answers"], r"^show: .*'no answers'"),
        ([7], r"^show: .*\b7\b"),
        ([[7]], r"^show: .*\b7\b"),
        ([TEXT, [by_token(ANNA)]], r"^answers: .*tokens"),
        ([TEXT, [ANNA, ANNA]], r"^answers: .*\b0\b"),
        ([TEXT, [(15, 99, "LOC")]], r"^answers: .*\b15\b"),
        ([["Rome"], [by_token(ROME)]], r"^answers: .*tokens"),
        ([["Anna", "sings"], ["B-PER"]], r"^answers: .*labels"),
        ([[["Anna"], ["Bob"]], [[]]], r"^answers: .*\b1\b"),
        ([[["Anna"], ["Bob"]], 5], r"^answers: .*labels"),
        ([TEXT, [3.5]], r"^answers: .*start"),
        ([TEXT, 5], r"^answers: .*labels"),
    ],
)
def test_refusals(things: list[Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        written(*things)


def test_terminals_get_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    tagline.show(TEXT, [ANNA, ROME], file=out)
    anna = "\x1b[30;46m Anna Smith \x1b[1mPER 0.980\x1b[22m \x1b[0m"
    rome = "\x1b[30;43m Rome \x1b[1mLOC 0.500\x1b[22m \x1b[0m"
    assert out.getvalue() == f"{anna}, of {rome}.\n"
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
        plain = Terminal()
        tagline.show(TEXT, [ANNA, ROME], file=plain)
        assert plain.getvalue() == f"{SHOWN}\n"
        monkeypatch.delenv(name)


def test_nothing_that_is_shown_commands_a_terminal() -> None:
    out = Terminal()
    tagline.show(EVIL, [(0, len(EVIL), EVIL)], file=out)
    assert re.sub(r"\x1b\[(30;\d+|1|22|0)m", "", out.getvalue()).rstrip("\n").isprintable()


def test_a_page_is_escaped() -> None:
    drawn = picture([EVIL], [[(0, len(EVIL), EVIL)]])
    page = Fragment(drawn._repr_html_())
    assert page.marks == 1
    assert page.words.count("<script>alert('&')</script>\\u001b[31m") == 2
    assert "color:#1b1f24" in drawn.html()  # letters of a mark, whatever the page around it has


def test_words_take_two_colours_in_turn() -> None:
    drawn = picture(list("中国人民"), ["B", "E", "B", "E"])
    assert re.findall(r"background:(#\w+)", drawn.html()) == ["#ffd6a5", "#a8dadc"]
    assert str(drawn) == "[中国][人民]"


def test_notebooks_get_an_object_to_display(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[Any] = []
    shell: Any = SimpleNamespace(kernel=None)
    ipython = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=shown.append))
    monkeypatch.setitem(sys.modules, "IPython", ipython)  # type: ignore[arg-type]
    tagline.show(TEXT, [ANNA])
    assert Fragment(shown[0]._repr_html_()).words == "Anna SmithPER, of Rome."
    assert capsys.readouterr().out == ""
    shell = SimpleNamespace()  # IPython in a terminal
    tagline.show(TEXT, [ANNA])
    assert len(shown) == 1
    assert capsys.readouterr().out == "[PER Anna Smith 0.980], of Rome.\n"
