"""Emissions straight from words against the plain way, `expand` and `Scorer.emissions`; whatever was scored before."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import compiled
from tagline.errors import InputError
from tagline.features import word_scores
from tagline.features.expansion import expand
from tagline.features.templates.macros import Derivation
from tagline.features.templates.template import Template
from tagline.features.templates.word_functions import is_compiled
from tagline.features.weights import Scorer, Structure
from tagline.features.word_scores import NumberedTemplate, WordScorer
from tagline.ragged import offsets_of
from tagline.readers import Corpus
from tests.features.test_expansion import MACROS, SENTENCES, corpus_of

Rows = list[list[tuple[str, str]]]

MORE_MACROS = [
    *MACROS,
    *("%x[-1,0:lower]", "%x[1,0:lower]", "%x[2,0:digits]", "%x[-3,1:nfkc:lower]", "%X[-1,0:shortshape]"),
    *("%x[0,0:shortshape:suffix2]", "%x[-1,1:suffix3]", "%x[0,1:case]", "%x[1,0:length]"),
]


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    before = compiled.threads()
    yield
    compiled.set_threads(before)


@st.composite
def templates(draw: st.DrawFn) -> Template:
    """Lines that look at no word, at one, in one or two ways, and at several."""
    lines = []
    for number in range(draw(st.integers(1, 7))):
        macros = draw(st.lists(st.sampled_from(MORE_MACROS), max_size=4))
        lines.append(f"U{draw(st.sampled_from(['', str(number)]))}:" + "/".join(macros))
    return Template.parse("\n".join(lines))


def numbered(template: Template, corpus: Corpus, L: int, seed: int, hash_bits: int | None = None) -> NumberedTemplate:
    """The attributes of a corpus with weights for some labels each, from none to all.

    Weights are multiples of 1/8, so that float32 adds them up without an error, in any order.
    """
    rng = np.random.default_rng(seed)
    names = expand(template, corpus, hash_bits=hash_bits).states
    A = len(names) if names is not None else 1 << (hash_bits or 0)
    chosen = rng.random((A, L)) < rng.choice([0.0, 1 / L, 0.3, 1.0], (A, 1))
    nothing = np.zeros(0, np.int32)
    structure = Structure(
        L,
        offsets_of(chosen.sum(axis=1)),
        np.nonzero(chosen)[1].astype(np.int32),
        nothing.reshape(0, 2),
        np.zeros(1, np.int64),
        nothing.reshape(0, 2),
    )
    return NumberedTemplate(template, Scorer(structure, rng.integers(-64, 65, structure.size) / 8), names, hash_bits)


def plain(model: NumberedTemplate, corpus: Corpus) -> np.ndarray:
    known = None if model.names is None else (model.names, None)
    return model.scorer.emissions(expand(model.template, corpus, known, hash_bits=model.hash_bits).features)


def scored(scorer: WordScorer, corpus: Corpus, most: int = 1000) -> np.ndarray:
    parts = list(scorer.blocks(corpus, most))
    assert sum(len(offsets) - 1 for _, offsets in parts) == len(corpus)
    return np.concatenate([emissions for emissions, _ in parts])


@given(
    templates(),
    SENTENCES.filter(len),
    SENTENCES.filter(len),
    st.sampled_from([1, 3, 9, 30]),
    st.integers(0, 99),
    st.sampled_from([None, 1, 5]),
    st.sampled_from([1, 4, 1000]),
)
def test_emissions_are_those_of_the_plain_way(
    template: Template, train: Rows, new: Rows, L: int, seed: int, hash_bits: int | None, most: int
) -> None:
    model = numbered(template, corpus_of(train), L, seed, hash_bits)
    scorer = WordScorer(model)
    for corpus in map(corpus_of, (new, train, new)):  # the second time all words are known
        np.testing.assert_array_equal(scored(scorer, corpus, most), plain(model, corpus))


@given(st.lists(st.text(st.characters(max_codepoint=127), min_size=1, max_size=9), min_size=1, max_size=9))
def test_functions_of_the_core_are_those_of_python(words: list[str]) -> None:
    """Each line finds its attribute only where the core makes the same of the word."""
    affixes = [f"{end}fix{size}" for end in ("pre", "suf") for size in (1, 2, 5, 9)]
    names = ["lower", "nfkc", "digits", "shape", "shortshape", *affixes]
    assert all(map(is_compiled, names))
    assert Derivation(0, ("lower", "suffix3")).steps == ("lower", "suffix3")
    assert Derivation(0, ("case",)).steps is None
    lines = [f"U{name}:%x[0,0:{name}]" for name in names] + ["Ux:%x[0,0:shape:prefix3:lower]", "UX:%X[0,0:suffix2]"]
    corpus = Corpus.from_sentences([(words, ["O"] * len(words))])
    model = numbered(Template.parse("\n".join(lines)), corpus, 1, 0)
    np.testing.assert_array_equal(scored(WordScorer(model), corpus), plain(model, corpus))


TEMPLATE = Template.parse("""
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[0,0:suffix2]
U10:%x[-1,0]/%x[0,0]
U11:%x[0,0]/%x[1,0]
U12:%x[-2,0:lower]/%x[-1,0:lower]
U13:%x[-1,0:lower]/%x[1,0:lower]
U14:%x[-1,0:shape]/%x[0,0:shape]/%x[1,0:shape]
U15:%x[0,0:shape]/%x[-1,0:lower]
""")
DERIVATIONS = 4  # the word, its suffix, its shape, in lower case


def long_corpus(seed: int, sentences: int = 300) -> Corpus:
    """Sentences of 400 words, some of them frequent, some not of ASCII."""
    rng = np.random.default_rng(seed)
    words = [("Word", "word", "Wört")[k % 3] + str(k) for k in range(400)]
    drawn = [(400 * rng.random(T) ** 2).astype(int) for T in rng.integers(0, 30, sentences)]
    return Corpus.from_sentences([([words[k] for k in row], ["O"] * len(row)) for row in drawn])


def with_real_weights(model: NumberedTemplate) -> NumberedTemplate:
    """Weights whose sums are rounded: the order in which they are added shows."""
    structure = model.scorer.structure
    weights = np.random.default_rng(1).normal(0, 1, structure.size)
    return NumberedTemplate(model.template, Scorer(structure, weights), model.names, model.hash_bits)


def test_the_plain_way_differs_by_rounding_only() -> None:
    corpus = long_corpus(0)
    model = with_real_weights(numbered(TEMPLATE, long_corpus(1), 9, 0))
    np.testing.assert_allclose(scored(WordScorer(model), corpus), plain(model, corpus), rtol=0, atol=2e-5)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_sentence_scores_the_same_in_any_company(threads: int) -> None:
    """Bit for bit: alone or among others, with any number of threads, whatever words came before."""
    compiled.set_threads(1)
    corpus = long_corpus(2)
    model = with_real_weights(numbered(TEMPLATE, long_corpus(3), 9, 4))
    expected = scored(WordScorer(model), corpus, 16_384)
    compiled.set_threads(threads)
    scorer = WordScorer(model)
    scored(scorer, long_corpus(5))
    np.testing.assert_array_equal(scored(scorer, corpus, 16_384), expected)
    alone = np.concatenate([scored(scorer, corpus[b : b + 1]) for b in range(len(corpus))])
    np.testing.assert_array_equal(alone, expected)


def test_words_are_forgotten_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = long_corpus(6)
    model = with_real_weights(numbered(TEMPLATE, long_corpus(7), 9, 8))
    expected = scored(WordScorer(model), corpus)
    made = []
    begin = word_scores._Words.__init__
    monkeypatch.setattr(word_scores._Words, "__init__", lambda self, of: made.append(1) or begin(self, of))
    monkeypatch.setattr(word_scores, "MOST_WORDS", 50)
    scorer = WordScorer(model)
    np.testing.assert_array_equal(scored(scorer, corpus, 100), expected)
    assert len(made) > 10
    monkeypatch.setattr(word_scores, "MOST_WORDS", 1 << 18)
    monkeypatch.setattr(word_scores, "MOST_BYTES", 20_000)
    np.testing.assert_array_equal(scored(scorer, corpus, 100), expected)


def test_threads_may_share_a_scorer() -> None:
    corpora = [long_corpus(seed, 60) for seed in range(6)]
    model = with_real_weights(numbered(TEMPLATE, long_corpus(9), 9, 8))
    expected = [scored(WordScorer(model), corpus) for corpus in corpora]
    shared = WordScorer(model)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            found = pool.map(lambda corpus: scored(shared, corpus, 50), corpora)
            for emissions, right in zip(found, expected, strict=True):
                np.testing.assert_array_equal(emissions, right)


def test_a_lone_surrogate_is_an_error_and_leaves_no_trace() -> None:
    corpus = long_corpus(1, 20)
    model = numbered(TEMPLATE, corpus, 3, 0)
    scorer = WordScorer(model)
    bad = Corpus.from_sentences([(["fine", "new", "\ud800", "words"], ["O"] * 4)])
    for _ in range(2):
        with pytest.raises(InputError, match=r"^words: "):
            scored(scorer, bad)
    good = Corpus.from_sentences([(["fine", "new", "words"], ["O"] * 3)])
    np.testing.assert_array_equal(scored(scorer, good), plain(model, good))
    np.testing.assert_array_equal(scored(scorer, corpus), plain(model, corpus))


def test_words_may_stand_twice_in_a_vocabulary() -> None:
    """A column that somebody else has numbered."""
    from tagline.readers.corpus import Column

    model = numbered(TEMPLATE, long_corpus(1, 20), 3, 0)
    twice = Corpus({"token": Column(("W0", "w1", "W0"), np.array([0, 1, 2, 0], np.int32))}, np.array([0, 4]))
    once = Corpus.from_sentences([(["W0", "w1", "W0", "W0"], ["O"] * 4)])
    np.testing.assert_array_equal(scored(WordScorer(model), twice), plain(model, once))


@pytest.mark.parametrize("field", ["find", "add", "emissions"])
def test_the_core_checks_what_it_is_given(field: str) -> None:
    core = word_scores._Words(numbered(TEMPLATE, long_corpus(1, 20), 3, 0)).core
    ids, one = np.zeros(1, np.int32), np.array([0, 1])
    wrong = {
        "find": [(1, ("a",), ids), (0, ("a",), ids + 1), (0, ("a",), ids - 1)],
        "add": [
            (7, ("a",), [None] * DERIVATIONS),
            (0, ("a",), [None]),
            (0, ("a",), [("b", "c")] * DERIVATIONS),
            (0, ("a", "a"), [None] * DERIVATIONS),
        ],
        "emissions": [([ids], one), ([ids - 1], one), ([], one[:1]), ([ids], one[:1])],
    }
    for arguments in wrong[field]:
        with pytest.raises(ValueError, match=r"^(column|which|names|words|numbers|offsets): "):
            getattr(core, field)(*arguments)


def test_tagging_loads_no_scikit_learn(tmp_path: os.PathLike[str]) -> None:
    """To import it takes longer than to tag a file."""
    from tagline import CRF, load
    from tagline.models.files import load_tagger

    path = os.path.join(tmp_path, "m.tagline")
    X, y = [["Anna", "sings"], ["in", "Rome"]], [["B-PER", "O"], ["O", "B-LOC"]]
    CRF("english_ner", max_iterations=5).fit(X, y).save(path)
    code = f"""
import sys
from tagline.cli.tagging import Questions, Source, load_tagger, tag_stream
model = load_tagger({path!r})
assert "CRFTagger()" == repr(model), model
print("".join(tag_stream(model, [sys.argv[1]], Questions("jsonl", spans=True), Source("text"))))
assert "sklearn" not in sys.modules
"""
    text = os.path.join(tmp_path, "text.txt")
    with open(text, "w", encoding="utf-8") as stream:
        stream.write("Anna lives in Rome\n")
    done = subprocess.run([sys.executable, "-c", code, text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"tags": ["B-PER"' in done.stdout
    tagger, whole = load_tagger(path), load(path)
    assert tagger.predict(X) == whole.predict(X)
    assert tagger.predict_spans(X) == whole.predict_spans(X)
    assert tagger.known_tokens() == whole.known_tokens()
    assert str(tagger.explain(X[0])) == str(whole.explain(X[0]))
