"""The directive ``public``: autodoc of public names, under the names by which users import them.

```{public} tagline.chain
```

documents what the module's ``__all__`` has, but for modules, constants, and names that `tagline` itself or
another library has; lines inside name what is wanted instead. ``:inherited:`` shows methods that a class has from its
bases, too.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import tagline

FOREIGN_BASES = "BaseEstimator, Module, object, Exception, ValueError, RuntimeError, OSError, tuple, dict, str"


def public_names(module: str) -> list[str]:
    """List the classes and functions of a module's ``__all__`` that `tagline` itself does not have."""
    home = import_module(module)
    elsewhere = {id(getattr(tagline, name)) for name in tagline.__all__} if module != "tagline" else set()
    values = {name: getattr(home, name) for name in home.__all__}
    return [
        name
        for name, value in values.items()
        if callable(value) and id(value) not in elsewhere and value.__module__.startswith("tagline")
    ]


class Public(SphinxDirective):
    """Documents public names of a module."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar = {"inherited": directives.flag}

    def run(self) -> list[nodes.Node]:
        module = self.arguments[0]
        home = import_module(module)
        lines = []
        for name in [line.strip() for line in self.content if line.strip()] or public_names(module):
            if inspect.isclass(getattr(home, name)):
                lines += [f".. autoclass:: {module}.{name}", "   :members:"]
                lines += [f"   :inherited-members: {FOREIGN_BASES}"] if "inherited" in self.options else []
            else:
                lines.append(f".. autofunction:: {module}.{name}")
            lines.append("")
        return self.parse_text_to_nodes("\n".join(["```{eval-rst}", *lines, "```"]))


def escape_bars(_app: Sphinx, _kind: str, _name: str, _value: object, _options: object, lines: list[str]) -> None:
    """Let |x| in docstrings be the absolute value, not a substitution; examples stay as they are."""
    example = False
    for place, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            parts = line.split("`")
            parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
            lines[place] = "`".join(parts)


def skip_foreign(_app: Sphinx, _kind: str, _name: str, value: object, skip: bool, _options: object) -> bool | None:
    """Leave out methods that a class has from another library's bases."""
    home = getattr(value, "__module__", None) or "tagline"
    return skip or (None if home.startswith("tagline") else True)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-docstring", escape_bars)
    app.add_directive("public", Public)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
