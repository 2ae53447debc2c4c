"""The public API is what ``tests/api.txt`` says; a difference is shown line by line."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

import pytest

import tagline
from tagline.errors import deprecated
from tests import api

SOURCES = Path(tagline.__file__).parent


def minor(version: str) -> tuple[int, int]:
    major, second = version.split(".")[:2]
    return int(major), int(second)


def test_the_api_is_the_one_that_was_written_down() -> None:
    pytest.importorskip("torch")  # for tagline.nn
    before, now = api.SNAPSHOT.read_text(encoding="utf-8").splitlines(), api.lines()
    changes = [
        line for line in difflib.unified_diff(before, now, lineterm="", n=0) if line[:2] not in ("--", "++", "@@")
    ]
    assert not changes, "the public API changed; write it down with: make api\n" + "\n".join(changes)


def test_what_goes_is_announced_two_minor_versions_before() -> None:
    with pytest.warns(FutureWarning, match=r"^old\(\) goes in tagline 0\.4: use new\(\)$"):
        deprecated("old()", since="0.2", instead="use new()")


def test_no_announcement_is_older_than_that() -> None:
    """Whoever raises the version to the one in which a name goes removes it."""
    for source in SOURCES.rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        if "deprecated(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "deprecated":
                since = next(word.value.value for word in node.keywords if word.arg == "since")
                (major, second), current = minor(since), minor(tagline.__version__)
                assert current < (major, second + 2), f"{source}:{node.lineno}: announced in {since}; remove it now"
