"""The pictures of the course are those that the present code draws; those with measurements in them can be drawn."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from .pictures import Svg

DOCS = Path(__file__).parents[2] / "docs"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_course", DOCS / "draw_course.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["draw_course"] = importlib.util.module_from_spec(spec)  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


COURSE = script()


def test_the_exact_pictures_are_up_to_date() -> None:
    for name, svg in COURSE.exact().items():
        assert Svg(svg).inside(), name
        assert (COURSE.IMAGES / name).read_text(encoding="utf-8") == svg, "run: python docs/draw_course.py"


@pytest.mark.parametrize("name", COURSE.measured())
def test_the_measured_pictures_can_be_drawn(name: str) -> None:
    """They show what they say on any machine; only numbers differ."""
    fresh, kept = Svg(COURSE.measured()[name]()), Svg((COURSE.IMAGES / name).read_text(encoding="utf-8"))
    assert fresh.inside()
    assert kept.inside()
    assert fresh.words() == kept.words()
    assert len(fresh.all("line")) > 10


def test_every_picture_is_shown_and_described() -> None:
    """Each is on a page of its language, and no page shows one that nobody draws."""
    shown = set()
    for page in sorted(DOCS.glob("**/learn/[1-4]-*.md")):
        for text, path in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            assert len(text) > 5, path
            shown.add(Path(path).name)
    assert shown == {*COURSE.exact(), *COURSE.measured()}
