"""An HMM and a trigram tagger that workers counted for are those that are counted in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline import CRF, HMM, MEMM, SemiCRF, TrigramTagger, readers, scale
from tagline.errors import InputError

from .problems import write_shards


@pytest.mark.parametrize("smoothing", ["add-k", "witten-bell"])
def test_hmm(cluster: Any, tmp_path: Path, smoothing: str) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    write_shards(folder)
    (folder / "part-1.txt").write_text("Oslo I-LOC\nis O\n\n" + (folder / "part-1.txt").read_text())
    text = "".join((folder / f"part-{k}.txt").read_text() for k in range(3))
    (tmp_path / "whole.txt").write_text(text)
    settings: dict[str, Any] = {"smoothing": smoothing, "k": 0.1, "scheme": "auto", "on_illegal": "drop"}
    alone = HMM(**settings).fit(readers.read(tmp_path / "whole.txt"))
    passes = []
    shared = scale.fit(HMM(**settings, callbacks=[passes.append]), scale.corpus(folder, workers=2))
    p, q = alone.parameters_, shared.parameters_
    assert (p.labels, p.symbols.values, p.scheme) == (q.labels, q.symbols.values, q.scheme)
    for name in ("start", "transitions"):
        assert getattr(p, name).tobytes() == getattr(q, name).tobytes()
    assert p.emission.probabilities.tobytes() == q.emission.probabilities.tobytes()
    assert p.emission.unseen.tobytes() == q.emission.unseen.tobytes()
    np.testing.assert_allclose(shared.training_.objective, alone.training_.objective, rtol=1e-6)
    assert shared.notes_ == alone.notes_
    assert len(passes) == 1


@pytest.mark.parametrize("capitals", [True, False])
def test_trigrams(cluster: Any, tmp_path: Path, capitals: bool) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    whole = write_shards(folder)
    alone = TrigramTagger(capitals=capitals).fit(whole)
    shared = scale.fit(TrigramTagger(capitals=capitals), scale.corpus(f"{folder}/*.txt", workers=2))
    ours, theirs = shared._packed(), alone._packed()
    assert ours[1].keys() == theirs[1].keys()
    for name, array in theirs[1].items():
        assert np.asarray(ours[1][name]).tobytes() == np.asarray(array).tobytes(), name
    assert shared.predict(whole[:20]) == alone.predict(whole[:20])


def test_what_is_not_counted_is_refused(tmp_path: Path) -> None:
    write_shards(tmp_path, sentences=20)
    files = scale.corpus(f"{tmp_path}/part-*.txt")
    with pytest.raises(InputError, match="categorical emissions"):
        scale.fit(HMM(2, emission="gaussian"), files)
    with pytest.raises(InputError, match="y: expected none"):
        scale.fit(TrigramTagger(), files, y=[["N"]])


@pytest.mark.parametrize("model", [CRF("english_ner"), MEMM("english_ner"), HMM(), HMM(2), TrigramTagger()])
def test_fit_in_this_process_says_who_trains_on_files(tmp_path: Path, model: Any) -> None:
    write_shards(tmp_path, sentences=20)
    with pytest.raises(InputError, match=r"X: expected sentences in this process, .* tagline.scale.fit\(model, corpus"):
        model.fit(scale.corpus(f"{tmp_path}/part-*.txt"))


def test_models_that_need_the_sentences_are_refused(tmp_path: Path) -> None:
    write_shards(tmp_path, sentences=20)
    with pytest.raises(InputError, match="model: expected one of crf"):
        scale.fit(SemiCRF("english_ner"), scale.corpus(f"{tmp_path}/part-*.txt"))
