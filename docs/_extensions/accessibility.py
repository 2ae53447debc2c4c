"""What screen readers and keyboards need, and what Sphinx and the theme leave out."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# Parameters that stand on lines of their own are terms of nothing: lines, not a list of definitions.
PARAMETERS = re.compile(r"<dl>\s*((?:<dd>.*?</dd>\s*)+)</dl>", re.S)


def lines_of(match: re.Match[str]) -> str:
    lines = match[1].replace("<dd>", '<span class="parameter-line">').replace("</dd>", "</span>")
    return f'<span class="parameter-lines">{lines}</span>'


def mend(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None) -> None:
    if "body" in context:  # code and tables that are wider than the page can be scrolled by keys
        body = PARAMETERS.sub(lines_of, context["body"]).replace("<pre>", '<pre tabindex="0">')
        context["body"] = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
    if "furo_navigation_tree" in context:
        tree = context["furo_navigation_tree"]
        context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", mend, priority=900)  # after the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
