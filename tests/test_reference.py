"""The reference has every public name, and every public name has an example; test_documents.py runs the examples."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tagline

PAGES = Path(__file__).parent.parent / "docs" / "reference"
MODULES = (
    *("tagline", "tagline.chain", "tagline.nn", "tagline.readers", "tagline.evaluation", "tagline.features"),
    *("tagline.datasets", "tagline.plots", "tagline.serving", "tagline.scale"),
    *("tagline.interop.crfpp", "tagline.interop.hmmlearn.base", "tagline.interop.hmmlearn.hmm"),
    *("tagline.interop.hmmlearn.vhmm", "tagline.interop.nltk.tag", "tagline.interop.pycrfsuite"),
    *("tagline.interop.seqeval.metrics", "tagline.interop.sklearn_crfsuite", "tagline.interop.spacy"),
    "tagline.interop.torchcrf",
)
DIRECTIVE = re.compile(r"^```\{public\} (\S+)\n(.*?)^```$", re.M | re.S)


def public(module: str) -> dict[str, Any]:
    """The classes and functions of a module's ``__all__``; those of other libraries are not ours to document."""
    home = import_module(module)
    values = {name: getattr(home, name) for name in home.__all__}
    return {
        name: value
        for name, value in values.items()
        if callable(value) and str(getattr(value, "__module__", "")).startswith("tagline")
    }


def documented() -> dict[str, set[str]]:
    """The names that the pages of the reference ask for, by module; a directive without names asks for all."""
    names: dict[str, set[str]] = {}
    for page in PAGES.glob("*.md"):
        for module, lines in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            listed = {line.strip() for line in lines.splitlines() if line.strip() and not line.startswith(":")}
            names.setdefault(module, set()).update(listed or public(module))
    return names


def examples(value: Any) -> list[doctest.Example]:
    """The examples of a docstring that are run."""
    parsed = doctest.DocTestParser().get_examples(value.__doc__ or "")
    return [example for example in parsed if not example.options.get(doctest.SKIP)]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_example(module: str) -> None:
    missing = [name for name, value in public(module).items() if not examples(value)]
    assert not missing, f"{module}: expected an example in the docstring of each name, got none of {missing}"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    pages = documented()
    at_home = {id(value) for name, value in public("tagline").items() if name in pages["tagline"]}
    missing = [
        name
        for name, value in public(module).items()
        if name not in pages.get(module, ()) and (module == "tagline" or id(value) not in at_home)
    ]
    assert not missing, f"{module}: expected a page of docs/reference for each name, got none for {missing}"


def test_the_modules_are_all_that_tagline_names() -> None:
    modules = {value.__name__ for value in map(tagline.__getattr__, tagline._MODULES)}
    assert modules <= set(MODULES)
