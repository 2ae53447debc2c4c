"""Ready-made templates for the usual tasks: readable files beside this one, in the folder ``sets``.

Column 0 is the word, or the character for Chinese; ``chunking`` looks at the part of speech in column 1 too. A set is a
template like any other: `Template.text` is a good start for one's own.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tagline.checks import check_choice
from tagline.features.templates.template import Template

_FOLDER = Path(__file__).with_suffix("")


def sets() -> tuple[str, ...]:
    """Name the ready-made sets.

    >>> sets()
    ('chinese_ner', 'chunking', 'english_ner', 'pos', 'segmentation')
    """
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.txt")))


def load_set(name: str) -> Template:
    """Return the template of a ready-made set, or say which sets there are.

    >>> load_set("chunking").num_columns
    2
    """
    check_choice("set", name, sets())
    return _template(name)


@cache
def _template(name: str) -> Template:
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return Template.parse(text, f"{name}.txt")
