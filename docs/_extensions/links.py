"""Links of pages that were written to be read in the repository, made to lead somewhere on the site.

A link is resolved as the repository would resolve it, then

- a page of this language stays a link to it;
- ARCHITECTURE.md and its kin lead to the pages that include them (`INCLUDED`);
- in Chinese, an English page leads to its Chinese form, unless a heading of it is meant;
- any other page of the other language leads to the other site;
- a file is offered for download;
- a folder has no page: its name stays as text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent.parent
ENGLISH, CHINESE = ROOT / "docs", ROOT / "docs" / "zh"
INCLUDED = {
    "ARCHITECTURE.md": "internals/architecture",
    "CONTRIBUTING.md": "internals/contributing",
    "SECURITY.md": "internals/security",
    "CHANGELOG.md": "changelog",
    "README.md": "index",
    "README.zh.md": "index",
}
FENCED = re.compile(r"(^[ \t]*(```+).*?^[ \t]*\2[ \t]*$)", re.M | re.S)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|!?\[[^\]]*\](?:\([^)\s]*\))?)*)\]\(([^)\s]+)\)")
SCHEME = "counterpart:"


def page_of(file: Path) -> tuple[bool, str] | None:
    """Say which page a file of the repository is: whether it is Chinese, and its name there."""
    name = INCLUDED.get(str(file.relative_to(ROOT)))
    if name is not None:
        return file.name == "README.zh.md", name
    if file.suffix == ".md" and file.is_relative_to(CHINESE):
        return True, str(file.relative_to(CHINESE).with_suffix(""))
    if file.suffix == ".md" and file.is_relative_to(ENGLISH):
        return False, str(file.relative_to(ENGLISH).with_suffix(""))
    return None


def rewritten(text: str, written_in: Path, shown_in: Path, chinese: bool) -> str:
    """Rewrite the links of a text that stands in one folder and is shown as a page of another."""

    def rewrite(match: re.Match[str]) -> str:
        bang, words, target = match.groups()
        if "[" in words:
            words = LINK.sub(rewrite, words)
        path, mark, heading = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return f"{bang}[{words}]({target})"
        file = Path(os.path.normpath(written_in / path))
        page = page_of(file) if file.is_relative_to(ROOT) else None
        if page is not None and chinese and not heading and (CHINESE / f"{page[1]}.md").exists():
            page = True, page[1]
        if page is not None and page[0] != chinese:
            return f"[{words}]({SCHEME}{page[1]}{mark}{heading})"
        if page is not None:
            file = (CHINESE if chinese else ENGLISH) / f"{page[1]}.md"
        elif file.is_dir():
            return words
        return f"{bang}[{words}]({os.path.relpath(file, shown_in)}{mark}{heading})"

    parts = FENCED.split(text)  # text, block, its fence, text, …
    return "".join(part if i % 3 == 1 else LINK.sub(rewrite, part) for i, part in enumerate(parts) if i % 3 != 2)


def read_source(app: Sphinx, page: str, content: list[str]) -> None:
    folder = (Path(app.srcdir) / page).parent
    content[0] = rewritten(content[0], folder, folder, app.tags.has("zh"))


def read_included(app: Sphinx, path: Path, _parent: str, content: list[str]) -> None:
    file = Path(os.path.normpath(Path(app.srcdir) / path))
    folder = (Path(app.srcdir) / INCLUDED[str(file.relative_to(ROOT))]).parent
    content[0] = rewritten(content[0], file.parent, folder, app.tags.has("zh"))


def lead_to_the_other_site(app: Sphinx, document: nodes.document) -> None:
    up = "../" * (app.env.docname.count("/") + 1)
    site = up + ("en" if app.tags.has("zh") else "zh")
    for node in document.findall(nodes.reference):
        target = node.get("refuri", "")
        if target.startswith(SCHEME):
            page, mark, heading = target.removeprefix(SCHEME).partition("#")
            node["refuri"] = f"{site}/{page}.html{mark}{heading}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read_source)
    app.connect("include-read", read_included)
    app.connect("doctree-read", lead_to_the_other_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
