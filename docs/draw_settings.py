"""Write docs/settings.md: the settings of every kind of model and of every algorithm, from their declarations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from tagline.models.registry import kinds
from tagline.settings import Declared, declarations, resolved
from tagline.training.choices import ALGORITHMS

PAGE = Path(__file__).parent / "settings.md"

HEAD = """# All settings

The parameters of the constructors, and the options of `tagline train` that set them. A TOML file for `--config` or
`tagline tune --space` has them by the same names. What is no option of the command line is for Python, or for a file.

This page is written by `python docs/draw_settings.py` from the declarations in `src/tagline/models/*/settings.py`.
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for name, kind in kinds().items():
        if name in ("memm", "maxent"):  # with those of a CRF
            continue
        title = "`CRF`, `MEMM`, `MaxEnt`" if name == "crf" else f"`{kind.class_name}`"
        parts += [f"## {title}\n", table(declarations(resolved(kind.settings)))]
    parts.append(
        "## Algorithms\n\n`algorithm=` of a `CRF` and its kin is a name, a name with settings behind a colon "
        '(`"lbfgs:memory=20,epsilon=1e-6"`, `--algorithm` and files, too), or an object of `tagline.training`.\n'
    )
    for name, algorithm in ALGORITHMS.items():
        parts += [f"### `{name}`: `{algorithm.__name__}`\n", table(declarations(algorithm))]
    return "\n".join(parts)


def table(settings: Mapping[str, Declared]) -> str:
    """Return a table of settings, a line each."""
    return "\n".join(["| setting | default | option | |", "|---|---|---|---|", *map(row, settings.values()), ""])


def row(entry: Declared) -> str:
    """Return the line of a setting."""
    flags = (
        "" if entry.setting.panel is None else ", ".join(f"`{flag}`" for flag in entry.setting.flags or (entry.flag,))
    )
    text = " ".join([entry.setting.help, *facts(entry)]).replace("|", "\\|")
    return f"| `{entry.name}` | `{entry.default!r}` | {flags} | {text} |"


def facts(entry: Declared) -> Iterator[str]:
    """Say what a value may be, where the sentence does not."""
    setting, most = entry.setting, resolved(entry.setting.most)
    if entry.choices and len(entry.choices) < 8 and not all(choice in setting.help for choice in entry.choices):
        yield f"One of {', '.join(f'`{choice}`' for choice in entry.choices)}."
    if setting.parse is not None:
        return
    if math.isfinite(setting.least) and math.isfinite(most):
        yield f"From {setting.least:g} to {most:g}."
    elif math.isfinite(setting.least) and setting.least > 0:
        yield f"{setting.least:g} or more."
    elif math.isfinite(setting.above):
        yield f"Above {setting.above:g}."


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
