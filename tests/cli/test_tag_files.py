"""`tagline tag`: raw text that nobody announced, broken sentences, files and folders of answers, further forms."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tagline.readers import read_columns, read_conllu, read_jsonl

from .commands import line_of, tagline

TEXT = "Anna lives in Rome.\n"


def test_a_raw_text_is_read_as_one_and_said_to_be(model: Path, tmp_path: Path) -> None:
    """It was one token with four columns, tagged in silence."""
    (tmp_path / "news.txt").write_text(TEXT, encoding="utf-8")
    truth = tagline("tag", "-m", model, "--format", "text", input=TEXT).out
    for done in (tagline("tag", "-m", model, input=TEXT), tagline("tag", "-m", model, tmp_path / "news.txt")):
        assert done.out == truth
        assert "read as raw text, a sentence a line; say --format columns where each line is a token" in done.err
    unclear = line_of(tagline("tag", "-m", model, input="Anna lives in Rome\n"))
    assert "say --format text (a sentence a line) or --format columns (a token a line)" in unclear
    assert tagline("tag", "-m", model, "--format", "columns", input=TEXT).out.startswith("Anna\t")


@pytest.mark.parametrize("text", ["2024-05-03 12:44 ERROR login failed for anna", "123 N Main St, Chicago, IL 60601"])
def test_text_with_capitals_and_digits_is_not_tagged_as_one_token(model: Path, chunker: Path, text: str) -> None:
    for path in (model, chunker):
        assert "may be text" in line_of(tagline("tag", "-m", path, input=f"{text}\n"))
    done = tagline("tag", "-m", model, "--tokenizer", "whitespace", input=f"{text}\n")
    assert [line.split("\t")[0] for line in done.out.splitlines() if line] == text.split()
    assert done.err == ""


def test_columns_that_are_guessed_are_said_to_be(model: Path, chunker: Path) -> None:
    guessed = tagline("tag", "-m", model, input="Anna NNP\n")
    assert guessed.out.startswith("Anna\tNNP\t")
    assert guessed.err == "<stdin>: read as columns, a token a line; say --format text where each line is a sentence\n"
    for path, text in ((model, "Anna B-PER\n"), (chunker, "Anna nnp\n"), (chunker, "Anna nnp per\n")):
        assert tagline("tag", "-m", path, input=text).err == ""
    assert tagline("tag", "-m", model, "--format", "columns", input="Anna NNP\n").err == ""


def test_what_comes_before_a_broken_sentence_is_written(model: Path, tmp_path: Path) -> None:
    broken = "Anna X\n\nRome X\nsings\n\nBob X\n"
    done = tagline("tag", "-m", model, input=broken)
    assert done.code == 1
    assert done.out.startswith("Anna\t")
    assert done.out.count("\n") == 2
    assert "<stdin>:4: " in done.err
    out = tmp_path / "out.txt"
    done = tagline("tag", "-m", model, "-o", out, input=broken)
    assert done.code == 1
    assert done.err.endswith(f"; what comes before it is in {out}\n")
    assert read_columns(out).tokens == [["Anna"]]


def test_lenient(model: Path) -> None:
    done = tagline("tag", "-m", model, "--lenient", input="Anna X\n\nRome X\nsings\n\nBob X\n")
    assert done.code == 0
    assert [line.split("\t")[0] for line in done.out.splitlines() if line] == ["Anna", "Bob"]
    assert "skipped: <stdin>:4: " in done.err
    assert done.err.endswith("skipped 1 broken sentence\n")


class TestFiles:
    def test_inputs_of_two_formats_have_answers_of_one(self, model: Path, tmp_path: Path) -> None:
        """The answers to JSON lines were JSON lines in a file whose name said columns."""
        (tmp_path / "a.jsonl").write_text('{"tokens": ["Anna", "sings"]}\n', encoding="utf-8")
        (tmp_path / "b.txt").write_text("Bob\nsings\n", encoding="utf-8")
        done = tagline("tag", "-m", model, tmp_path / "a.jsonl", tmp_path / "b.txt", "-o", tmp_path / "out")
        assert done.code == 0, done.err
        assert read_columns(tmp_path / "out" / "a.txt").tokens == [["Anna", "sings"]]

    def test_one_file(self, model: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.jsonl"
        done = tagline("tag", "-m", model, "--format", "text", "--as", "jsonl", "-o", out, input=TEXT)
        assert (done.code, done.out) == (0, "")
        assert done.err == f"wrote {out}\n"
        assert json.loads(out.read_text(encoding="utf-8"))["text"] == TEXT.strip()

    def test_several_inputs_make_a_folder(self, model: Path, tmp_path: Path) -> None:
        for name, text in (("a.txt", "Anna\n"), ("b.txt", "Rome\n")):
            (tmp_path / name).write_text(text, encoding="utf-8")
        done = tagline("tag", "-m", model, tmp_path / "a.txt", tmp_path / "b.txt", "-o", tmp_path / "out")
        assert done.code == 0, done.err
        assert {path.name: path.read_text().split("\t")[0] for path in (tmp_path / "out").iterdir()} == {
            "a.txt": "Anna",
            "b.txt": "Rome",
        }
        one = tagline("tag", "-m", model, tmp_path / "a.txt", "--as", "html", "-o", tmp_path / "out")
        assert "out/a.html" in one.err

    def test_what_is_refused(self, model: Path, tmp_path: Path) -> None:
        a, other = tmp_path / "a.txt", tmp_path / "x" / "a.txt"
        other.parent.mkdir()
        for path in (a, other):
            path.write_text("Anna\n", encoding="utf-8")
        assert "is also read, as FILES" in line_of(tagline("tag", "-m", model, a, "-o", a))
        assert "is also read, as FILES" in line_of(tagline("tag", "-m", model, a, "-o", tmp_path))
        clash = line_of(tagline("tag", "-m", model, a, other, "-o", tmp_path / "out"))
        assert str(other) in clash
        (tmp_path / "full").touch()
        full = line_of(tagline("tag", "-m", model, a, other, "-o", tmp_path / "full"))
        assert str(tmp_path / "full") in full
        assert a.read_text() == "Anna\n"
        assert not (tmp_path / "out").exists()

    def test_the_old_meaning_of_o(self, model: Path) -> None:
        done = tagline("tag", "-m", model, "--format", "text", "-o", "brackets", input=TEXT)
        assert "[LOC Rome]" in done.out
        assert "-o names a file now; brackets was taken as --as brackets" in done.err


class TestForms:
    def test_conllu(self, model: Path, pos: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.conllu"
        tagline("tag", "-m", pos, "--format", "text", "--as", "conllu", "-o", out, input="the cat")
        assert read_conllu(out).tags == [["DT", "NN"]]
        spans = tagline("tag", "-m", model, "--format", "text", "--as", "conllu", input=TEXT).out
        assert "Tag=B-LOC" in spans
        assert all(line.count("\t") == 9 for line in spans.splitlines() if line and line[0] != "#")

    def test_spans_as_csv(self, model: Path) -> None:
        out = tagline("tag", "-m", model, "--format", "text", "--as", "spans-csv", input=TEXT).out
        rows = list(csv.DictReader(io.StringIO(out)))
        assert [row["text"] for row in rows] == ["Rome"]
        assert [TEXT[int(row["char_start"]) : int(row["char_end"])] for row in rows] == ["Rome"]
        assert all(0 < float(row["probability"]) <= 1 for row in rows)

    def test_words(self, model: Path, tmp_path: Path) -> None:
        lines = ["中 B\n国 E\n人 B\n民 E\n好 S\n", "好 S\n中 B\n国 E\n"]
        (tmp_path / "seg.txt").write_text("\n".join(lines * 5), encoding="utf-8")
        segmenter = tmp_path / "seg.tagline"
        assert tagline("train", tmp_path / "seg.txt", "-o", segmenter, "-q").code == 0
        text = "中国人民好\n"
        done = tagline("tag", "-m", segmenter, "--as", "words", input=text)
        assert done.out == "中国 人民 好\n"
        assert "read as raw text" in done.err

    def test_the_k_best_of_one_reading_is_refused(self, model: Path) -> None:
        assert "--k-best: " in line_of(tagline("tag", "-m", model, "-k", 2, "--as", "conllu"))


@pytest.mark.parametrize(
    "given",
    ['{"text": "Anna lives in Rome."}', '{"tokens": ["Anna", "lives", "in", "Rome"], "tags": ["O", "O", "O", "O"]}'],
)
@pytest.mark.parametrize("spans", [[], ["--spans"]])
def test_json_lines_that_were_written_are_read_again(model: Path, tmp_path: Path, given: str, spans: list[str]) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    (tmp_path / "in.jsonl").write_text(given + "\n", encoding="utf-8")
    assert tagline("tag", "-m", model, tmp_path / "in.jsonl", *spans, "-o", first).code == 0
    assert tagline("tag", "-m", model, first, *spans, "-o", second).code == 0
    written = json.loads(first.read_text(encoding="utf-8"))
    corpus = read_jsonl(first)
    assert (corpus.tokens, corpus.tags) == ([written["tokens"]], [written["tags"]])
    assert tagline("describe", first).code == tagline("eval", second).code == 0
    assert tagline("train", first, "-o", tmp_path / "m", "-q").code == 0


def test_quiet_says_nothing(model: Path, tmp_path: Path) -> None:
    done = tagline("tag", "-m", model, "-q", "--format", "text", "-o", tmp_path / "out", input=TEXT)
    assert (done.out, done.err) == ("", "")
    assert "wrote" in tagline("tag", "-m", model, "--format", "text", "-o", tmp_path / "out", input=TEXT).err


@pytest.mark.parametrize("command", [["describe"], ["train", "-o", "m"], ["train", "-o", "m", "--tag-column", "tag"]])
def test_a_table_with_commas_is_not_one_long_sentence(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text('tokens,tag\n"Anna","B-PER"\n' * 9, encoding="utf-8")
    message = line_of(tagline(*command, "x.csv"))
    assert message.startswith("x.csv: comma-separated values are not read as sentences")
    assert "--format columns" in message


def test_messages_name_options_and_not_arguments_of_functions(tmp_path: Path, model: Path, folder: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"Anna\n\xff\n")
    assert "such as --encoding gb18030" in line_of(
        tagline("tag", "-m", model, tmp_path / "bad.txt", "--encoding", "utf-8")
    )
    (tmp_path / "one.txt").write_text("Anna\n\nBob\n", encoding="utf-8")
    for name in ("x", "3", "-1"):
        words = ("train", "-o", tmp_path / "m", "--tag-column", name)
        assert line_of(tagline(*words, tmp_path / "one.txt")).startswith(
            f"--tag-column: {tmp_path / 'one.txt'} has one"
        )
        assert line_of(tagline(*words, folder / "two.txt")).startswith("--tag-column: ")
    assert line_of(tagline("train", folder / "two.txt", "-o", tmp_path / "m", "--c2", -1)).startswith("--c2: ")


@pytest.mark.parametrize("option", [["--docstart"], ["--comment", "-DOC"]])
def test_lines_that_are_left_out(model: Path, option: list[str]) -> None:
    done = tagline("tag", "-m", model, *option, input="-DOCSTART- X\n\nAnna O\n\nRome O\n")
    assert [line.split("\t")[0] for line in done.out.splitlines() if line] == ["Anna", "Rome"]


def test_lines_are_split_where_asked(model: Path) -> None:
    text = "Dr. Anna lives in Rome. She sings!\n\nBob is here.\n"
    items = tagline("tag", "-m", model, "--format", "text", "--split", "--as", "jsonl", input=text).out.splitlines()
    assert [json.loads(line)["text"] for line in items] == ["Dr. Anna lives in Rome.", "She sings!", "Bob is here."]


WATCHED = """
import collections, os, sys
opened = collections.Counter()
def watch(event, given):
    if event == "open":
        opened[str(given[0])] += 1
sys.addaudithook(watch)
from tagline.cli import main
sys.argv = ["tagline", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
print(*(opened[path] for path in ({model!r}, {path!r})), sum(name.startswith("tagline.scale") for name in sys.modules))
"""


def test_model_and_input_are_opened_once_and_no_cluster_is_known(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("Anna\nsings\n\n")
    code = WATCHED.format(model=str(model), path=str(path))
    words = ["tag", "-m", str(model), str(path), "-o", str(tmp_path / "out.txt"), "-q"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stdout == "1 1 0\n", done.stderr
