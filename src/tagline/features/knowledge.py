"""What a feature CRF is told beside its training data: clusters and vectors of words, their other mentions.

A template says which of it a model looks at. Where it has no line for clusters, for vectors or for other mentions,
lines are added that do well in most tasks (`cluster_lines`, `vector_lines`, `mention_lines`); they are part of the
template from then on.
"""

from __future__ import annotations

from dataclasses import dataclass

from tagline.errors import InputError
from tagline.features.lexicons.clusters import Clusters, as_clusters
from tagline.features.mentions import mention_lines
from tagline.features.templates.template import Template
from tagline.features.vectors import WordVectors

PREFIXES = (4, 6, 10, 20)  # bits of Brown clusters
ROWS = (-2, -1, 0, 1, 2)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Tables of clusters, vectors, and how many other mentions of a word are looked at where a template names none."""

    clusters: tuple[Clusters, ...] = ()
    vectors: WordVectors | None = None
    mentions: int = 0

    @classmethod
    def of(cls, clusters: object = None, vectors: object = None, mentions: int = 0) -> Knowledge:
        """Return the knowledge that settings stand for."""
        return cls(as_clusters(clusters), None if vectors is None else WordVectors.of(vectors), mentions)

    def __bool__(self) -> bool:
        return self.has_tables or self.mentions > 0

    @property
    def has_tables(self) -> bool:
        """Whether there are clusters or vectors, which files keep; lines for mentions are part of the template."""
        return bool(self.clusters) or self.vectors is not None

    def informed(self, template: Template) -> Template:
        """Return the template with these tables; with further lines where it looks at none of them."""
        lines: list[str] = []
        if self.clusters and not template.num_tables:
            lines += ["", "# clusters", *cluster_lines(self.clusters)]
        if self.vectors is not None and not template.vector_lines:
            lines += ["", "# vectors", *vector_lines()]
        if self.mentions and not template.num_mentions:
            lines += ["", "# other mentions", *mention_lines(self.mentions, len(self.clusters))]
        if lines:
            if template.dialect != "crfpp":
                raise InputError(
                    "clusters, vectors, mentions: expected a template in the language of CRF++, or none of them, got "
                    "one of Wapiti's"
                )
            text = "\n".join([template.text.rstrip("\n"), *lines, ""])
            template = Template.parse(text, template.source)
        if template.num_tables > len(self.clusters):
            raise InputError(
                "clusters: expected {} tables, which {} looks at, got {}; pass clusters=",
                template.num_tables,
                template.source,
                len(self.clusters),
            )
        if template.vector_lines and self.vectors is None:
            raise InputError(
                "vectors: expected some, for {} has the line {}, got none",
                template.source,
                template.vector_lines[0].text,
            )
        return template.with_clusters(self.clusters)


def cluster_lines(clusters: tuple[Clusters, ...]) -> list[str]:
    """Write the lines that are added for clusters.

    >>> cluster_lines((Clusters({"rome": 1}),))[:2]
    ['UC1-2:%x[-2,0:cluster]', 'UC1-1:%x[-1,0:cluster]']
    """
    lines = []
    for number, table in enumerate(clusters, 1):
        name = "cluster" if number == 1 else f"cluster{number}"
        if table.is_bits:
            lines += [f"UC{number}.{size}{row:+d}:%x[{row},0:{name}:bits{size}]" for size in PREFIXES for row in ROWS]
        else:
            lines += [f"UC{number}{row:+d}:%x[{row},0:{name}]" for row in ROWS]
        here = f"{name}:bits10" if table.is_bits else name
        lines += [
            f"UC{number}a:%x[-1,0:{here}]/%x[0,0:{here}]",
            f"UC{number}b:%x[0,0:{here}]/%x[1,0:{here}]",
            f"UC{number}c:%x[0,0:shortshape]/%x[0,0:{here}]",
        ]
    return lines


def vector_lines() -> list[str]:
    """Write the lines that are added for vectors."""
    return [f"UV{row:+d}:%v[{row},0]" for row in (-1, 0, 1)]
