"""Documents are executed: the Python blocks of the README and the guides, and the examples in docstrings."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path

import pytest

import tagline

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(tagline.__path__, "tagline.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_and_print_what_they_say(page: Path) -> None:
    """A block may be followed by a ``text`` block, which is then what it prints."""
    text = page.read_text(encoding="utf-8")
    for code, printed in re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.S):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, page.name, "exec"), {})
        if printed:
            assert output.getvalue() == printed


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_the_readme_tree_names_the_folders() -> None:
    tree = (ROOT / "README.md").read_text(encoding="utf-8")
    for entry in sorted((ROOT / "src" / "tagline").iterdir()):
        if entry.suffix in (".py", "") and not entry.name.startswith("_"):
            assert entry.name in tree, entry.name


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text
