"""The flow is one-way: a room of `tagline` imports only from those above it, heavy libraries only where they belong."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import tagline

PACKAGE = Path(tagline.__file__).parent

# From the top of the flow down; a room may import from itself and from those before it.
ROOMS = (
    "_core",
    "errors",
    "types",
    "compiled",
    "storage",
    "readers",
    "datasets",
    "chain",
    "features",
    "evaluation",
    "training",
    "nn",
    "models",
    "interop",
    "scale",
    "serving",
    "cli",
)

# Where a library may be imported at all; elsewhere only the standard library and NumPy are.
LIBRARIES = {
    "sklearn": {"models"},
    "torch": {"chain", "nn", "training", "models", "interop"},
    "triton": {"chain"},
    "transformers": {"nn", "models"},
    "matplotlib": {"evaluation"},
    "typer": {"cli"},
    "rich": {"cli"},
}

# The rest of the engine needs NumPy only; these are loaded by those who have tensors.
TORCH_IN_CHAIN = {
    "batched.py",
    "conditionals.py",
    "fused.py",
    "hosted.py",
    "tensor_dispatch.py",
    "tensor_queries.py",
    "tensors.py",
    "traced.py",
}

# The C++ core, and the rooms above each of its rooms; bindings/ sees all of them.
CORE = Path(__file__).parent.parent / "core"
CORE_ROOMS: dict[str, set[str]] = {
    "runtime": set(),
    "chain": {"runtime"},
    "features": {"runtime"},
    "training": {"runtime", "chain"},
    "hmm": {"runtime", "chain"},
    "trigram": {"runtime", "chain", "features"},
}

FILES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem not in ("__init__", "__main__")
)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Dotted names of everything that a file imports, at its top or inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_from_rooms_above(path: Path) -> None:
    allowed = ROOMS[: ROOMS.index(room_of(path)) + 1]
    for name in imports_of(path):
        first, _, rest = name.partition(".")
        if first == "tagline" and rest and rest != "__version__":
            assert rest.split(".")[0] in allowed, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_libraries_stay_in_their_rooms(path: Path) -> None:
    for name in imports_of(path):
        rooms = LIBRARIES.get(name.split(".")[0])
        assert rooms is None or room_of(path) in rooms, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_engine_for_arrays_needs_no_torch(path: Path) -> None:
    if path.parent == PACKAGE / "chain" and path.name not in TORCH_IN_CHAIN:
        for name in imports_of(path):
            parts = name.split(".")
            assert parts[0] not in ("torch", "triton"), f"{path.name} imports {name}"
            assert parts[:2] != ["tagline", "chain"] or f"{parts[2]}.py" not in TORCH_IN_CHAIN, path.name


def test_every_room_is_known() -> None:
    assert {room_of(path) for path in FILES} <= set(ROOMS)


def test_the_rule_can_fail(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from tagline.cli import app\n", encoding="utf-8")
    assert imports_of(wrong) == {"tagline.cli.app"}


def core_files() -> list[Path]:
    return sorted(path for path in CORE.rglob("*.[ch]*") if path.relative_to(CORE).parts[0] != "bindings")


def includes_of(path: Path) -> list[str]:
    """What a file of the core includes from the core, written from its top: ``chain/batch.h``."""
    return re.findall(r'^\s*#include "([^"]+)"', path.read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.mark.parametrize("path", core_files(), ids=lambda path: str(path.relative_to(CORE)))
def test_the_core_has_no_python_in_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "Python.h" not in text
    assert "nanobind" not in text


@pytest.mark.parametrize("path", core_files(), ids=lambda path: str(path.relative_to(CORE)))
def test_a_room_of_the_core_includes_only_from_rooms_above(path: Path) -> None:
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
