"""A pipeline with the component, kept in files and bytes; and found by its entry point, without an import."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

spacy = pytest.importorskip("spacy")

import tagline  # noqa: E402
from tagline import InputError, StorageError  # noqa: E402
from tagline.interop.spacy import TaglineComponent  # noqa: E402

from .cases import TEXT, chinese, english, found, pipeline, tagger  # noqa: E402

SOURCE = str(Path(tagline.__file__).parent.parent)


def tags(doc: Any) -> list[tuple[str, str, Any]]:
    return [(token.tag_, token.pos_, token._.probability) for token in doc]


def test_a_folder_brings_its_model_along(tmp_path: Path) -> None:
    english().save(tmp_path / "en.tagline")
    nlp = pipeline(model=str(tmp_path / "en.tagline"))
    expected = found(nlp(TEXT))
    assert expected
    nlp.to_disk(tmp_path / "nlp")
    assert (tmp_path / "nlp" / "tagline" / "model.tagline").read_bytes() == (tmp_path / "en.tagline").read_bytes()
    (tmp_path / "en.tagline").unlink()  # the path of the configuration leads nowhere now
    again = spacy.load(tmp_path / "nlp")
    assert found(again(TEXT)) == expected
    again.to_disk(tmp_path / "nlp")
    assert found(spacy.load(tmp_path / "nlp")(TEXT)) == expected


def test_settings_can_be_changed_when_a_pipeline_is_loaded(tmp_path: Path) -> None:
    nlp = pipeline(english())
    nlp.to_disk(tmp_path / "nlp")
    bar = max(probability for _, _, probability in found(nlp(TEXT)))
    strict = spacy.load(tmp_path / "nlp", config={"components": {"tagline": {"min_probability": bar}}})
    assert len(strict(TEXT).ents) == 1


def test_bytes(tmp_path: Path) -> None:
    for model, language, text in ((english(), "en", TEXT), (chinese(), "zh", "欧阳律师事务所在北京招聘。")):
        nlp = pipeline(model, language)
        again = pipeline(language=language).from_bytes(nlp.to_bytes())
        assert found(again(text)) == found(nlp(text)) != []
    nlp = pipeline(tagger(universal=True))
    again = pipeline().from_bytes(nlp.to_bytes())
    assert tags(again("the dog runs")) == tags(nlp("the dog runs"))
    copied: Any = pickle.loads(pickle.dumps(nlp.get_pipe("tagline")))
    assert copied.labels == ("DET", "NOUN", "PUNCT", "VERB")


def test_the_model_can_be_left_out(tmp_path: Path) -> None:
    component = TaglineComponent(model=english())
    component.to_disk(tmp_path / "whole")
    component.to_disk(tmp_path / "bare", exclude=["model"])
    assert sorted(path.name for path in (tmp_path / "bare").iterdir()) == ["settled.json"]
    assert TaglineComponent().from_disk(tmp_path / "bare").labels == ()
    assert TaglineComponent().from_disk(tmp_path / "whole", exclude=["model"]).labels == ()
    assert TaglineComponent().from_disk(tmp_path / "whole").labels == component.labels
    assert TaglineComponent().from_bytes(component.to_bytes(exclude=["model"])).labels == ()
    component.to_disk(tmp_path / "whole", exclude=["model"])
    assert TaglineComponent().from_disk(tmp_path / "whole").labels == ()


def test_documents_keep_their_probabilities() -> None:
    from spacy.tokens import Doc, DocBin

    nlp = pipeline(english())
    doc = nlp(TEXT)
    assert found(Doc(nlp.vocab).from_bytes(doc.to_bytes())) == found(doc)
    stored = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    assert [found(one) for one in DocBin().from_bytes(stored).get_docs(nlp.vocab)] == [found(doc)]


def test_damaged_files_and_bytes(tmp_path: Path) -> None:
    component = TaglineComponent(model=tagger())
    good = component.to_bytes()
    random = np.random.default_rng(0)
    for length in random.integers(0, len(good) - 1, 30):
        with pytest.raises((InputError, StorageError)):
            TaglineComponent().from_bytes(good[: int(length)])
    for bit in random.integers(0, 8 * len(good), 100):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            read = TaglineComponent().from_bytes(bytes(damaged))
        except (InputError, StorageError):
            continue
        assert read.labels in ((), component.labels)
    component.to_disk(tmp_path)
    for text in ("", "[]", '{"task": "ner"}', '{"task": "x", "attribute": "tag"}', "{"):
        (tmp_path / "settled.json").write_text(text)
        with pytest.raises(InputError):
            TaglineComponent().from_disk(tmp_path)
    with pytest.raises(InputError, match=r"none: .*settled\.json"):
        TaglineComponent().from_disk(tmp_path / "none")
    with pytest.raises(InputError, match=r"^tagline: "):
        TaglineComponent().from_bytes(b"nothing")


ALONE = """
import json, sys, spacy
nlp = spacy.load(sys.argv[1])
print(json.dumps([[e.text, e.label_, e._.probability] for e in nlp(sys.argv[2]).ents]))
"""


def test_the_entry_point_needs_no_import(tmp_path: Path) -> None:
    """A distribution with the entry point, as the installed package has it, is put beside the sources."""
    nlp = pipeline(english())
    nlp.to_disk(tmp_path / "nlp")
    about = tmp_path / "site" / "tagline_entry-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tagline-entry\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[spacy_factories]\ntagline = tagline.interop.spacy:make_component\n")
    path = os.pathsep.join([str(tmp_path / "site"), SOURCE])
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path / "nlp"), TEXT],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert [tuple(entity) for entity in json.loads(done.stdout)] == found(nlp(TEXT))
