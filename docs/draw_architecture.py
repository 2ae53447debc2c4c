"""Draw docs/images/architecture.svg from the imports of the package: `python docs/draw_architecture.py`.

Rooms stand in import order, the first at the top. A dot in column k of a row says that the room imports from room k;
it is small where one or two of its modules do so, large where ten or more do. Since rooms import only from those above
them, all dots lie below the diagonal. A test compares the picture with the tree.
"""

from __future__ import annotations

import ast
from collections import Counter
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "tagline"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

# In import order: a room imports only from those above it. The tests of the architecture read this table, too.
ROOMS = {
    "messages": "templates and values, in English and Chinese",
    "errors": "the error classes",
    "checks": "what every door asks of its arguments",
    "settings": "how a setting is declared, once",
    "writing": "the one way in which files are written",
    "drawing": "what pictures are made of: spans, tables, figures, SVG",
    "types": "Chain, Paths, Marginals …: frozen, shapes stated",
    "ragged": "rows of different lengths in one array",
    "compiled": "the compiled core: variant and threads",
    "storage": "one safe file of settings and arrays",
    "readers": "files and texts ↔ sentences ↔ spans; tag schemes",
    "showing": "`tagline.show`: entities and results, in colour",
    "datasets": "corpora that we generate",
    "chain": "THE ENGINE: scores → answers",
    "chain/tensors": "the same on tensors: PyTorch, C++, Triton",
    "features": "sentences → numbered attributes, words, pieces",
    "evaluation": "spans, tokens, significance, calibration",
    "training": "objectives and how to descend them",
    "training/neural": "the loop of networks",
    "nn": "PyTorch: the CRF layer, encoders, heads",
    "models": "contract, registry, labelled data, answers, files",
    "models/crf": "the feature CRF",
    "models/semicrf": "the CRF over segments",
    "models/hmm": "hidden Markov models and their emissions",
    "models/trigram": "the trigram tagger",
    "models/neural": "BiLSTM-CRF, CRF on transformers",
    "plots": "the public pictures: trellis, tables, spans, curves",
    "interop": "the names of other tools",
    "serving": "the HTTP service, its client, the page",
    "scale": "Ray: tag, train, search",
    "cli": "the commands",
}

ROW, LEFT, NAME, MATRIX = 26, 16, 168, 500
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1b1f24; }
  .name { font-weight: 600; }
  .quiet { fill: #57606a; font-size: 12px; }
  .row { fill: #f3f5f8; }
  .dot { fill: #3b6ea5; }
  .self { fill: none; stroke: #b6c2cf; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .quiet { fill: #9aa4af; } .row { fill: #1c2229; } .dot { fill: #7fb2e5; }
    .self { stroke: #4a5663; }
  }
"""


def room_of(path: Path) -> str:
    """Return the room that a module lies in: the longest that fits."""
    place = path.relative_to(PACKAGE).with_suffix("").as_posix()
    return max((room for room in ROOMS if place == room or place.startswith(f"{room}/")), key=len, default="")


def modules() -> list[Path]:
    """Return the modules of all rooms."""
    return sorted(path for path in PACKAGE.rglob("*.py") if room_of(path))


def imported_rooms(path: Path) -> set[str]:
    """Return the rooms that a module imports from, at its top or inside functions, other than its own."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tagline":
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names if alias.name.startswith("tagline."))
    rooms = {room_of(PACKAGE / "/".join(name.split(".")[1:])) for name in names}
    return rooms - {"", room_of(path)}


def edges() -> Counter[tuple[str, str]]:
    """Count the modules of each room that import from each other room."""
    return Counter((room_of(path), room) for path in modules() for room in imported_rooms(path))


def draw() -> str:
    """Return the picture as SVG."""
    places = {room: place for place, room in enumerate(ROOMS)}
    width, height = MATRIX + ROW * len(ROOMS) + LEFT, 44 + ROW * len(ROOMS)
    lines = [
        f'<text class="quiet" x="{MATRIX + ROW * k + ROW / 2}" y="26" text-anchor="middle">{k + 1}</text>'
        for k in range(len(ROOMS))
    ]
    for room, purpose in ROOMS.items():
        k, depth = places[room], 14 * room.count("/")
        y = 46 + ROW * k
        lines.append(
            f'<rect class="row" x="{LEFT}" y="{y - 11}" width="{width - 2 * LEFT}" height="22" rx="4"/>'
            f'<text class="quiet" x="{LEFT + 22}" y="{y + 4}" text-anchor="end">{k + 1}</text>'
            f'<text class="name" x="{LEFT + 32 + depth}" y="{y + 4}">{escape(room)}</text>'
            f'<text class="quiet" x="{LEFT + NAME}" y="{y + 4}">{escape(purpose)}</text>'
            f'<circle class="self" cx="{MATRIX + ROW * k + ROW / 2}" cy="{y}" r="2.5"/>'
        )
    for (importer, imported), count in sorted(edges().items()):
        x, y = MATRIX + ROW * places[imported] + ROW / 2, 46 + ROW * places[importer]
        lines.append(f'<circle class="dot" cx="{x}" cy="{y}" r="{3 if count < 3 else 5.5 if count < 10 else 8.5}"/>')
    title = "Rooms of the package in import order; a dot in column k: the room imports from room k"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">\n'
        f'<title>{title}</title>\n<style>{STYLE}</style>\n<text class="quiet" x="{LEFT + 32}" y="26">room</text>'
        f'<text class="quiet" x="{LEFT + NAME}" y="26">what it is for</text>\n' + "\n".join(lines) + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
