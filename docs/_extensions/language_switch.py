"""The switch in the header of a page: to the same page in the other language, or to that language's first page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

DOCS = Path(__file__).parent.parent


def add_counterpart(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    chinese = app.tags.has("zh")
    sources = DOCS if chinese else DOCS / "zh"
    there = page in ("search", "genindex") or (sources / f"{page}.md").exists()
    up = "../" * (page.count("/") + 1)
    context["counterpart"] = {
        "url": f"{up}{'en' if chinese else 'zh'}/{page if there else 'index'}.html",
        "name": "English" if chinese else "中文",
        "language": "en" if chinese else "zh-CN",
    }


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add_counterpart)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
