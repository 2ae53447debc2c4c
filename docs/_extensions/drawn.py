"""The directive ``drawn``: a picture that is drawn when the site is built, with its alternative text.

```{drawn} heat-map
:alt: What the picture shows.
```

Pictures of matplotlib are drawn twice, for light and for dark pages; the others follow the page by themselves.
"""

from __future__ import annotations

import itertools
import os
import timeit
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import tagline
from tagline import Chain, chain, plots
from tagline.datasets import make_entities

FOLDER = Path(__file__).parent.parent / "images" / "generated"
STYLES = {"light": {}, "dark": "dark_background"}
NAMES = {"en": "John Smith flew to New York on 3 May 2021.", "zh": "李明于2021年5月3日抵达上海。"}


@cache
def model(language: str) -> tagline.CRF:
    features = {"en": "english_ner", "zh": "chinese_ner"}[language]
    crf = tagline.CRF(features, scheme="IOB2", c2=0.3, algorithm="lbfgs", max_iterations=40)
    dev = make_entities(100, language=language, split="test")
    return crf.fit(make_entities(500, language=language), X_dev=dev)


def trellis(language: str) -> str:
    return plots.trellis(model(language), NAMES[language]).svg()


def heat_map(language: str, axes: Any) -> None:
    plots.transitions(model(language), ax=axes)


def learning_curve(language: str, axes: Any) -> None:
    plots.learning_curve(model(language), ax=axes)


def scaling(language: str, axes: Any) -> None:
    """Measure log Z of one sentence with four labels: by enumeration of all labellings, and by the forward sum."""
    random = np.random.default_rng(0)
    words = {"en": ("enumeration", "forward sum", "tokens", "seconds"), "zh": ("枚举", "前向", "T", "s")}[language]

    def enumerated(scores: Chain) -> float:
        labellings = itertools.product(range(scores.num_labels), repeat=scores.num_tokens)
        return float(np.logaddexp.reduce([chain.score(scores, labels)[0] for labels in labellings]))

    for name, ask, sizes in (
        (words[0], enumerated, (1, 2, 3, 4, 5)),
        (words[1], chain.log_partition, (1, 10, 100, 1000)),
    ):
        sentences = [Chain(random.normal(size=(T, 4)), random.normal(size=(4, 4))) for T in sizes]
        seconds = [min(timeit.repeat(lambda s=s, ask=ask: ask(s), number=1, repeat=3)) for s in sentences]  # type: ignore[misc]
        axes.loglog(sizes, seconds, "o-", label=name)
    axes.set_xlabel(words[2])
    axes.set_ylabel(words[3])
    axes.legend()


PICTURES: dict[str, Callable[[str], str]] = {"trellis": trellis}
FIGURES: dict[str, Callable[[str, Any], None]] = {
    "heat-map": heat_map,
    "learning-curve": learning_curve,
    "scaling": scaling,
}


def draw_figure(name: str, language: str, style: Any, path: Path) -> None:
    """Draw a figure of matplotlib as SVG, without a background."""
    import matplotlib.style
    from matplotlib.figure import Figure

    fonts = {"svg.fonttype": "none", "font.family": "sans-serif"}  # letters, which the browser sets
    with matplotlib.style.context([style or "default", fonts]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # here, where there may be no Chinese font
        figure = Figure(figsize=(6, 4), layout="constrained")
        FIGURES[name](language, figure.add_subplot())
        figure.savefig(path, transparent=True, metadata={"Date": None})


class Drawn(SphinxDirective):
    """Draws a picture and shows it."""

    required_arguments = 1
    option_spec: ClassVar = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        language = "zh" if self.config.language.startswith("zh") else "en"
        if "alt" not in self.options or name not in PICTURES | FIGURES:
            raise self.error(f"drawn: expected one of {', '.join(PICTURES | FIGURES)} with an :alt:, got {name!r}")
        FOLDER.mkdir(parents=True, exist_ok=True)
        if name in PICTURES:
            path = FOLDER / f"{name}-{language}.svg"
            path.write_text(PICTURES[name](language), encoding="utf-8")
            return [self.image(path, [])]
        images = []
        for theme, style in STYLES.items():
            path = FOLDER / f"{name}-{language}-{theme}.svg"
            draw_figure(name, language, style, path)
            images.append(self.image(path, [f"only-{theme}"]))
        return images

    def image(self, path: Path, classes: list[str]) -> nodes.image:
        folder = Path(self.env.doc2path(self.env.docname)).parent
        return nodes.image(uri=os.path.relpath(path, folder), alt=self.options["alt"], classes=classes)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
