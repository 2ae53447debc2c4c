"""Formulas as MathML, which browsers show by themselves: no script, and nothing that is fetched from elsewhere."""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

# What GitHub's MathJax knows and docutils does not, as what both know.
SPELLINGS = {r"\\([bB]igg?)(?![A-Za-z])": r"\\\1l", r"\\dots(?![A-Za-z])": r"\\ldots", r"\{align\*?\}": "{aligned}"}

# What TeX sets otherwise: bars and primes without space around them, a thin space between log and a letter.
SPACES = {
    r'<mo stretchy="false">\|</mo>': '<mo stretchy="false" lspace="0" rspace="0">|</mo>',
    r"<mo>'</mo>": '<mo lspace="0" rspace="0">′</mo>',
    r'<mo>&ApplyFunction;</mo>(?!\s*<mo stretchy="false">\()': '<mspace width="0.17em"/>',
}


def markup(tex: str, node: nodes.Element, block: bool) -> str:
    for pattern, spelling in SPELLINGS.items():
        tex = re.sub(pattern, spelling, tex)
    try:
        formula = str(tex2mathml(tex, as_block=block))
    except MathError as error:
        logger.warning("%s in the formula %r", error, tex, location=node, type="mathematics")
        return f"<code>{escape(tex)}</code>"
    for pattern, spacing in SPACES.items():
        formula = re.sub(pattern, spacing, formula)
    return formula


def show_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(markup(node.astext(), node, block=False))
    raise nodes.SkipNode


def show_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    label = "公式" if str(translator.config.language).startswith("zh") else "Formula"
    formula = markup(node.astext(), node, block=True)
    translator.body.append(f'<div class="formula" tabindex="0" role="group" aria-label="{label}">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
