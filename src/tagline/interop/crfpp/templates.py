"""Templates as CRF++'s model files hold them."""

from __future__ import annotations

from collections.abc import Sequence

from tagline.errors import InputError, StorageError
from tagline.features.templates.template import Template


def template_of(lines: Sequence[str], columns: int, source: str) -> Template:
    """Parse the template of a model; a carriage return at the end of a line is left out, see `without_returns`.

    Arguments:
        columns: how many it may look at.
    """
    try:
        template = Template.parse("".join(f"{line}\n" for line in lines), source)
    except InputError as error:
        raise StorageError("{}; the file is damaged, or not one of CRF++", error) from None
    if not template.is_crfpp:
        raise StorageError("{}: expected a template of CRF++, got one with macros that it does not take", source)
    if template.num_columns > columns:
        raise StorageError(
            "{}: expected a template of {} columns, got {}; it is damaged", source, columns, template.num_columns
        )
    return template


def without_returns(keys: Sequence[str], source: str) -> list[str]:
    """Take away the carriage return that ends each feature string where the template had Windows' line ends."""
    bare = [key.removesuffix("\r") for key in keys]
    if len(set(bare)) != len(bare):
        raise StorageError("{}: expected line ends of one kind in its template, got both kinds; train it anew", source)
    return bare


def bigram_of(template: Template) -> str | None:
    """Return the first B line without macros, which asks for plain transitions; None where there is none."""
    return next((line.text for line in template.lines if line.is_edge and not line.macros), None)
