"""tagline tag: every input and output against what the model says in Python; errors with their places."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import get_args

import pytest

import tagline as package
from tagline.cli import options
from tagline.models.crf.estimator import CRF
from tagline.models.cutting import cut_for
from tagline.readers import read_columns
from tagline.readers.raw_text import cut_by_script
from tagline.readers.tokenizers import TOKENIZERS

from .commands import line_of, tagline

ENGLISH, CHINESE = "Carol Mills, in Rome [Italy] since 2 May.", "鼎泰集团秘书长余丽十一月一日表示，罢工将继续。"


def words_of(text: str) -> list[str]:
    return [text[start:end] for start, end in cut_by_script(text)]


def rows_of(text: str) -> list[list[list[str]]]:
    """Sentences, tokens, fields."""
    return [[line.split("\t") for line in block.split("\n")] for block in text.removesuffix("\n\n").split("\n\n")]


def test_columns_are_kept_and_the_tag_comes_last(folder: Path, model: Path, loaded: CRF) -> None:
    done = tagline("tag", "-m", model, folder / "dev.txt")
    assert (done.code, done.err) == (0, "")
    dev = read_columns(folder / "dev.txt")
    rows = rows_of(done.out)
    assert [[row[0] for row in sentence] for sentence in rows] == dev.tokens
    assert [[row[1] for row in sentence] for sentence in rows] == dev.tags, "the right tags are kept"
    assert [[row[2] for row in sentence] for sentence in rows] == loaded.predict(dev)
    bare = "\n".join(line.split(" ")[0] for line in (folder / "dev.txt").read_text(encoding="utf-8").split("\n"))
    assert [[row[1] for row in sentence] for sentence in rows_of(tagline("tag", "-m", model, input=bare).out)] == (
        loaded.predict(dev)
    ), "the right tags are not looked at"


def test_eval_reads_the_output(folder: Path, model: Path, loaded: CRF, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(tagline("tag", "-m", model, folder / "dev.txt").out, encoding="utf-8")
    dev = read_columns(folder / "dev.txt")
    expected = package.evaluation.evaluate_spans(dev.tags, loaded.predict(dev)).text()
    assert tagline("eval", tmp_path / "out.txt").out == expected


def test_several_files(folder: Path, model: Path) -> None:
    one = tagline("tag", "-m", model, folder / "dev.txt").out
    assert tagline("tag", "-m", model, folder / "dev.txt", folder / "dev.txt").out == 2 * one


def test_marginals(model: Path, loaded: CRF) -> None:
    rows = rows_of(tagline("tag", "-m", model, "--marginals", input="Rome\nsings\n").out)[0]
    expected = loaded.predict_marginals([["Rome", "sings"]])[0]
    for (_, tag, probability), row in zip(rows, expected, strict=True):
        assert probability == f"{row[tag]:.6f}"
    item = json.loads(tagline("tag", "-m", model, "--marginals", "--as", "jsonl", input="Rome\nsings\n").out)
    assert item["probabilities"] == [row[tag] for row, tag in zip(expected, item["tags"], strict=True)]


def test_k_best_is_written_as_crfpp_writes_it(model: Path, loaded: CRF) -> None:
    expected = loaded.predict_k_best([["Rome", "sings"]], 3)[0]
    done = tagline("tag", "-m", model, "-k", 3, input="Rome\nsings\n")
    assert done.out == "".join(
        f"# {rank} {one.probability:.6f}\nRome\t{one.labels[0]}\nsings\t{one.labels[1]}\n\n"
        for rank, one in enumerate(expected)
    )
    item = json.loads(tagline("tag", "-m", model, "-k", 3, "--as", "jsonl", input="Rome\nsings\n").out)
    assert [(one["tags"], one["probability"]) for one in item["k_best"]] == [
        (one.labels, one.probability) for one in expected
    ]
    lines = tagline("tag", "-m", model, "-k", 2, "--as", "brackets", input="Rome\nsings\n").out.splitlines()
    assert [line.split("\t")[0] for line in lines] == [f"{one.probability:.6f}" for one in expected[:2]]
    both = rows_of(tagline("tag", "-m", model, "-k", 2, "--marginals", input="Rome\n").out)
    node = loaded.predict_marginals([["Rome"]])[0][0]
    assert [f"{node[block[1][1]]:.6f}" for block in both] == [block[1][2] for block in both]


def test_spans_with_their_probabilities(model: Path, loaded: CRF) -> None:
    text = f"{ENGLISH}\n\n{CHINESE}\n"
    table = tagline("tag", "-m", model, "--format", "text", "--spans", input=text).out.splitlines()
    assert table[0] == "place\tstart\tend\ttype\tprobability\ttext"
    expected = loaded.predict_spans([words_of(ENGLISH), [], words_of(CHINESE)])
    found = [
        (f"<stdin>:{line}", str(one.start), str(one.end), one.type, f"{one.probability:.6f}")
        for line, some in zip((1, 2, 3), expected, strict=True)
        for one in some
    ]
    assert len(found) >= 3
    assert [tuple(row.split("\t")[:5]) for row in table[1:]] == found
    for row in table[1:]:
        assert row.split("\t")[5] in text
    few = tagline("tag", "-m", model, "--format", "text", "--spans", "--min-probability", 0.9, input=text).out
    assert few.count("\n") - 1 == sum(one.probability >= 0.9 for some in expected for one in some)


def test_json_lines_keep_what_they_bring(model: Path, loaded: CRF) -> None:
    lines = [
        {"id": 7, "tokens": ["New York", "is"], "tags": ["B-LOC", "O"]},
        {"text": ENGLISH, "spans": [[0, 5, "PER"]]},
        {"text": None, "tokens": []},
    ]
    done = tagline("tag", "-m", model, "--format", "jsonl", "--as", "jsonl", input="\n".join(map(json.dumps, lines)))
    first, second, third = map(json.loads, done.out.splitlines())
    tags = loaded.predict([["New York", "is"], words_of(ENGLISH)])
    assert first == {"id": 7, "tokens": ["New York", "is"], "gold_tags": ["B-LOC", "O"], "tags": tags[0]}
    assert second == {"text": ENGLISH, "gold_spans": [[0, 5, "PER"]], "tokens": words_of(ENGLISH), "tags": tags[1]}
    assert third == {"text": None, "tokens": [], "tags": []}


def test_spans_of_json_lines_name_their_characters(model: Path) -> None:
    item = json.loads(tagline("tag", "-m", model, "--format", "text", "--spans", "--as", "jsonl", input=ENGLISH).out)
    assert item["spans"]
    for span in item["spans"]:
        assert ENGLISH[span["char_start"] : span["char_end"]] == span["text"]
        assert 0 < span["probability"] <= 1
    tokens = json.loads(tagline("tag", "-m", model, "--spans", "--as", "jsonl", input="Rome\nsings\n").out)
    assert all("char_start" not in span for span in tokens["spans"])


def test_the_input_decides_the_output_by_its_name(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "In Rome."}\n')
    assert json.loads(tagline("tag", "-m", model, tmp_path / "a.jsonl").out)["tokens"] == ["In", "Rome", "."]
    assert tagline("tag", "-m", model, tmp_path / "a.jsonl", "--as", "columns").out.startswith("In\t")


def test_brackets(model: Path, loaded: CRF) -> None:
    out = tagline("tag", "-m", model, "--format", "text", "--as", "brackets", input=f"{ENGLISH}\n\n{CHINESE}\n").out
    lines = out.split("\n")
    assert lines[1:2] == [""]
    for line, text in ((lines[0], ENGLISH), (lines[2], CHINESE)):
        marks = re.sub(r"(?<!\\)\[[A-Z]+ ", "", line)
        assert re.sub(r"\\(.)", r"\1", re.sub(r"(?<!\\)\]", "", marks)) == text
    assert r"\[Italy\]" in re.sub(r"(?<!\\)\[[A-Z]+ |(?<!\\)\]", "", lines[0])
    found = loaded.predict_spans([words_of(CHINESE)])[0]
    for one in found:
        assert f"[{one.type} {''.join(words_of(CHINESE)[one.start : one.end])}]" in lines[2]
    first = found[0]
    likely = tagline("tag", "-m", model, "--format", "text", "--as", "brackets", "--spans", input=CHINESE).out
    assert f" {first.probability:.3f}]" in likely


def test_brackets_of_columns_put_words_together(folder: Path, model: Path) -> None:
    out = tagline("tag", "-m", model, "--as", "brackets", input="The\ncat\n\n北\n京\n2\n，\n").out
    assert re.sub(r"\[[A-Z]+ |\]", "", out) == "The cat\n北京2，\n"


def test_html_is_a_page_and_escapes(model: Path) -> None:
    text = f"<b>&\n{ENGLISH}\n"
    out = tagline("tag", "-m", model, "--format", "text", "--as", "html", "--spans", input=text).out
    assert out.startswith("<!DOCTYPE html>")
    assert out.endswith("</html>\n")
    assert "<b>" not in out
    body = re.findall(r"<p>(.*?)</p>", out)
    shown = [html.unescape(re.sub(r"<small>.*?</small>|<[^>]*>", "", line)) for line in body]
    assert shown == text.splitlines()
    assert re.search(r'<mark style="background:#\w+" title="[A-Z]+ [01]\.\d{4}">', out)
    assert "http" not in out, "nothing is loaded from elsewhere"
    ranked = tagline("tag", "-m", model, "--format", "text", "--as", "html", "-k", 2, input=text).out
    assert ranked.count("<p>") == 4


def test_tags_without_spans(pos: Path) -> None:
    words = ("tag", "-m", pos, "--format", "text", "--as", "brackets")
    assert tagline(*words, input="the cat.").out.startswith("the/DT cat/NN ./")
    assert tagline("tag", "-m", pos, "--format", "text", "--as", "html", input="the cat").out.count("<mark") == 2
    assert "scheme" in line_of(tagline("tag", "-m", pos, "--spans", input="the\n"))


def test_columns_that_the_template_looks_at(chunker: Path) -> None:
    assert tagline("tag", "-m", chunker, input="the DT\ncat NN\n").out == "the\tDT\tB-NP\ncat\tNN\tI-NP\n\n"
    for words, text in ((("--format", "columns"), "the\ncat\n"), (("--format", "text"), "the cat\n")):
        line = line_of(tagline("tag", "-m", chunker, *words, input=text))
        assert line.startswith("<stdin>:1: ")


def test_how_text_is_cut(model: Path, loaded: CRF, pos: Path, tmp_path: Path) -> None:
    assert cut_for(loaded)("Anna's cat.") == [(0, 6), (7, 10), (10, 11)]
    assert len(cut_for(loaded)(CHINESE)) == len(CHINESE)
    out = tagline("tag", "-m", model, "--format", "text", "--tokenizer", "whitespace", input="Rome.\n").out
    assert out.startswith("Rome.\t")
    (tmp_path / "zh.txt").write_text("北 B-LOC\n京 I-LOC\n好 O\n\n" * 3, encoding="utf-8")
    tagline("train", tmp_path / "zh.txt", "-o", tmp_path / "zh", "-q")
    tagline("train", tmp_path / "zh.txt", "-o", tmp_path / "hashed", "-q", "--hash-bits", 8)
    for name in ("zh", "hashed"):
        assert tagline("tag", "-m", tmp_path / name, "--format", "text", input="ab cd").out.count("\t") == 4
    assert tagline("tag", "-m", pos, "--format", "text", input="ab 京").out.count("\t") == 2


def test_other_encodings(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("北\n京\n".encode("gb18030"))
    assert tagline("tag", "-m", model, tmp_path / "a.txt", "--encoding", "gb18030").out.startswith("北\t")
    line = line_of(tagline("tag", "-m", model, tmp_path / "a.txt", "--encoding", "ascii"))
    assert f"{tmp_path / 'a.txt'}:1: " in line
    assert f"{tmp_path / 'a.txt'}:1: " in line_of(tagline("tag", "-m", model, tmp_path / "a.txt"))
    assert tagline("tag", "-m", model, input="\ufeffRome\n").out.startswith("Rome\t")


def test_no_sentences_are_no_error_but_said(model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n\n")
    done = tagline("tag", "-m", model, tmp_path / "empty")
    assert (done.code, done.out, done.err) == (0, "", f"{tmp_path / 'empty'}: no sentences\n")


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        ("--as pdf", "", "--as: "),
        ("--format conllu", "", "--format: "),
        ("-k -1", "", "--k-best: "),
        ("-k 2 --spans", "", "--k-best, --spans: "),
        ("--marginals --as html", "", "--marginals: "),
        ("--marginals --spans", "", "--marginals: "),
        ("--min-probability 2 --spans", "", "--min-probability: "),
        (
            "--tokenizer syllables",
            "",
            "--tokenizer: ",
        ),
        ("--encoding klingon", "a\n", "--encoding: "),
        ("nowhere.txt", "", "nowhere.txt: "),
        ("/sys", "", "/sys: "),
        ("", "a b\nc\n", "<stdin>:1: "),
        ("--format columns", "a b\nc\n", "<stdin>:2: "),
        ("--format jsonl", '\n{"text": 3}\n', "<stdin>:2: "),
        ("--format jsonl", "{\n", "<stdin>:1: "),
        (
            "--format jsonl --as columns",
            '{"tokens": ["New York"]}',
            "<stdin>:1: ",
        ),
    ],
)
def test_what_is_refused(model: Path, words: str, text: str, message: str) -> None:
    assert line_of(tagline("tag", "-m", model, *words.split(), input=text)).startswith(message)


@pytest.mark.parametrize("command", ["tag", "explain", "train", "cluster"])
def test_an_option_of_earlier_versions(command: str) -> None:
    done = tagline(command, "file", "--tokens", "words")
    assert done.code == 2
    assert "--tokens is no option any more; write --tokenizer\n" in done.err


def test_files_that_are_no_models(folder: Path, model: Path, tmp_path: Path) -> None:
    for path in (folder / "train.txt", folder, tmp_path / "nowhere"):
        for words in (("tag", "-m", path), ("inspect", path), ("explain", "-m", path, "Rome")):
            assert line_of(tagline(*words)).startswith(f"{path}: ")
    newer = tmp_path / "newer"
    data = model.read_bytes()
    newer.write_bytes(data.replace(b'"version":"1"', b'"version":"9"', 1))
    assert newer.read_bytes() != data
    assert "newer" in line_of(tagline("tag", "-m", newer))


def test_a_model_whose_features_a_program_makes(tmp_path: Path) -> None:
    CRF().fit([[{"word": "Anna"}]], [["N"]]).save(tmp_path / "m")
    line = line_of(tagline("tag", "-m", tmp_path / "m", input="Anna\n"))
    assert "template" in line
    assert "tagline.load(path).predict(X)" in line
    assert "labels      1: N" in tagline("inspect", tmp_path / "m").out


@pytest.mark.parametrize("label", ["B C", "B\tC", "B\nC", ""])
def test_labels_that_no_column_can_hold_are_refused(label: str, tmp_path: Path) -> None:
    CRF("U0:%x[0,0]\n").fit([["a"], ["b"]] * 3, [[label], ["X"]] * 3).save(tmp_path / "m")
    line = line_of(tagline("tag", "-m", tmp_path / "m", input="b\n\na\n\n"))
    assert line.startswith("<stdin>:3: ")
    done = tagline("tag", "-m", tmp_path / "m", "--as", "jsonl", input="a\n\n")
    assert json.loads(done.out)["tags"] == [label]


def test_the_help_knows_all_tokenizers() -> None:
    assert list(options.TOKENIZERS) == list(TOKENIZERS)
    for name, example in TOKENIZERS.items():
        assert f"\n\n{name}: {example}\n\n" in f"{get_args(options.Tokenizer)[1].help}\n\n"
