"""The sentence splitter: where sentences end, and that none of the text is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import InputError
from tagline.readers import split_sentences

PIECES = (
    *("Dr.", "U.S.", "e.g.", "Inc.", "J.", "The", "he", "I", "3.14", "1.", "etc.", "北京", "走"),
    *(".", "!", "?", "...", "…", "。", "！", "？", '"', "”", "’", ")", "」", "“", "("),
    *(" ", "  ", "\n", "\n\n", "\r\n", "\t"),
)
texts = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.text(max_size=60))


def split(text: str, **options: bool) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, **options)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. Smith paid $3.50.", "He left."],
        ["J. P. Morgan Jr. came at 3 p.m. on Jan. 5.", "He sat down."],
        ["She lives in the U.S. now.", "He lived in the U.S.", "It was good."],
        ["Acme Inc. makes cars, e.g. Fords, vs. others.", "They sell."],
        ['"Really?" he asked.', "“Stop!”", "Then (at last.)", "He went."],
        ["Wait... what?", "Well…", "No."],
        ["1. First.", "2. Second."],
        ["It is I.", "Anna said so."],
        ["See Fig. 3 and No. 4 on p. 5.", "Done!!", "Yes?!"],
    ],
)
def test_english(sentences: list[str]) -> None:
    assert split(" ".join(sentences)) == sentences


def test_chinese() -> None:
    assert split("他走了。她说：“不！”真的？！是……对。（好。）完") == (
        ["他走了。", "她说：“不！”", "真的？！", "是……对。", "（好。）", "完"]
    )


def test_lines() -> None:
    text = "A headline\nand its text.\n\nA new\r\nparagraph"
    assert split(text) == ["A headline", "and its text.", "A new", "paragraph"]
    assert split(text, newlines=False) == ["A headline\nand its text.", "A new\r\nparagraph"]


@pytest.mark.parametrize("newlines", [True, False])
@given(text=texts)
def test_nothing_but_blanks_is_left_out(text: str, newlines: bool) -> None:
    spans = split_sentences(text, newlines=newlines)
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    assert edges == sorted(edges)
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


@pytest.mark.parametrize("unit", [".", "?!", '."', "1.x", "…"])
def test_long_runs_take_time_that_grows_with_them(unit: str) -> None:
    """Looked at from each of its stops, such a run would take hours."""
    text = unit * 500_000 + "x"
    assert split(text) == [text]


def test_refused() -> None:
    with pytest.raises(InputError, match=r"^text: "):
        split_sentences(3)  # type: ignore[arg-type]
