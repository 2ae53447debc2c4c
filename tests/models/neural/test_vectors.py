"""BiLSTMCRF with pretrained word vectors: of a file, of memory and of an encoder."""

from __future__ import annotations

import copy
import gzip
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tagline  # noqa: E402
from tagline import BiLSTMCRF  # noqa: E402
from tagline.errors import InputError  # noqa: E402
from tagline.features.lexicons.embeddings import Embeddings  # noqa: E402

from .cases import (  # noqa: E402
    SMALL,
    STILL,
    VECTORS,
    encoder_folder,
    people,
    same_answers,
    same_weights,
    weights_of,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def write_vectors(path: Path, vectors: Embeddings = VECTORS) -> Path:
    rows = zip(vectors.words, vectors.vectors, strict=True)
    text = "".join(f"{word} {' '.join(repr(float(number)) for number in row)}\n" for word, row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
def test_word_vectors_of_a_file(name: str, tmp_path: Path) -> None:
    X, y = people()
    path = write_vectors(tmp_path / name)
    model = BiLSTMCRF(path, **STILL, freeze_words=True).fit(X, y)
    table = model.network_.coder.table  # type: ignore[attr-defined]
    rows = weights_of(model)["encoder.words.weight"]
    assert rows.shape == (table.num_words, 5)
    for word, vector in zip(VECTORS.words, VECTORS.vectors, strict=True):
        np.testing.assert_array_equal(rows[2 + table.words.find(word)], vector)
    assert table.words.find("unseen") >= 0  # known, though the corpus has it nowhere
    assert same_weights(BiLSTMCRF(str(path), **STILL, freeze_words=True).fit(X, y), model)
    assert same_weights(BiLSTMCRF(VECTORS, **STILL, freeze_words=True).fit(X, y), model)
    free, frozen = (BiLSTMCRF(VECTORS, **SMALL, freeze_words=flag).fit(X, y) for flag in (False, True))
    row = 2 + table.words.find("anna")
    np.testing.assert_array_equal(weights_of(frozen)["encoder.words.weight"], rows)
    assert not np.array_equal(weights_of(free)["encoder.words.weight"][row], rows[row])
    assert free.score(X, y) > 0.9


def test_word_vectors_that_do_not_fit_are_told(caplog: pytest.LogCaptureFixture) -> None:
    BiLSTMCRF(Embeddings(("chat", "chien"), np.ones((2, 5), np.float32)), **STILL).fit(*people())
    assert "embeddings: expected vectors of most words, got some for 0 of" in caplog.text
    caplog.clear()
    words = tuple({word.lower() for sentence in people()[0] for word in sentence})
    BiLSTMCRF(Embeddings(words, np.ones((len(words), 5), np.float32)), **STILL).fit(*people())
    assert not caplog.text


def test_word_vectors_of_an_encoder(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from tagline.nn.pretrained import input_vectors

    folder = encoder_folder("bert")
    known = input_vectors(folder)
    assert {"anna", "rome", "new", "the"} < {*known.words}
    assert not any(word.startswith(("##", "[")) for word in known.words)
    model = BiLSTMCRF(folder, **{**SMALL, "freeze_words": True}).fit(*people())
    table = model.network_.tagger.encoder.words.weight.detach().numpy()
    names = model.known_tokens()
    for word, vector in zip(known.words, known.vectors, strict=True):
        np.testing.assert_array_equal(table[2 + names.index(word)], vector)
    model.save(tmp_path / "m.tagline")
    same_answers(model, tagline.load(tmp_path / "m.tagline", device="cpu"), people(1)[0])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^encoder .*: "):
        BiLSTMCRF(tmp_path, **SMALL).fit(*people())


def test_warm_start_with_word_vectors(tmp_path: Path) -> None:
    X, y = people()
    path = write_vectors(tmp_path / "vectors.txt")
    for given in (path, VECTORS):
        model = BiLSTMCRF(given, **{**SMALL, "epochs": 1}, warm_start=True).fit(X, y)
        model.fit(X, y)
        other = Embeddings(VECTORS.words, VECTORS.vectors[:, :3])
        with pytest.raises(InputError, match=r"^embeddings: "):
            copy.deepcopy(model).set_params(embeddings=other).fit(X, y)
        with pytest.raises(InputError, match=r"^embeddings: "):
            copy.deepcopy(model).set_params(embeddings=tmp_path / "others.txt").fit(X, y)
        model.set_params(embeddings=None).fit(X, y)  # what the network has stays
        assert weights_of(model)["encoder.words.weight"].shape[1] == 5
