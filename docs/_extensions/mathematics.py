"""Formulas as MathML, which browsers show by themselves: no script, and nothing that is fetched from elsewhere."""

from __future__ import annotations

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.locale import get_translation
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

# What GitHub's MathJax knows and docutils does not, as what both know.
SPELLINGS = {r"\\([bB]igg?)(?![A-Za-z])": r"\\\1l", r"\\dots(?![A-Za-z])": r"\\ldots", r"\{align\*?\}": "{aligned}"}


def markup(tex: str, node: nodes.Element, block: bool) -> str:
    for pattern, spelling in SPELLINGS.items():
        tex = re.sub(pattern, spelling, tex)
    try:
        return str(tex2mathml(tex, as_block=block))
    except MathError as error:
        logger.warning("%s in the formula %r", error, tex, location=node, type="mathematics")
        return f"<code>{tex}</code>"


def show_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(markup(node.astext(), node, block=False))
    raise nodes.SkipNode


def show_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    label = get_translation("sphinx")("Formula")
    formula = markup(node.astext(), node, block=True)
    translator.body.append(f'<div class="formula" tabindex="0" role="group" aria-label="{label}">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
