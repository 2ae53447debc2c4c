"""Tokenizers: every token keeps its characters, and the compiled core finds what the regular expressions do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import InputError
from tagline.readers import corpus_of_texts, tokenize, tokenizers
from tagline.readers.tokenizers import BY_SCRIPT, TOKENIZERS, Tokenizer, cut_by_function, cut_by_script, plain_cut

NAMES = (*TOKENIZERS, BY_SCRIPT)
PIECES = (
    *("a", "I", "J", "U", "S", "é", "e\u0301", "ß", "Dr", "Mr", "St", "dont", "Anna", "n't"),
    *("'s", "’ll", "1", "42", "٣"),
    *(".", "..", ",", ":", "'", "’", "-", "--", "_", "`", "@", "%", "+", "/", "(", ")", "!", "?", "#", " ", "\n", "\t"),
    *("http://", "HTTPS://", "ftp://", "www.", "a.b@c-d.org", "x.y", "U.S.", "e.g."),
    *("北", "京", "が", "か\u3099", "・", "。", "हि", "न्", "\u200c", "\u200d", "\ufe0f"),
    *("\u20e3", "\ud800", "\x00", "\u2003"),
    *("👩", "👍", "\U0001f3fd", "❤", "🇩", "🇪", "©", "Ⓐ", "①", "🏴", "\U000e0067", "\U000e007f", "𠀀", "𝒳"),
)
texts = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.text(max_size=40))


def cut(text: str, name: str = "words") -> list[str]:
    return [text[start:end] for start, end in Tokenizer(name)(text)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Anna's well-fed cat, don't!", "Anna's|well-fed|cat|,|don't|!"),
        ("See https://a.org/b?c=d_(e). Or www.x.de, ok", "See|https://a.org/b?c=d_(e|)|.|Or|www.x.de|,|ok"),
        ("Mail anna.b+c@x-y.co.uk.", "Mail|anna.b+c@x-y.co.uk|."),
        ("$1,234.50 at 10:30, 50%, 3.14.", "$|1,234.50|at|10:30|,|50|%|,|3.14|."),
        ("1996-08-22 or 22/08/1996", "1996-08-22|or|22|/|08|/|1996"),
        ("The U.S. and the U.S.A, e.g. J.R.R. Tolkien", "The|U.S.|and|the|U.S.A|,|e.g.|J.R.R.|Tolkien"),
        ("It was I. Then a.b.com", "It|was|I|.|Then|a|.|b|.|com"),
        ("Wait... what -- ``no''", "Wait|...|what|--|``|no|''"),
        ("iPhone手机 北京2008年", "iPhone|手机|北京|2008|年"),
        ("cafe\u0301 हिन्दी می\u200cخواهم", "cafe\u0301|हिन्दी|می\u200cخواهم"),
        ("👩\u200d👩\u200d👧👍🏽 🇩🇪🇫🇷 1\ufe0f\u20e3 ❤\ufe0f!", "👩\u200d👩\u200d👧|👍🏽|🇩🇪|🇫🇷|1\ufe0f\u20e3|❤\ufe0f|!"),
    ],
)
def test_words(text: str, tokens: str) -> None:
    assert cut(text) == tokens.split("|")


def test_titles_keep_their_stop_in_treebanks() -> None:
    text = "Dr. Smith and J. Smith met the Dr."
    assert cut(text, "treebank") == ["Dr.", "Smith", "and", "J.", "Smith", "met", "the", "Dr", "."]
    assert cut(text)[:2] == ["Dr", "."]


def test_english_endings() -> None:
    assert cut("Anna's cat can't; they’re it'll 's O'Brien's", "treebank") == (
        ["Anna", "'s", "cat", "ca", "n't", ";", "they", "’re", "it", "'ll", "'", "s", "O'Brien", "'s"]
    )


def test_by_script() -> None:
    assert cut("他住在北京ok", BY_SCRIPT) == list("他住在北京ok")
    assert cut("Anna lives in 北京 now", BY_SCRIPT) == ["Anna", "lives", "in", "北", "京", "now"]
    assert cut_by_script("北京") == [(0, 1), (1, 2)]


@pytest.mark.parametrize("name", NAMES)
@given(text=texts)
def test_the_core_and_the_regular_expressions_agree(name: str, text: str) -> None:
    spans = Tokenizer(name)(text)
    assert spans == plain_cut(text, name)
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    assert edges == sorted(edges)
    assert all(start < end for start, end in spans)
    covered = "".join(text[start:end] for start, end in spans)
    assert covered == "".join(text.split())  # only blanks are left out


@given(st.lists(texts, max_size=6))
def test_numbered_tokens_are_those_of_the_texts(many: list[str]) -> None:
    by_core, by_function = Tokenizer("words").cut(many), cut_by_function(many, lambda text: plain_cut(text, "words"))
    assert by_core.offsets.tolist() == by_function.offsets.tolist()
    assert by_core.places.tolist() == by_function.places.tolist()
    assert by_core.tokens.vocabulary == by_function.tokens.vocabulary
    assert by_core.tokens.ids.tolist() == by_function.tokens.ids.tolist()
    for sentence, text in zip(corpus_of_texts(many), many, strict=True):
        assert sentence.spans is not None
        assert sentence.tokens == [text[start:end] for start, end in sentence.spans]


def test_without_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "_core_tokenizer", lambda: None)
    assert cut("Dr. Smith's U.S. 北京") == ["Dr", ".", "Smith's", "U.S.", "北京"]
    assert corpus_of_texts(["a b", "b"]).columns["token"].ids.tolist() == [0, 1, 1]


@pytest.mark.parametrize("piece", ["a.", "a@", "www.", "http://.", "a.b", "'", "-", "..", "1,", "北", "👩\u200d", "a-"])
def test_long_texts_take_linear_time(piece: str) -> None:
    text = piece * 20_000
    assert "".join(cut(text)) == text
    assert "".join(text[start:end] for start, end in plain_cut(text[:20_000], "words")) == text[:20_000]


def test_refused() -> None:
    with pytest.raises(InputError, match=r"^tokenizer: .*'x'"):
        tokenize("a", "x")
    with pytest.raises(InputError, match=r"^texts: "):
        corpus_of_texts(["a", 7])  # type: ignore[list-item]
