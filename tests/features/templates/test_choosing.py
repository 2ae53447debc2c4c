"""Which template suits a corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from tagline.errors import InputError
from tagline.features.templates.choosing import choose_set, named_template
from tagline.readers.corpus import Corpus


@pytest.mark.parametrize(
    ("words", "tags", "columns", "name"),
    [
        (["Anna", "sings"], ["B-PER", "O"], {}, "english_ner"),
        (["北", "京"], ["B-LOC", "I-LOC"], {}, "chinese_ner"),
        (["北", "京", "好"], ["B", "E", "S"], {}, "segmentation"),
        (["Anna", "sings"], ["NNP", "VBZ"], {}, "pos"),
        (["the", "cat"], ["B-NP", "I-NP"], {"1": ["DT", "NN"]}, "chunking"),
        (["the", "cat"], ["B-NP", "I-NP"], {}, "english_ner"),
    ],
)
def test_a_set_is_chosen_from_the_data(words: list[str], tags: list[str], columns: dict, name: str) -> None:
    corpus = Corpus.from_sentences([{"token": words, **columns, "tag": tags}])
    assert choose_set(corpus)[0] == name


def test_a_template_by_name_or_from_a_file(tmp_path: Path) -> None:
    assert named_template("pos").source == "pos.txt"
    path = tmp_path / "own.txt"
    path.write_text("U00:%x[0,0]\n")
    assert named_template(str(path)).text == "U00:%x[0,0]\n"
    with pytest.raises(InputError, match=r"^template: .*chinese_ner"):
        named_template("nowhere")
