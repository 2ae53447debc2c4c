"""Lines of Chinese prose end where the editor breaks them; no blank belongs there when they are joined.

Between Chinese and Latin characters the line break stays, as the blank that is written there.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

HAN = "\u3400-\u9fff\uf900-\ufaff"
SIGNS = "\u3000-\u303f\uff00-\uffef“”‘’—…·"
BEFORE, AFTER = re.compile(f"[{HAN}{SIGNS}]$"), re.compile(f"^[{HAN}{SIGNS}]")
BEFORE_SIGN, AFTER_SIGN = re.compile(f"[{SIGNS}]$"), re.compile(f"^[{SIGNS}]")


def needs_no_blank(before: str, after: str) -> bool:
    """Say whether two lines are joined without a blank.

    >>> needs_no_blank("状态", "从"), needs_no_blank("模型，", "CRF"), needs_no_blank("模型", "CRF")
    (True, True, False)
    """
    if BEFORE_SIGN.search(before) or AFTER_SIGN.search(after):
        return True
    return bool(BEFORE.search(before) and AFTER.search(after))


def join_lines(app: Sphinx, document: nodes.document) -> None:
    if not app.tags.has("zh"):
        return
    for node in list(document.findall(nodes.Text)):
        parent = node.parent
        if "\n" not in node or isinstance(parent, nodes.FixedTextElement | nodes.literal | nodes.math | nodes.raw):
            continue
        place = parent.index(node)
        around = [parent[k].astext() if 0 <= k < len(parent) else "" for k in (place - 1, place + 1)]
        if node == "\n":  # what MyST makes of the end of a line
            joined = "" if needs_no_blank(*around) else "\n"
        else:
            joined, *lines = node.split("\n")
            for line in lines:
                joined += line if needs_no_blank(joined, line) else f"\n{line}"
        parent.replace(node, nodes.Text(joined))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", join_lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
