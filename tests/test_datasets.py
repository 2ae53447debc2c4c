"""The corpora that we make: the same everywhere, proper, varied, and with names in the test that training never saw."""

from __future__ import annotations

import hashlib
import random
import re
from itertools import product

import pytest

from tagline.datasets import chinese, english, make_entities
from tagline.datasets.drawing import Draw, Language, half_of
from tagline.datasets.entity_sentences import LANGUAGES
from tagline.errors import InputError
from tagline.readers import Corpus, tokenize
from tagline.readers.schemes import validate
from tagline.readers.spans import find_spans

BOTH = [english.ENGLISH, chinese.CHINESE]
TYPES = {"PER", "LOC", "ORG", "DATE"}


@pytest.fixture(scope="module", params=["en", "zh", "mixed"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def train(language: str) -> Corpus:
    return make_entities(1500, language=language)


@pytest.fixture(scope="module")
def test(language: str) -> Corpus:
    return make_entities(1500, language=language, split="test")


def entities(corpus: Corpus) -> list[tuple[str, str]]:
    """(text in lower case, type), as often as they occur."""
    found = find_spans(corpus.columns["tag"], corpus.offsets, "strict:IOB2")
    return [
        (" ".join(sentence.tokens[start:end]).lower(), kind)
        for sentence, spans in zip(corpus, found.to_lists(len(corpus)), strict=True)
        for start, end, kind in spans
    ]


def names(corpus: Corpus) -> set[str]:
    return {name for name, kind in entities(corpus) if kind != "DATE"}


def digest(corpus: Corpus) -> str:
    rows = [*corpus.texts, *(" ".join(row) for row in corpus.tokens + corpus.tags)]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("split", "expected"),
    [("train", "68829c675261536b"), ("test", "18e5f8de65f18512")],
)
def test_it_is_the_same_on_every_machine(split: str, expected: str) -> None:
    assert digest(make_entities(500, seed=7, split=split)) == expected


def test_the_seed_decides_and_nothing_else_does(language: str) -> None:
    random.seed(1)
    state = random.getstate()
    one = make_entities(60, seed=3, language=language)
    assert random.getstate() == state
    random.seed(2)
    assert digest(make_entities(60, seed=3, language=language)) == digest(one)
    assert digest(make_entities(60, seed=4, language=language)) != digest(one)


def test_a_short_corpus_is_the_beginning_of_a_long_one(train: Corpus, language: str) -> None:
    assert digest(make_entities(100, language=language)) == digest(train.head(100))
    assert len(make_entities(0, language=language)) == 0


@pytest.mark.parametrize("half", [0, 1], ids=["train", "test"])
def test_tags_are_proper_and_every_type_has_its_share(train: Corpus, test: Corpus, half: int) -> None:
    corpus = (train, test)[half]
    assert validate(corpus, "IOB2") == []
    assert corpus.names == ["token", "tag"]
    found = corpus.describe().entities
    assert found.keys() == TYPES
    total = sum(found.values())
    for kind, count in found.items():
        assert 0.12 < count / total < 0.45, kind
    assert 1.2 < total / len(corpus) < 2.5
    assert 6 < corpus.lengths.mean() < 22
    assert any(set(row) == {"O"} for row in corpus.tags)


def test_no_name_of_the_test_occurs_in_training(train: Corpus, test: Corpus) -> None:
    assert len(names(train)) > 700
    assert len(names(test)) > 700
    assert names(train).isdisjoint(names(test))


def test_names_that_can_be_made_are_disjoint() -> None:
    """All words that English names are made of, and half by half all Chinese names of two characters."""
    halves: list[set[str]] = []
    for half in (0, 1):
        words = {word.lower() for word in (*english.GIVEN[half], *english.CHINESE_SURNAMES[half])}
        for stems, endings in [
            (english.SURNAME_STEMS, english.SURNAME_ENDINGS),
            (english.PLACE_STEMS, english.PLACE_ENDINGS),
            (english.BRAND_STEMS, english.BRAND_ENDINGS),
        ]:
            words |= {(stem + ending).lower() for stem, ending in product(stems[half], endings)}
        letters = [*english.LETTERS[0], *english.LETTERS[1]]
        words |= {"".join(three).lower() for three in product(letters, letters, english.LETTERS[half])}
        halves.append(words)
    assert halves[0].isdisjoint(halves[1])
    for make in (chinese.surname, chinese.given, chinese.full_name, chinese.town, chinese.brand):
        for half in (0, 1):
            draw = Draw("seed", half)
            assert {half_of(make(draw)) for _ in range(200)} == {half}


def test_some_forms_occur_in_the_test_only() -> None:
    """Known by their longest literal words."""
    for code, kinds in (("en", english.PATTERNS), ("zh", chinese.PATTERNS)):
        texts = {split: "\n".join(make_entities(2500, language=code, split=split).texts) for split in ("train", "test")}
        lower = {split: text.lower() for split, text in texts.items()}
        for number, pattern in enumerate(kinds):
            literal = max(re.split(r"\{\w+\}", pattern), key=len).strip(" .,!?:;“”。，！？：")
            if len(literal) > (12 if code == "en" else 4):
                assert re.sub(r" ([,.:])", r"\1", literal).lower() in lower["test"], pattern
                assert (literal.lower() in lower["train"]) == (number % 6 < 5), pattern


@pytest.mark.parametrize("kind", BOTH, ids=["en", "zh"])
def test_there_are_many_patterns_and_every_slot_is_used(kind: Language) -> None:
    assert len(set(kind.patterns)) == len(kind.patterns) >= 60
    used = {slot for pattern in kind.patterns for slot in re.findall(r"\{(\w+)\}", pattern)}
    assert used == {*kind.slots, "ANY"}
    assert {slot for slot in kind.slots if slot.isupper()} == set(kind.types)
    assert set(kind.types.values()) == TYPES
    assert sum("ANY" in pattern for pattern in kind.patterns) >= 10


def test_texts_are_what_the_tokenizers_cut(train: Corpus, language: str) -> None:
    for number, sentence in enumerate(train):
        assert sentence.text is not None
        assert sentence.spans is not None
        assert [sentence.text[start:end] for start, end in sentence.spans] == sentence.tokens
        by_word = language == "en" or (language == "mixed" and number % 2 == 0)
        assert list(sentence.spans) == tokenize(sentence.text, "words" if by_word else "characters")
        assert re.search("[一-鿿]", sentence.text) is None if by_word else " " not in sentence.text


def test_the_task_is_not_trivial(train: Corpus, test: Corpus, language: str) -> None:
    """Words are ambiguous, and one who only remembers the names of training finds none."""
    tags: dict[str, set[str]] = {}
    for token, tag in zip(train.columns["token"].strings, train.columns["tag"].strings, strict=True):
        tags.setdefault(token, set()).add(tag[2:])
    ambiguous = [token for token, kinds in tags.items() if len(kinds) > 1]
    assert len(ambiguous) > 60
    for token in {"en": ["Will", "Frank", "1984"], "zh": ["高", "马", "3"], "mixed": ["Will", "高"]}[language]:
        assert "" in tags[token], token
        assert len(tags[token]) > 1, token
    kinds = dict(entities(train))
    assert not any(name in kinds for name, kind in entities(test) if kind != "DATE")


def test_english_has_headlines_and_careless_sentences() -> None:
    corpus = make_entities(1000, language="en")
    assert 10 < sum(text == text.upper() for text in corpus.texts) < 60
    assert 5 < sum(text == text.lower() for text in corpus.texts) < 50
    assert sum(text[0].islower() for text in corpus.texts) == sum(
        text == text.lower() for text in corpus.texts if text[0].isalpha()
    )


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"language": "de"}, r"^language: .*'de'"),
        ({"split": "dev"}, r"^split: .*'dev'"),
        ({"num_sentences": -1}, r"^num_sentences: "),
    ],
)
def test_wrong_choices_are_errors(options: dict[str, object], place: str) -> None:
    with pytest.raises(InputError, match=place):
        make_entities(**options)  # type: ignore[arg-type]


def test_every_language_can_be_asked_for() -> None:
    assert list(LANGUAGES) == ["en", "zh", "mixed"]
