"""Documents are executed: Python blocks of pages and guides, examples in docstrings. Their links lead somewhere."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import tagline

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(tagline.__path__, "tagline.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_and_print_what_they_say(page: Path) -> None:
    """A block may be followed by a ``text`` block, which is then what it prints. Tests in a block are run."""
    text = page.read_text(encoding="utf-8")
    for code, printed in re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.S):
        output = io.StringIO()
        names: dict[str, Any] = {}
        with contextlib.redirect_stdout(output):
            exec(compile(code, page.name, "exec"), names)
            for name in [name for name in names if name.startswith("test_")]:
                names[name]()
        if printed:
            assert output.getvalue() == printed


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
        if not link.startswith("https://"):
            file, _, heading = link.partition("#")
            target = page.parent / file if file else page
            assert target.exists(), link
            assert not heading or heading in _anchors(target), link


def _prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)


def _anchors(page: Path) -> set[str]:
    """What headings are called in links: lower case, a hyphen for each blank, no punctuation."""
    headings = re.findall(r"^#+ (.+)$", _prose(page), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_architecture_names_the_folders() -> None:
    tree = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for entry in sorted((ROOT / "src" / "tagline").iterdir()):
        if entry.suffix in (".py", "") and not entry.name.startswith("_"):
            assert entry.name in tree, entry.name


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    assert "make demo" in text
    assert "make test" in text


def test_the_chinese_readme_is_as_complete() -> None:
    """It leads to the same pages, names the same commands, and has the same figures."""
    english, chinese = (
        (ROOT / name).read_text(encoding="utf-8").replace("，", " ") for name in ("README.md", "README.zh.md")
    )
    for pattern in (r"\]\((?!README)([^)\s]+)\)", r"^    ((?:tagline|make) [^#\n]*?)(?: *#| \"|$)", r"\b\d+\.?\d*×"):
        missing = {*re.findall(pattern, english, re.M)} - {*re.findall(pattern, chinese, re.M)}
        assert not missing, missing
    assert chinese.count("```python") >= english.count("```python")


def test_the_version_is_the_same_everywhere() -> None:
    assert f"\nversion: {tagline.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{tagline.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
