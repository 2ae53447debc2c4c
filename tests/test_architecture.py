"""The flow is one-way: a room of `tagline` imports only from those above it, heavy libraries only where they belong.

The rooms and their order are those of `docs/draw_architecture.py`, which draws them; ARCHITECTURE.md names them.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent


def drawing() -> ModuleType:
    """The script that draws the rooms."""
    spec = importlib.util.spec_from_file_location("draw_architecture", ROOT / "docs" / "draw_architecture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PICTURE = drawing()
ROOMS = list(PICTURE.ROOMS)

# Where a library may be imported at all; elsewhere only the standard library and NumPy are.
LIBRARIES = {
    "sklearn": ("models", "interop", "scale"),
    "torch": ("chain/tensors", "nn", "training", "models", "interop"),
    "triton": ("chain/tensors",),
    "transformers": ("nn", "models", "interop"),
    "spacy": ("interop",),
    "nltk": ("interop",),
    "matplotlib": ("drawing", "evaluation", "plots"),
    **dict.fromkeys(
        ("fastapi", "starlette", "uvicorn", "pydantic", "pydantic_core", "prometheus_client"), ("serving",)
    ),
    "ray": ("scale",),
    "rich": ("training", "cli"),
    "click": ("cli",),
}


# The C++ core, and the rooms above each of its rooms; bindings/ sees all of them.
CORE = ROOT / "core"
CORE_ROOMS: dict[str, set[str]] = {
    "runtime": set(),
    "chain": {"runtime"},
    "features": {"runtime"},
    "second_order": {"runtime", "chain"},
    "training": {"runtime", "chain", "second_order"},
    "scoring": {"runtime", "chain", "features", "training"},
    "hmm": {"runtime", "chain"},
    "trigram": {"runtime", "chain", "features"},
}


def libraries_of(path: Path) -> set[str]:
    """Names of the packages that a file imports, at its top or inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: relative import"
            names.add((node.module or "").split(".")[0])
    return names


def wrong_imports(path: Path) -> list[str]:
    """Rooms below its own that a module imports from."""
    own = ROOMS.index(PICTURE.room_of(path))
    return [room for room in PICTURE.imported_rooms(path) if ROOMS.index(room) > own]


def test_every_module_is_in_a_room() -> None:
    package = PICTURE.PACKAGE
    outside = {*package.rglob("*.py")} - {*PICTURE.modules()}
    assert outside == {package / "__init__.py", package / "__main__.py"}
    assert {PICTURE.room_of(path) for path in PICTURE.modules()} == set(ROOMS)


def test_imports_only_from_rooms_above() -> None:
    assert {path.name: wrong for path in PICTURE.modules() if (wrong := wrong_imports(path))} == {}


def test_heavy_libraries_stay_in_their_rooms() -> None:
    for path in PICTURE.modules():
        for name in libraries_of(path) & LIBRARIES.keys():
            homes = LIBRARIES[name]
            room = PICTURE.room_of(path)
            assert any(room == home or room.startswith(f"{home}/") for home in homes), f"{path} imports {name}"


def test_the_rules_can_fail(tmp_path: Path, monkeypatch) -> None:
    wrong = tmp_path / "readers" / "wrong.py"
    wrong.parent.mkdir()
    wrong.write_text("def f():\n    from tagline.cli import app\n    import torch.nn\n", encoding="utf-8")
    monkeypatch.setattr(PICTURE, "PACKAGE", tmp_path)
    assert wrong_imports(wrong) == ["cli"]
    assert libraries_of(wrong) == {"tagline", "torch"}


def test_the_picture_is_that_of_the_tree() -> None:
    assert PICTURE.PICTURE.read_text(encoding="utf-8") == PICTURE.draw(), "run: python docs/draw_architecture.py"


def test_the_page_names_every_room_and_every_file_of_its_walks() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    tree = page[page.index("src/tagline/\n") :].split("```")[0]
    for room in ROOMS:
        name = room.split("/")[-1]
        assert f"{name}/" in tree or f"{name}.py" in tree, room
    walks = page[page.index("## The life of a sentence") : page.index("## Contracts")]
    for path in re.findall(r"`((?:cli|models|readers|training|features)/[a-z_/]+\.py)", walks):
        assert (PICTURE.PACKAGE / path).is_file(), path
    for path in re.findall(r"`((?:tests|core|docs|benchmarks)/[\w/.]*\w\.\w+)`", page):
        assert (ROOT / path).is_file(), path


def core_files() -> list[Path]:
    return sorted(path for path in CORE.rglob("*.[ch]*") if path.relative_to(CORE).parts[0] != "bindings")


def includes_of(path: Path) -> list[str]:
    """What a file of the core includes from the core, written from its top: ``chain/batch.h``."""
    return re.findall(r'^\s*#include "([^"]+)"', path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_core_has_no_python_in_it() -> None:
    for path in core_files():
        text = path.read_text(encoding="utf-8")
        assert "Python.h" not in text, path.name
        assert "nanobind" not in text, path.name


def test_a_room_of_the_core_includes_only_from_rooms_above() -> None:
    for path in core_files():
        room = path.relative_to(CORE).parts[0]
        for name in includes_of(path):
            assert (CORE / name).is_file(), f"{path.name} includes {name}, which is not written from core/"
            assert name.split("/")[0] in {room, *CORE_ROOMS[room]}, f"{path.name} includes {name}"


def test_every_room_of_the_core_is_known() -> None:
    assert {path.name for path in CORE.iterdir()} == {*CORE_ROOMS, "bindings"}
    assert all((CORE / room).is_dir() for room in CORE_ROOMS)


def test_includes_are_read_as_the_compiler_reads_them(tmp_path: Path) -> None:
    header = tmp_path / "header.h"
    header.write_text('#pragma once\n\n#include "chain/batch.h"\n#include <vector>\n  #include "runtime/pool.h"\n')
    assert includes_of(header) == ["chain/batch.h", "runtime/pool.h"]
