"""The flow is one-way: a room of `tagline` imports only from those above it, heavy libraries only where they belong."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tagline

PACKAGE = Path(tagline.__file__).parent

# From the top of the flow down; a room may import from itself and from those before it.
ROOMS = (
    "_core",
    "errors",
    "types",
    "ragged",
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
    """Only chain/tensors/ imports PyTorch and Triton, and nothing else in chain/ imports chain/tensors/."""
    chain = PACKAGE / "chain"
    if path.is_relative_to(chain) and not path.is_relative_to(chain / "tensors"):
        for name in imports_of(path):
            parts = name.split(".")
            assert parts[0] not in ("torch", "triton"), f"{path.name} imports {name}"
            assert parts[:3] != ["tagline", "chain", "tensors"], f"{path.name} imports {name}"


def test_every_room_is_known() -> None:
    assert {room_of(path) for path in FILES} <= set(ROOMS)


def test_the_rule_can_fail(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from tagline.cli import app\n", encoding="utf-8")
    assert imports_of(wrong) == {"tagline.cli.app"}


def test_the_core_has_no_python_in_it() -> None:
    core = Path(__file__).parent.parent / "core"
    for path in core.glob("*.[ch]*"):
        text = path.read_text(encoding="utf-8")
        assert "Python.h" not in text, path.name
        assert "nanobind" not in text, path.name
