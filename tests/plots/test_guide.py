"""The pictures of the guide are those that the present code draws."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from .pictures import Svg

SCRIPT = Path(__file__).parents[2] / "docs" / "draw_pictures.py"


def test_the_pictures_of_the_guide_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("draw_pictures", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, svg in module.pictures().items():
        assert Svg(svg).inside()
        assert (module.IMAGES / name).read_text(encoding="utf-8") == svg, "run: python docs/draw_pictures.py"
