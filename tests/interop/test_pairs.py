"""Every kind of model to every format: the same answers when it is read again, or one line that says why not."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline import CRF, HMM, MEMM, Dictionary, MaxEnt, SemiCRF, TrigramTagger
from tagline.errors import TaglineError
from tagline.features.templates.template import Template
from tagline.interop.formats import TAGLINE, WRITTEN, read_model, write_model

WORDS = [["Anna", "sees", "Rome"], ["Bob", "in", "New", "York"], ["Bob"], ["Rome", "sees", "Anna", "."]]
TAGS = [["B-PER", "O", "B-LOC"], ["B-PER", "O", "B-LOC", "I-LOC"], ["B-PER"], ["B-LOC", "O", "B-PER", "O"]]
ITEMS = [[{"word": word, "length": float(len(word))} for word in words] for words in WORDS]
NAMES = [[[f"u:{word}", f"u:{word[0]}"] for word in words] for words in WORDS]
PLAIN, PATTERNS = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nB\n", "u:%x[0,0]\nu:%x[-1,0]\nb\n"
OPEN: dict[str, Any] = {"scheme": None, "start_end": False, "max_iterations": 5}
PLACES = Dictionary({"Rome": "LOC"})


def wapiti(text: str) -> Template:
    return Template.parse(text, "patterns", "wapiti")


def tags(label: str) -> list[list[str]]:
    return [[label if tag == "O" else tag for tag in row] for row in TAGS]


def longer(ending: str) -> list[list[str]]:
    return [[word + ending for word in words] for words in WORDS]


def pickled() -> Any:
    theirs = pytest.importorskip("sklearn_crfsuite")
    from tagline.interop.sklearn_crfsuite.pickles import read_crf

    return read_crf(pickle.dumps(theirs.CRF(max_iterations=5).fit(ITEMS, TAGS)))


def network() -> Any:
    pytest.importorskip("torch")
    from tests.models.neural.cases import bilstm

    return bilstm(epochs=1)


ALL = (TAGLINE, *WRITTEN)
CRFPP = ("crfpp", "crfpp-text")
MODELS: dict[str, tuple[Callable[[], Any], Any, tuple[str, ...]]] = {
    "a template": (lambda: CRF(PLAIN, **OPEN).fit(WORDS, TAGS), WORDS, ALL),
    "no B line": (lambda: CRF("U00:%x[0,0]\n", **OPEN).fit(WORDS, TAGS), WORDS, ALL),
    "edges": (lambda: CRF(PLAIN + "B1:%x[0,0]\n", **OPEN).fit(WORDS, TAGS), WORDS, (TAGLINE, *CRFPP, "wapiti")),
    "patterns": (lambda: CRF(wapiti(PATTERNS), **OPEN).fit(WORDS, TAGS), WORDS, (TAGLINE, "crfsuite", "wapiti")),
    "other patterns": (
        lambda: CRF(wapiti(PATTERNS + 'u:%m[0,0,"^.."]\n*:%t[0,0,"^u"]\n'), **OPEN).fit(WORDS, TAGS),
        WORDS,
        (TAGLINE, "wapiti"),
    ),
    "an extension": (
        lambda: CRF("U00:%x[0,0:shape]\nB\n", **OPEN).fit(WORDS, TAGS),
        WORDS,
        (TAGLINE, "crfsuite"),
    ),
    "a far row": (lambda: CRF("U00:%x[-9,0]\nB\n", **OPEN).fit(WORDS, TAGS), WORDS, (TAGLINE, "crfsuite")),
    "a hash sign": (
        lambda: CRF("U00:%x[0,0]#\nB\n", **OPEN).fit(WORDS, TAGS),
        WORDS,
        (TAGLINE, "crfsuite", *CRFPP),
    ),
    "hashes": (lambda: CRF(PLAIN, hash_bits=8, **OPEN).fit(WORDS, TAGS), WORDS, (TAGLINE,)),
    "rules": (lambda: CRF(PLAIN, **OPEN | {"scheme": "IOB2"}).fit(WORDS, TAGS), WORDS, (TAGLINE,)),
    "ends": (lambda: CRF(PLAIN, **OPEN | {"start_end": True}).fit(WORDS, TAGS), WORDS, (TAGLINE,)),
    "order 2": (lambda: CRF(PLAIN, order=2, **OPEN).fit(WORDS, TAGS), WORDS, (TAGLINE,)),
    "two stages": (lambda: CRF(PLAIN, stages=2, **OPEN).fit(WORDS, TAGS), WORDS, (TAGLINE,)),
    "a dictionary": (
        lambda: CRF(PLAIN + "U9:%x[0,1]\n", dictionary=PLACES, **OPEN).fit(WORDS, TAGS),
        WORDS,
        (TAGLINE, "crfsuite"),
    ),
    "dicts": (lambda: CRF(**OPEN).fit(ITEMS, TAGS), ITEMS, (TAGLINE, "crfsuite")),
    "names": (lambda: CRF(**OPEN).fit(NAMES, TAGS), NAMES, (TAGLINE, "crfsuite", "wapiti")),
    "given edges": (
        lambda: CRF(**OPEN).fit(ITEMS, TAGS, edges=[[{"e": 1.0}] * len(words) for words in WORDS]),
        None,
        (TAGLINE,),
    ),
    "a function": (
        lambda: CRF(lambda words: [[f"u{w}"] for w in words], **OPEN).fit(WORDS, TAGS),
        None,
        (TAGLINE, "crfsuite"),
    ),
    "a blank in a label": (lambda: CRF(PLAIN, **OPEN).fit(WORDS, tags("a b")), WORDS, (TAGLINE, "crfsuite", "wapiti")),
    "a line in a label": (lambda: CRF(PLAIN, **OPEN).fit(WORDS, tags("a\nb")), WORDS, (TAGLINE, "crfsuite")),
    "NUL in a label": (lambda: CRF(PLAIN, **OPEN).fit(WORDS, tags("a\0b")), WORDS, (TAGLINE,)),
    "a line in a word": (lambda: CRF(PLAIN, **OPEN).fit(longer("\n"), TAGS), longer("\n"), (TAGLINE, "crfsuite")),
    "NUL in a word": (lambda: CRF(PLAIN, **OPEN).fit(longer("\0"), TAGS), longer("\0"), (TAGLINE,)),
    "Chinese": (lambda: CRF(PLAIN, **OPEN).fit(longer("的"), TAGS), longer("的"), ALL),
    "one label": (lambda: CRF(PLAIN, **OPEN).fit(WORDS, [["O"] * len(row) for row in TAGS]), WORDS, ALL[:-1]),
    "no weights": (lambda: CRF(PLAIN, c1=1e9, **OPEN).fit(WORDS, TAGS), WORDS, ALL[:-1]),
    "a MEMM": (lambda: MEMM(PLAIN, **OPEN).fit(WORDS, TAGS), WORDS, (TAGLINE, "wapiti")),
    "a MaxEnt": (lambda: MaxEnt(PLAIN[:-2], **OPEN).fit(WORDS, TAGS), WORDS, (TAGLINE, "wapiti")),
    "an HMM": (lambda: HMM().fit(WORDS, TAGS), WORDS, (TAGLINE,)),
    "an HMM of vectors": (
        lambda: HMM(2, emission="gaussian", random_state=0, max_iterations=2).fit([np.eye(4)[:, :2]]),
        None,
        (TAGLINE,),
    ),
    "a trigram tagger": (lambda: TrigramTagger().fit(WORDS, TAGS), WORDS, (TAGLINE,)),
    "a semi-CRF": (
        lambda: SemiCRF("U0:%x[0,0]\n", max_iterations=3).fit(WORDS, TAGS),
        WORDS,
        (TAGLINE,),
    ),
    "a network": (network, WORDS, (TAGLINE,)),
    "a pickle": (pickled, ITEMS, (TAGLINE, "crfsuite")),
}
"""How each is made, what it is asked about (None: nothing), and which formats hold it."""


@cache
def made(name: str) -> Any:
    return MODELS[name][0]()


def answers(model: Any, X: Any, form: str, original: Any) -> Any:
    """The labels of sentences; CRFsuite's model is given the strings that the template makes."""
    if form == "crfsuite" and (template := original._extraction.template) is not None:
        return model.predict([template.strings([words])[0] for words in X])
    return model.predict(X)


@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize("name", MODELS)
def test_a_pair(name: str, form: str, tmp_path: Path) -> None:
    model, X, held = made(name), MODELS[name][1], MODELS[name][2]
    path = tmp_path / "x"
    if form not in held:
        with pytest.raises(TaglineError) as caught:
            write_model(model, path, form)
        assert len(str(caught.value).splitlines()) == 1
        assert not path.exists()
        return
    write_model(model, path, form)
    if name == "a function" and form == TAGLINE:
        return  # its file asks for the function
    back: Any = read_model(path)
    if X is not None and not (form == "crfsuite" and name == "a dictionary"):
        assert answers(back, X, form, model) == model.predict(X)
    for target in ALL:  # what was read goes everywhere, too, or is refused in one line
        again = tmp_path / target
        refusal = ""
        try:
            write_model(back, again, target)
        except TaglineError as error:
            refusal = str(error)
        assert len(refusal.splitlines()) == (not again.exists())
        assert refusal or sorted(read_model(again).labels_) == sorted(model.labels_)
