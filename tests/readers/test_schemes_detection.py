"""Which scheme a corpus is in, with a reason; and files from one scheme to another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.readers.columns import read_columns
from tagline.readers.corpus import Corpus
from tagline.readers.file_conversion import convert_file
from tagline.readers.schemes import detect
from tests.readers.span_oracle import LETTERS, Span, written

SPANS: list[list[Span]] = [[(0, 1, "X"), (1, 3, "X"), (3, 6, "Y")], [(1, 2, "X")], []]


def in_scheme(name: str) -> list[list[str]]:
    return [written(spans, 7, name) for spans in SPANS]


@pytest.mark.parametrize("name", LETTERS)
def test_every_scheme_is_recognised(name: str) -> None:
    found = detect(in_scheme(name))
    assert found.scheme is not None
    assert found.scheme.name == name
    assert not found.is_ambiguous
    assert found.violations[name] == 0


@pytest.mark.parametrize(
    ("tags", "name", "others"),
    [
        ("O B-X I-X O", "IOB2", ()),
        ("O B-X O", "IOB2", ()),
        ("B I I B", "IOB2", ()),
        ("B-X B-X", "IOB2", ()),
        ("O I-X I-X", "IO", ()),
        ("I-X I-X B-X", "IOB1", ()),
        ("I-X E-X E-X O", "IOE2", ()),
        ("I-X E-X I-X O", "IOE1", ()),
        ("O S-X", "BIOES", ("BMES",)),
        ("B-X E-X O S-X", "BIOES", ("BMES",)),
        ("B-X E-X O", "BIOES", ("BMEWO", "BMES")),
        ("B-X M-X E-X O", "BMEWO", ("BMES",)),
        ("B-X M-X E-X S-X O", "BMES", ()),
        ("B-X L-X O", "BILOU", ()),
        ("B M E S", "BMES-words", ("BMES",)),
        ("B E S S", "BMES-words", ("BIOES", "BMES")),
        ("B M E S O", "BMES", ()),
        ("O O", "IOB2", ("BIOES", "BILOU", "BMEWO", "BMES", "IOE2", "IOB1", "IOE1", "IO")),
    ],
)
def test_by_hand_and_the_strictest_of_several(tags: str, name: str, others: tuple[str, ...]) -> None:
    found = detect([tags.split()])
    assert found.scheme is not None
    assert (found.scheme.name, found.others) == (name, others)
    assert found.is_ambiguous == bool(others)
    if others and set(tags) > {"O", " "}:
        assert f"ambiguous: {', '.join(others)} would fit as well, the strictest is taken" in found.reason


def test_reasons_and_evidence() -> None:
    found = detect([["B-X", "I-X", "O"], ["O", "B-Y"]])
    assert found.reason == ("the letters are B, I, O, and no sentence breaks the rules of IOB2 (violations: 2 of IOB1)")
    assert found.letters == {"B": 2, "I": 1, "O": 2}
    assert found.violations == {"IOB2": 0, "IOB1": 2}


def test_improper_corpora_are_what_they_break_least() -> None:
    proper = in_scheme("IOB2") * 10
    found = detect([*proper, ["O", "I-X"]])
    assert found.scheme is not None
    assert found.scheme.name == "IOB2"
    assert "IOB2 has the fewest violations: 1, with 71 tags other than O" in found.reason


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        (
            "NN PRP$ VB NN",
            "'NN' and 2 other tags are of no scheme (expected a letter, or a letter, - or _, and a type)",
        ),
        ("O B-X OOV", "'OOV' is of no scheme (expected a letter, or a letter, - or _, and a type)"),
        ("B-X M-X L-X", "the letters B, L, M are not those of one scheme, or tags with and without types are mixed"),
        ("", "there are no tags"),
    ],
)
def test_tags_of_no_scheme(tags: str, reason: str) -> None:
    found = detect([tags.split()])
    assert found.scheme is None
    assert found.reason == reason


def test_a_corpus_and_its_columns() -> None:
    corpus = Corpus.from_sentences([{"token": ["a", "b"], "tag": ["NN", "VB"], "chunk": ["B-NP", "I-NP"]}])
    assert detect(corpus).scheme is None
    found = detect(corpus, column="chunk").scheme
    assert found is not None
    assert found.name == "IOB2"


def test_only_tags_in_use_count() -> None:
    corpus = Corpus.from_sentences([(["a"], ["B-X"]), (["b"], ["NN"])])
    assert detect(corpus).scheme is None
    assert detect(corpus.take([0])).scheme is not None


def test_samples_of_a_scheme_are_never_taken_for_a_scheme_that_reads_them_otherwise() -> None:
    rng = np.random.default_rng(3)
    for name in ("IOB2", "IOE2", "BIOES", "BILOU"):
        for _ in range(50):
            start = int(rng.integers(3))
            spans = [(start, start + int(rng.integers(1, 4)), "X")]
            found = detect([written(spans, 7, name)])
            assert found.scheme is not None
            assert name in (found.scheme.name, *found.others)


TEXT = "Anna B-PER\nLee I-PER\nsings O\n\nRome B-LOC\nRome B-LOC\n\n"


def test_a_file_is_converted(tmp_path: Path) -> None:
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    before.write_text(TEXT, encoding="utf-8")
    result = convert_file(before, after, target="BIOES")
    assert read_columns(after).tags == [["B-PER", "E-PER", "O"], ["S-LOC", "S-LOC"]]
    assert read_columns(after).tokens == read_columns(before).tokens
    assert (result.source.name, result.target.name) == ("IOB2", "BIOES")
    assert len(result.notes) == 1
    assert result.notes[0].startswith("source scheme IOB2: the letters are B, I, O, and no sentence breaks")


def test_a_file_goes_to_standard_output_with_notes(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "before.txt"
    path.write_text(TEXT.replace("Anna B-PER", "Anna I-PER"), encoding="utf-8")
    result = convert_file(path, source="BIO", target="IO", policy="conlleval")
    assert capfdbinary.readouterr().out == TEXT.replace("B-", "I-").encode()
    assert result.notes == [
        f"repaired: 1 violations, 1 tags changed, 0 spans dropped; the first: {path}:1, token 0: expected "
        "O or B-<type> at the start of a sentence, got 'I-PER'",
        "IOB2 to IO is lossy: 1 spans merge with the one of their type before them",
    ]


def test_another_column_of_a_file(tmp_path: Path) -> None:
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    before.write_text("a I-NP NN\nb B-VP VB\n", encoding="utf-8")
    convert_file(before, after, source="IOB2", target="BILOU", column="1", policy="conlleval")
    assert after.read_text(encoding="utf-8") == "a U-NP NN\nb U-VP VB\n\n"


def test_files_that_cannot_be_converted(tmp_path: Path) -> None:
    path, target = tmp_path / "before.txt", tmp_path / "after.txt"
    path.write_text("a NN\nb VB\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"before\.txt, column tag: .*'NN'"):
        convert_file(path, target)
    path.write_text("a O\nb I-X\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"before\.txt:1, token 1: "):
        convert_file(path, target, source="IOB2")
    with pytest.raises(InputError, match=r"^scheme: "):
        convert_file(tmp_path / "missing.txt", target, target="BIOS")
    assert not target.exists()
