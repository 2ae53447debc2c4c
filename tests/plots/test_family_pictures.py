"""The pictures of the course's family are those that the present code draws."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from .pictures import Svg

ROOT = Path(__file__).parents[2]


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_family", ROOT / "docs" / "draw_family.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pictures_are_up_to_date() -> None:
    script = _script()
    drawn = script.pictures()
    for name, svg in drawn.items():
        assert Svg(svg).inside(), name
        assert (script.IMAGES / name).read_text(encoding="utf-8") == svg, "run: python docs/draw_family.py"
    assert {path.name for path in script.IMAGES.glob("family-*.svg")} == set(drawn)


def test_every_picture_stands_on_a_page_of_its_language() -> None:
    for name in _script().pictures():
        page = "docs/zh/learn" if name.endswith("-zh.svg") else "docs/learn"
        texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / page).glob("[5-8]-*.md"))]
        assert any(f"images/{name})" in text for text in texts), name
