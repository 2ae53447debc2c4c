"""Files of SVG, read as a browser reads them: elements, their attributes, their words."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

HARMLESS = {"svg", "title", "style", "circle", "line", "rect", "text"}
SPACE = "{http://www.w3.org/2000/svg}"


class Svg:
    """A picture that was parsed; elements that could load or run something are errors."""

    def __init__(self, source: str) -> None:
        self.root = ElementTree.fromstring(source)
        for element in self.root.iter():
            assert element.tag.removeprefix(SPACE) in HARMLESS, element.tag
            assert not any(name.startswith("on") or "href" in name for name in element.attrib), element.attrib

    def all(self, tag: str) -> list[ElementTree.Element]:
        return list(self.root.iter(f"{SPACE}{tag}"))

    def words(self) -> list[str]:
        return [element.text or "" for element in self.all("text")]

    def noted(self, tag: str) -> dict[str, ElementTree.Element]:
        """Elements by what a pointer above them shows."""
        return {title.text or "": element for element in self.all(tag) for title in element.iter(f"{SPACE}title")}

    def inside(self) -> bool:
        """Whether everything that has a place lies on the sheet."""
        width, height = (float(self.root.attrib[side]) for side in ("width", "height"))
        for element in self.root.iter():
            for name, most in (
                ("x", width),
                ("cx", width),
                ("x1", width),
                ("x2", width),
                ("y", height),
                ("cy", height),
            ):
                if name in element.attrib and not 0 <= float(element.attrib[name]) <= most:
                    return False
        return True
