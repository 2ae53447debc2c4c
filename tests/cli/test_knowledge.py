"""What a CRF is told beside its training data, on the command line: documents, mentions, dictionaries, context."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tagline as package
from tagline import Corpus, InputError
from tagline.cli.document_blocks import whole_documents
from tagline.cli.tagging import Source, load_tagger, tag_stream
from tagline.features.lexicons.gazetteers import read_dictionaries
from tagline.readers.columns import read_columns
from tagline.readers.streams import Block
from tests.models.crf.documents import documents

from .commands import line_of, tagline


def columns(count: int, seed: int, named: bool = False, marked: bool = False) -> str:
    """Documents of two sentences as a column file; with their names as a column, or with marker lines."""
    X, y, _ = documents(count, seed)
    lines = []
    for b, (row, tags) in enumerate(zip(X, y, strict=True)):
        if marked and not b % 2:
            lines.append("-DOCSTART- O\n\n")
        name = f"d{b // 2} " if named else ""
        lines += [f"{word} {name}{tag}\n" for word, tag in zip(row, tags, strict=True)] + ["\n"]
    return "".join(lines)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("knowledge")
    (folder / "train.txt").write_text(columns(60, 0))
    (folder / "named.txt").write_text(columns(60, 0, named=True))
    (folder / "new.txt").write_text(columns(20, 1))
    (folder / "new-named.txt").write_text(columns(20, 1, named=True))
    (folder / "new-marked.txt").write_text(columns(20, 1, marked=True))
    (folder / "train.documents").write_text("2\n" * 60)
    (folder / "new.documents").write_text("2\n" * 20)
    (folder / "towns.txt").write_text("New York\nUlm\tTOWN\n")
    (folder / "words.template").write_text("U00:%x[0,0]\nU01:%x[-1,0]\nB\n")
    done = tagline(
        *("train", folder / "train.txt", "-o", folder / "model", "--template", folder / "words.template"),
        *("--mentions", 2, "--documents", folder / "train.documents", "--c2", 0.1),
        *("--dev", folder / "new.txt", "--dev-documents", folder / "new.documents", "--json"),
    )
    assert done.code == 0, done.err
    assert '"f1": 1.0' in done.out
    return folder


def right(out: str) -> float:
    rows = [line.split() for line in out.splitlines() if line.strip()]
    return float(np.mean([row[-1] == row[-2] for row in rows]))


def test_documents_by_a_file_a_column_or_marker_lines(place: Path) -> None:
    model = place / "model"
    assert right(tagline("tag", "-m", model, place / "new.txt").out) < 0.95
    for path, more in (
        ("new.txt", ["--documents", place / "new.documents"]),
        ("new-named.txt", ["--documents", "1"]),
        ("new-marked.txt", []),
    ):
        done = tagline("tag", "-m", model, place / path, *more)
        assert done.code == 0, done.err
        assert right(done.out) == 1.0, path
    done = tagline(
        *("train", place / "named.txt", "-o", place / "second", "--template", place / "words.template"),
        *("--stages", 2, "--documents", "1", "--dev", place / "new-named.txt", "--c2", 0.1),
    )
    assert done.code == 0, done.err
    assert right(tagline("tag", "-m", place / "second", place / "new-named.txt", "--documents", "1").out) == 1.0


def test_a_document_is_not_cut_between_two_blocks(place: Path) -> None:
    model = load_tagger(place / "model")
    for path, named in (("new.txt", "new.documents"), ("new-marked.txt", None)):
        source = Source("columns", encoding="utf-8", block=16, documents=named and str(place / named))
        assert right("".join(tag_stream(model, [str(place / path)], source=source))) == 1.0


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=3), max_size=12), st.data())
def test_blocks_are_cut_between_documents(rows: list[list[str]], data: st.DataObject) -> None:
    """Whatever the blocks, the documents are those of all sentences together."""
    sizes: list[int] = []
    while sum(sizes) < len(rows):
        sizes.append(data.draw(st.integers(0, len(rows) - sum(sizes))))
    names = np.repeat(np.arange(len(sizes)), sizes).tolist()
    marked = data.draw(st.booleans())
    if marked:
        starts = np.flatnonzero(np.diff(names, prepend=-1)).tolist()
        rows = [["-DOCSTART-", *row] if b in starts else row or ["a"] for b, row in enumerate(rows)]
    else:
        rows = [row or ["a"] for row in rows]
    borders = sorted({0, len(rows), *data.draw(st.lists(st.integers(0, len(rows)), max_size=6))})
    sentences = [{"token": row, "name": [str(name)] * len(row)} for row, name in zip(rows, names, strict=True)]

    def blocks() -> Iterator[Block]:
        for first, last in pairwise(borders):
            yield Block(Corpus.from_sentences(sentences[first:last]), list(range(first, last)))

    found = [(part, counts) for part, counts in whole_documents(blocks(), None if marked else "name", "text")]
    assert [sentence.tokens for part, _ in found for sentence in part.corpus] == rows
    assert [number for part, _ in found for number in part.objects or ()] == list(range(len(rows)))
    wanted = [size for size in sizes if size]
    assert [int(size) for _, counts in found if counts is not None for size in counts] == wanted


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.data())
def test_sentences_before_the_first_marker(begins: list[bool], data: st.DataObject) -> None:
    """Each is a document, wherever the stream is cut."""
    rows = [["-DOCSTART-"] if begun else ["a"] for begun in begins]
    borders = sorted({0, len(rows), *data.draw(st.lists(st.integers(0, len(rows)), max_size=6))})
    blocks = [Block(Corpus.from_sentences([{"token": row} for row in rows[a:b]]), None) for a, b in pairwise(borders)]
    found: list[int] = []
    for part, sizes in whole_documents(blocks, None, "text"):
        found += [1] * len(part.corpus) if sizes is None else [int(size) for size in sizes]
    first = begins.index(True) if any(begins) else len(rows)
    starts = [b for b, begun in enumerate(begins) if begun or b < first]
    assert found == np.diff([*starts, len(rows)]).tolist()


def test_documents_of_an_empty_file(place: Path) -> None:
    (place / "empty.txt").write_text("")
    (place / "none.documents").write_text("")
    words = ("tag", "-m", place / "model", place / "empty.txt", "--documents")
    assert tagline(*words, place / "none.documents").code == 0
    assert tagline(*words, "1").code == 0
    line = line_of(tagline(*words, place / "new.documents"))
    assert "--documents: " in line


def test_dictionaries_are_features(place: Path) -> None:
    for more in (
        ["--dictionary", place / "towns.txt"],
        ["--learn-dictionary"],
        ["--model", "semicrf", "--dictionary", place / "towns.txt", "--max-iterations", 3],
    ):
        done = tagline("train", place / "train.txt", "-o", place / "third", *more)
        assert done.code == 0, done.err
        assert "dictionary of" in done.err
        assert tagline("tag", "-m", place / "third", place / "new.txt").code == 0
        assert "dictionary  " in tagline("inspect", place / "third").out
    merged = read_dictionaries([str(place / "towns.txt")])
    assert merged.entries() == {("New", "York"): "towns", ("Ulm",): "TOWN"}
    again = tagline("train", place / "named.txt", "-o", place / "third", "--dictionary", place / "towns.txt")
    assert again.code == 0
    template = package.load(place / "third").features
    assert "UD0:%x[0,1]" in template.text  # behind the column that the template looks at


@pytest.mark.parametrize("more", [["--dictionary", "towns.txt"], ["--learn-dictionary"]])
def test_columns_that_no_line_reads_are_not_needed_with_a_dictionary(place: Path, more: list[str]) -> None:
    words = [more[0], *(place / name for name in more[1:])]
    for file, dev, out in (("named.txt", "new-named.txt", "fourth"), ("train.txt", "new.txt", "fifth")):
        done = tagline(
            *("train", place / file, "-o", place / out, "--template", place / "words.template", *words),
            *("--dev", place / dev),
        )
        assert done.code == 0, done.err
    model, other = package.load(place / "fourth"), package.load(place / "fifth")
    assert model.input_.columns == 1
    np.testing.assert_array_equal(model.parameters_.weights, other.parameters_.weights)
    bare, named = read_columns(place / "new.txt"), read_columns(place / "new-named.txt")
    assert model.predict(bare) == model.predict(named) == other.predict(bare)
    answers = []
    for name in ("new.txt", "new-named.txt"):
        tagged = tagline("tag", "-m", place / "fourth", place / name)
        assert tagged.code == 0, tagged.err
        answers.append([line.split()[-1:] for line in tagged.out.splitlines()])
    assert answers[0] == answers[1]


def test_inspect_names_what_the_model_was_told(place: Path) -> None:
    out = tagline("inspect", place / "model").out
    assert "mentions    up to 2 others of a word in its document\n" in out
    assert tagline("train", place / "train.txt", "-o", place / "plain", "--max-iterations", 2).code == 0
    assert "mentions" in tagline("inspect", place / "model", place / "plain").out


def test_explain_takes_the_document(place: Path) -> None:
    (place / "text.txt").write_text("Mr Who\nthen Who won\n")
    done = tagline("explain", "-m", place / "model", "then Who won", "--document", place / "text.txt", "--token", "Who")
    assert "UM-1:mr" in done.out
    assert "UM-1:mr" not in tagline("explain", "-m", place / "model", "then Who won", "--token", "Who").out


def test_what_cannot_be_meant_is_refused(place: Path) -> None:
    train = ("train", place / "train.txt", "-o", place / "out", "-q")
    for words, message in (
        (("--mentions", 10), "--mentions: "),
        (("--documents", "nowhere"), "--documents: "),
        (("--mentions", 1, "--documents", place / "new.documents"), "120"),
        (("--mentions", 1, "--documents", place / "towns.txt"), "towns.txt:1: "),
        (("--documents", place / "train.documents"), "documents: "),
        (("--dev-documents", "1"), "--dev-documents: "),
        (
            ("--mentions", 1, "--documents", place / "train.documents", "--dev", place / "new.txt"),
            "--dev-documents: ",
        ),
        (("--cache", place, "--mentions", 1), "--cache, --mentions: "),
        (("--cache", place, "--learn-dictionary"), "--learn-dictionary: expected none beside --cache"),
        (
            ("--dictionary", place / "towns.txt", "--learn-dictionary"),
            "--dictionary: expected none beside --learn-dictionary",
        ),
        (("--dictionary", place / "nowhere"), "nowhere"),
        (("--model", "hmm", "--mentions", 1), "--mentions: "),
    ):
        assert message in line_of(tagline(*train, *words)), words
    tag = ("tag", "-m", place / "model", place / "new.txt")
    for words, message in (
        (("--documents", "nowhere"), "--documents: "),
        ((place / "new.txt", "--documents", "1"), "--documents: "),
    ):
        assert message in line_of(tagline(*tag, *words))
    short = tagline(*tag, "--documents", place / "train.documents")
    assert " 40" in short.err
    package.CRF("U0:%x[0,0]\n").fit([["a"]], [["O"]]).save(place / "plain")
    assert "--documents: " in tagline("tag", "-m", place / "plain", place / "new.txt", "--documents", "1").err


def test_a_transformer_reads_the_document(place: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.models.neural.cases import encoder_folder

    train = ("train", place / "named.txt", "-o", place / "network", "--model", "transformer", "--device", "cpu")
    settings = ("--encoder", encoder_folder("bert"), "--epochs", 1, "--context", 4)
    done = tagline(*train, *settings, "--documents", "1", "--dev", place / "new-named.txt")
    assert done.code == 0, done.err
    assert package.load(place / "network").context == 4
    assert tagline("tag", "-m", place / "network", place / "new-named.txt", "--documents", "1").code == 0
    assert "documents: " in tagline(*train, *settings).err


def test_a_file_of_sizes_is_checked(tmp_path: Path) -> None:
    (tmp_path / "sizes").write_text("2\n\n99999999999999999999999999\n")
    with pytest.raises(InputError, match="sizes:3: "):
        list(whole_documents([Block(Corpus.from_sentences([{"token": ["a"]}]))], str(tmp_path / "sizes"), "text"))
