"""Documents are executed: Python and shell blocks of all pages, examples in docstrings. Their links lead somewhere."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import io
import json
import pkgutil
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

import tagline
from tests.pages import PAGES, ROOT, Block, Shell, blocks_of, give, name_of, shell_lines

MODULES = [
    module.name
    for module in pkgutil.walk_packages(tagline.__path__, "tagline.")
    if not module.name.endswith("__main__")
]
RUN = ("python", "shell", "indented")
SHOWN = ("", "text", "json", "toml", "ini", "console", "math")
"""Fences of blocks that are not run. Other words are those of directives, in braces."""
STAND_INS = ("wandb", "mlflow")
"""Packages that blocks import and the tests do not have; tests/models/test_callbacks.py looks at what they are told."""
NOT_RUN = {
    "make demo": "installs; tests/cli/test_demo.py runs what follows",
    "make test": "runs this test",
    ". .venv/bin/activate": "an environment that `make test` makes",
    "pip install 'tagline[web]'": "installs",
    "pip install 'tagline[ray]'": "installs",
    "tagline tag -m model.tagline corpus/ -o tagged/ --ray": "starts Ray, which takes seconds; tests/scale runs it",
    "tagline tag -m model.tagline 'corpus/**/*.jsonl.gz' -o tagged/ --ray 10.0.0.1:6379 --workers 64": "a cluster",
    "torchrun --nproc-per-node 4 -m tagline train train.txt -o model.tagline --model transformer "
    "--encoder xlm-roberta-base": "four GPUs; tests/cli/test_processes.py runs two processes",
    "tagline train 'parts/*.gz' -o model.tagline --ray --workers 4": "tests/scale/test_training.py runs the like",
    "tagline train 's3://bucket/parts/*.gz' -o model.tagline --ray 10.0.0.1:6379 --workers 64 --checkpoint run.state": (
        "an object store and a cluster"
    ),
    "make fuzz": "half a minute a door; tests/fuzz/test_fuzz.py runs a short form",
    'make fuzz FUZZ="--doors crf,chain --seconds 3600"': "an hour a door",
    'make fuzz FUZZ="--doors templates --count 1000000 --seed 7"': "a million inputs",
    'make fuzz-core FUZZ="--seconds 600"': "compiles another core",
    "python -m tests.fuzz --replay build/finds/crf-0a1b2c3d4e5f": "a find that there is not",
}
"""Lines of ``console`` blocks and of indented lists that cannot run in a test, and why. No other line is left out."""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_run_and_print_what_they_say(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    """A block may be followed by a ``text`` block, which is then what it prints. Tests in a block are run."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for package in STAND_INS:
        monkeypatch.setitem(sys.modules, package, MagicMock())
    blocks = [block for block in blocks_of(page) if block.kind in RUN]
    if same_blocks(page):
        blocks = []
    elif same_commands(page):
        blocks = [block for block in blocks if block.kind == "python"]
    if all(block.kind == "python" for block in blocks):
        run = programs(in_english(page)) if "zh" in page.parts else []
        blocks = [block for block in blocks if program(block) not in run]
    if any(block.kind != "python" for block in blocks):
        give(page, folder)
    record_property("blocks", len(blocks))
    with Shell(folder, tmp_path / "state") as shell:
        for block in blocks:
            place = f"{name_of(page)}:{block.line}"
            if block.kind == "python":
                printed = run_python(block.text, place)
            else:
                lines = block.text.splitlines()
                if block.kind == "indented":
                    lines = [line for line in shell_lines(block) if line not in NOT_RUN and not elsewhere(page, line)]
                done = shell.run("\n".join(lines))
                assert done.returncode == 0, f"{place}\n{done.stdout}{done.stderr}"
                printed = done.stdout
            assert block.printed is None or printed == block.printed, place


def in_english(page: Path) -> Path:
    """The English page that a Chinese one says again; itself where it is one."""
    return ROOT / name_of(page).replace("docs/zh/", "docs/")


def same_blocks(page: Path) -> bool:
    """Whether a Chinese page has the blocks of the English one, which runs them: all, in their order, and no other."""

    def content(page: Path) -> list[object]:
        blocks = [block for block in blocks_of(page) if block.kind in RUN]
        return [program(b) if b.kind == "python" else (b.kind, shell_lines(b), b.printed) for b in blocks]

    return in_english(page) != page and content(in_english(page)) == content(page)


def same_commands(page: Path) -> bool:
    """Whether a Chinese page has the commands of the English one, which runs them, and no Python that needs them."""
    english = in_english(page)
    blocks = blocks_of(page)
    kinds = [block.kind for block in blocks]
    if english == page or "shell" not in kinds or "python" in kinds[kinds.index("shell") :]:
        return False
    run = [shell_lines(block) for block in blocks_of(english) if block.kind == "shell"]
    return all(shell_lines(block) in run for block in blocks if block.kind == "shell")


def programs(page: Path) -> list[tuple[str, str | None]]:
    """The Python blocks of a page, each with what it prints."""
    return [program(block) for block in blocks_of(page) if block.kind == "python"]


def program(block: Block) -> tuple[str, str | None]:
    """A Python block without its comments, which each language has in its own words."""
    return ast.dump(ast.parse(block.text)), block.printed


def elsewhere(page: Path, line: str) -> bool:
    """Whether a line of the Chinese README runs with the English one and writes nothing that the others read."""
    if page.name != "README.zh.md" or re.match(r"tagline (demo|train demo/)", line):
        return False
    return any(line in shell_lines(block) for block in blocks_of(ROOT / "README.md"))


def run_python(code: str, place: str) -> str:
    """What a block prints that knows no names of other blocks."""
    output = io.StringIO()
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(output), modules_in_their_places():
        exec(compile(code, place, "exec"), names)
        for name in [name for name in names if name.startswith("test_")]:
            names[name]()
    return output.getvalue()


@contextlib.contextmanager
def modules_in_their_places() -> Iterator[None]:
    """Some blocks put a module of ours in the place of another; after them it is where it was."""
    before = dict(sys.modules)
    yield
    for name, module in [*sys.modules.items()]:
        if getattr(module, "__name__", name).startswith("tagline.") and not name.startswith("tagline."):
            del sys.modules[name]
    for name, module in before.items():
        sys.modules.setdefault(name, module)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_fences_say_what_blocks_are(page: Path) -> None:
    for block in blocks_of(page):
        place = f"{name_of(page)}:{block.line}"
        known = block.kind in (*RUN, *SHOWN) or re.match(r"\{(?!code)", block.kind)
        assert known, f"{place}: expected one of {', '.join((*RUN, *SHOWN))}, got {block.kind}"
        assert not (block.kind.startswith("{") and "```" in block.text), (
            f"{place}: a block within a directive is not run"
        )
        if block.kind == "json":
            json.loads(block.text)
        elif block.kind == "toml":
            tomllib.loads(block.text)


def test_what_is_not_run_is_listed() -> None:
    """A ``console`` block has nothing but lines of the list; each line of the list stands on a page."""
    shown, listed = Counter[str](), Counter[str]()
    for page in PAGES:
        for block in blocks_of(page):
            if block.kind in ("console", "indented"):
                for line in shell_lines(block):
                    listed[line] += line in NOT_RUN
                    shown[f"{name_of(page)}:{block.line}: {line}"] += block.kind == "console" and line not in NOT_RUN
    assert not +shown, f"not run, and not in NOT_RUN with a reason: {[*+shown]}"
    assert set(+listed) == {*NOT_RUN}, f"in NOT_RUN, and on no page: {[*{*NOT_RUN} - {*+listed}]}"


def test_blocks_are_found() -> None:
    """Print how many blocks run: `pytest -rP -k blocks_are_found`. None are lost by a new way of writing fences."""
    count = Counter(block.kind for page in PAGES for block in blocks_of(page))
    print({kind: count[kind] for kind in (*RUN, "console")})
    assert count["python"] >= 280
    assert count["shell"] + count["indented"] >= 50


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
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
    """It leads to the same pages, in Chinese where they are, names the same commands, and has the same figures."""
    english, chinese = (
        re.sub(r"docs/zh/([\w/-]+\.md)(#\S+?(?=\)))?", r"docs/\1", (ROOT / name).read_text(encoding="utf-8")).replace(
            "，", " "
        )
        for name in ("README.md", "README.zh.md")
    )
    english = re.sub(r"(docs/[\w/-]+\.md)#[^)\s]+", r"\1", english)
    for pattern in (r"\]\((?!README)([^)\s]+)\)", r"^    ((?:tagline|make) [^#\n]*?)(?: *#| \"|$)", r"\b\d+\.?\d*×"):
        missing = {*re.findall(pattern, english, re.M)} - {*re.findall(pattern, chinese, re.M)}
        assert not missing, missing
    assert chinese.count("```python") >= english.count("```python")


def test_the_version_is_the_same_everywhere() -> None:
    assert f"\nversion: {tagline.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{tagline.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
