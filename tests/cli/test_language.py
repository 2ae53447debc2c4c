"""The command line in Chinese; data stay as they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tagline
from tagline.cli.usage import wrapped
from tagline.errors import InputError

CHINESE = re.compile(r"[\u4e00-\u9fff]")


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
    tag = ("tag", "-m", model, seg, "--format", "words")
    assert run(*tag, LANG="zh_CN.UTF-8").stdout == run(*tag, LANG="C").stdout
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
    assert "没有这个选项：'--modell'" in wrong.stderr
    missing = run("describe", TAGLINE_LANG="zh")
    assert missing.returncode == 2
    assert "缺少参数 'FILE'" in missing.stderr


def test_python_stays_english() -> None:
    with pytest.raises(InputError, match=r"^nowhere\.txt: "):
        tagline.readers.read_columns("nowhere.txt")
