"""Chinese messages: none is missing, English stays as it is, data are never translated."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import tagline
from tagline.cli.app import COMMANDS, CommandLine, command_named
from tagline.cli.arguments import Argument, Option
from tagline.cli.foreign import PANEL, TOOLS
from tagline.cli.language import asked_for, wrapped
from tagline.cli.language.tables import Table
from tagline.cli.language.zh import TEXTS
from tagline.errors import InputError
from tagline.models.registry import kinds

SOURCE = Path(tagline.__file__).parent
SPOKEN = ("say", "stage", "notice", "_title")  # functions whose first or second argument is said to people
NOT_WORDS = {"tagline {}", "python {} < words.txt"}  # names and commands
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def test_every_help_text_has_a_translation() -> None:
    texts = ["Commands", PANEL, *(text for _, _, text in TOOLS.values())]
    for command in (CommandLine(), *map(command_named, COMMANDS)):
        paragraphs = str(command.help).split("\n\n")
        texts += [" ".join(paragraph.split()) for paragraph in paragraphs if not paragraph.startswith("\b")]
        texts += [line for paragraph in paragraphs for line in paragraph.split("\n") if re.fullmatch(r"\w+:", line)]
        for parameter in command.params:
            assert isinstance(parameter, Option | Argument)
            texts += [str(parameter.help).replace("\n", "\n\n"), parameter.panel]
    texts += [kind.advice for kind in kinds().values()]
    assert len(texts) > 80
    missing = sorted({text for text in texts if text} - set(TEXTS))
    assert not missing, "put them into cli/language/zh.py"


def spoken() -> Iterator[tuple[str, str]]:
    """What commands and recipes say, with gaps, and where."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in SPOKEN:
                for argument in node.args:
                    for text in templates(argument):
                        yield f"{path.relative_to(SOURCE)}:{node.lineno}", text


def templates(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)]
    if isinstance(node, ast.IfExp):
        return templates(node.body) + templates(node.orelse)
    return []


def test_every_line_that_is_said_has_a_translation() -> None:
    """Words that stand in the code; tables of others (reports, summaries) are tested below by running commands."""
    lines = list(spoken())
    assert len(lines) > 35
    missing = [line for line in lines if re.search("[a-z]", line[1]) and line[1] not in {*TEXTS, *NOT_WORDS}]
    assert not missing, "put them into cli/language/zh.py"


def test_gaps_are_the_same_on_both_sides() -> None:
    for english, chinese in TEXTS.items():
        gaps = len(re.findall(r"\{#?\}", english))
        fields = [name for _, name, _, _ in Formatter().parse(chinese) if name is not None]
        used = len(fields) if "" in fields or not fields else len({*fields})
        assert used == gaps or (english, used) in {("skipped {} broken sentence{}", 1)}, english
        chinese.replace(":t", "").format(*["x"] * gaps)
        assert CHINESE.search(chinese) or english == chinese, english


def test_lines_are_found_by_their_gaps() -> None:
    table = Table(TEXTS)
    assert table.text("wrote a; b.txt") == "已写入 a; b.txt"
    assert table.text("pass 12  objective 1234.50  dev 93.12  3 s  about 1 min 8 s left") == (
        "第 12 遍  目标函数 1234.50  开发集 93.12  3 秒  约剩 1 分 8 秒"
    )
    stopped = "stopped after 3 epochs, 2 s in all: all epochs are made; epoch 2 is kept, dev 91.00"
    assert table.text(stopped) == "训练 3 遍后停止，共用 2 秒：各遍都已完成；保留第 2 遍，开发集 91.00"
    for data in (
        "Anna\tB-PER\tB-PER",
        "  0.12  U00:words",
        "processed 4 tokens with 2 phrases; found: 2 phrases",
        "",
        "s",
    ):
        assert table.text(data) == data
    assert table.text("wrote a\nAnna\nwrote b") == "已写入 a\nAnna\n已写入 b"


def test_errors_have_their_frame_translated() -> None:
    table = Table(TEXTS)
    assert table.text("--as: expected one of a, b, got 'c'") == "--as：应为 a, b 之一，实为 'c'"
    told = table.text("a.txt: expected a file, got none of that name; check the path")
    assert told == "a.txt：应为 文件，实为 没有这个文件；请检查路径"
    unknown = table.text("x.txt:7: expected a thing nobody translated, got 3 ; of them; do that")
    assert unknown == "x.txt:7：应为 a thing nobody translated，实为 3 ; of them；do that"


def test_which_language_is_asked_for() -> None:
    assert (
        asked_for({"LANG": "zh_CN.UTF-8"}) == asked_for({"LC_MESSAGES": "zh_SG"}) == asked_for({"LANG": "zh"}) == "zh"
    )
    for environment in ({}, {"LANG": "C"}, {"LANG": "en_US.UTF-8"}, {"LANG": "zh_TW.UTF-8"}, {"LANG": "zha_CN"}):
        assert asked_for(environment) == "en"
    assert asked_for({"LC_ALL": "C.UTF-8", "LANG": "zh_CN.UTF-8"}) == "en"
    assert asked_for({"TAGLINE_LANG": "en", "LANG": "zh_CN.UTF-8"}) == "en"


def test_lines_of_chinese_are_broken_by_cells() -> None:
    lines = wrapped("预训练的 --encoder（BERT 一类），上面是 CRF：已经懂得语言，生词多、句子少时最准。", 30)
    assert max(sum(1 + (sign > "\u2e80") for sign in line) for line in lines) <= 34, "two closing signs hang over"
    assert not any(line[:1] in "，。、）" for line in lines)


def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    home = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "80", **environment}
    command = [sys.executable, "-m", "tagline", *map(str, words)]
    return subprocess.run(command, capture_output=True, env=home, encoding="utf-8", check=False)


def test_commands_speak_chinese_and_data_stay(tmp_path: Path) -> None:
    (tmp_path / "train.seg").write_text("中国 人民 站 起来 了 。\n我 爱 北京 。\n" * 4, encoding="utf-8")
    model, seg = tmp_path / "m.tagline", tmp_path / "train.seg"
    done = run("train", seg, "-o", model, "--format", "words", "--dev", seg, "--max-iterations", 2, TAGLINE_LANG="zh")
    assert done.returncode == 0, done.stderr
    english = [line for line in done.stderr.splitlines() if not CHINESE.search(line)]
    assert [line.split()[0] for line in english if line.strip()] == ["words"], "the row of a table"
    tag = ("tag", "-m", model, seg, "--format", "words")
    assert run(*tag, LANG="zh_CN.UTF-8").stdout == run(*tag, LANG="C").stdout
    told = run("describe", seg, "--format", "words", LANG="zh_CN.UTF-8").stdout
    assert "词      40，平均 1.40 个字" in told
    assert "sentences  8" in run("describe", seg, "--format", "words", LANG="C").stdout


def test_help_and_mistakes_in_chinese() -> None:
    told = run("train", "--help", TAGLINE_LANG="zh").stdout
    for words in (
        "用法：",
        "用带标签的句子训练模型",
        "示例：",
        "双向读词和字符的网络",
        "神经网络：bilstm、transformer",
        "显示此帮助并退出",
    ):
        assert words in told
    assert "…" not in told.replace("……", ""), "no help is cut off"
    wrong = run("train", "--modell", "x", TAGLINE_LANG="zh")
    assert wrong.returncode == 2
    assert "没有这个选项：--modell" in wrong.stderr
    missing = run("describe", "nowhere.txt", TAGLINE_LANG="zh")
    assert (missing.returncode, missing.stderr) == (
        1,
        "tagline: nowhere.txt：应为 文件，实为 没有这个文件；请检查路径\n",
    )


def test_python_stays_english() -> None:
    with pytest.raises(InputError, match=r"^nowhere\.txt: "):
        tagline.readers.read_columns("nowhere.txt")
