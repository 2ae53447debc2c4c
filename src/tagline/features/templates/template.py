"""CRF++ templates: a line says which words around a token make one attribute of it.

``U05:%x[-1,0]/%x[0,0]`` at the token *cat* of *the cat sat* gives ``U05:the/cat``. U lines cross with the label of the
token, B lines with the pair of labels (previous, this), from the second token on; a bare ``B`` is the pair alone. The
attribute *is* the expanded string: lines that give the same string share weights. Rows are relative, columns absolute;
beyond the sentence stands padding, ``_B-1``, ``_B-2``, … before it and ``_B+1``, … behind it. There is no trimming: all
of a line counts, and only empty lines and lines that begin with ``#`` are left out.

Where CRF++ would fail without saying why, the error here names the line; where it would do something that is hardly
meant, `Template.notes` says so. Macros may be more than CRF++ takes: see `tagline.features.templates.macros`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tagline.checks import shown, shown_value
from tagline.errors import InputError, visible
from tagline.features.lexicons.clusters import Clusters
from tagline.features.templates import word_functions
from tagline.features.templates.lines import TemplateLine, parse_line
from tagline.features.templates.macros import CRFPP_ROWS, Macro
from tagline.features.templates.wapiti_lines import parse_pattern_line
from tagline.messages import message
from tagline.readers.sources import PathLike, name_of, read_string

DIALECTS = ("crfpp", "wapiti")

Columns = Mapping[str, Sequence[str]] | Sequence[Sequence[str]]


@dataclass(frozen=True, repr=False)
class Template:
    """The lines of a template file; `parse` and `read` make one.

    Attributes:
        text: the whole file.
        source: its name, for messages.
        lines: those that are templates.
        notes: what is allowed but hardly meant, as ``file:line: …``.
        dialect: whose language the file is in, "crfpp" or "wapiti" (`tagline.features.templates.wapiti_lines`).
        clusters: the tables that its built-in columns look at, where it has them.

    >>> template = Template.parse("U00:%x[-1,0]/%x[0,0]\\nB\\n")
    >>> template.strings([["the", "cat"]])
    ([['U00:_B-1/the'], ['U00:the/cat']], [[], []])
    >>> template.label_bigrams, template.has_edges, template.num_columns
    (True, False, 1)
    """

    text: str
    source: str
    lines: tuple[TemplateLine, ...]
    notes: tuple[str, ...] = ()
    dialect: str = "crfpp"
    clusters: tuple[Clusters, ...] = ()

    def __repr__(self) -> str:
        return f"Template({visible(self.source.removesuffix('.txt'))}, {len(self.lines)} lines)"

    @classmethod
    def read(cls, path: PathLike, dialect: str = "crfpp") -> Template:
        """Read a template file, UTF-8."""
        return cls.parse(read_string(path), name_of(path), dialect)

    @classmethod
    def parse(cls, text: str, source: str = "<template>", dialect: str = "crfpp") -> Template:
        """Parse the text of a template file."""
        if dialect not in DIALECTS:
            raise InputError("dialect: expected {}, got {}", message(" or ").join(DIALECTS), shown_value(dialect))
        if not isinstance(text, str):
            raise InputError("{}: expected the text of a template, got {}", source, shown_value(text))
        try:
            text.encode()
        except UnicodeEncodeError as error:
            line, half = text.count("\n", 0, error.start) + 1, text[error.start]
            raise InputError("{}:{}: expected Unicode text, got {!r}, a lone surrogate", source, line, half) from None
        if text.startswith("\ufeff"):
            text = text.removeprefix("\ufeff")
        read = _wapiti_lines if dialect == "wapiti" else _crfpp_lines
        lines, notes = read(text.split("\n"), source)
        return cls(text, source, tuple(lines), tuple(notes), dialect)

    def __reduce__(self) -> tuple[Any, ...]:
        return _template, (self.text, self.source, self.dialect, self.clusters)

    @cached_property
    def states(self) -> tuple[TemplateLine, ...]:
        """The U lines that write strings."""
        return tuple(line for line in self.lines if not line.is_edge and not line.is_vector)

    @cached_property
    def vector_lines(self) -> tuple[TemplateLine, ...]:
        """The U lines that give the numbers of vectors."""
        return tuple(line for line in self.lines if line.is_vector)

    @cached_property
    def num_tables(self) -> int:
        """How many tables of clusters it looks at."""
        names = (name for line in self.lines for macro in line.macros for name in macro.derivation.functions)
        return max((place + 1 for place in map(word_functions.table_of, names) if place is not None), default=0)

    @cached_property
    def num_mentions(self) -> int:
        """How many other mentions of a word it looks at."""
        return max((macro.derivation.mention for line in self.lines for macro in line.macros), default=0)

    def with_clusters(self, clusters: tuple[Clusters, ...]) -> Template:
        """Return the template with the tables that its built-in columns look at."""
        if not self.num_tables:
            return self

        def looking(line: TemplateLine) -> TemplateLine:
            macros = (replace(m, derivation=replace(m.derivation, clusters=clusters)) for m in line.macros)
            return replace(line, macros=tuple(macros))

        return replace(self, lines=tuple(map(looking, self.lines)), clusters=clusters)

    @cached_property
    def edges(self) -> tuple[TemplateLine, ...]:
        """The B lines that make attributes: all but the first without macros, which is the label bigram."""
        bigram = next((line for line in self.lines if line.is_edge and not line.macros), None)
        return tuple(line for line in self.lines if line.is_edge and line is not bigram)

    @cached_property
    def label_bigrams(self) -> bool:
        """Whether a bare B line asks for plain transitions."""
        return any(line.is_edge and not line.macros for line in self.lines)

    @property
    def has_edges(self) -> bool:
        """Whether some transitions depend on the input."""
        return bool(self.edges)

    @cached_property
    def num_columns(self) -> int:
        """How many columns a corpus must have, the tag not counted."""
        return max((macro.derivation.column + 1 for line in self.lines for macro in line.macros), default=0)

    @property
    def is_crfpp(self) -> bool:
        """Whether CRF++ itself would take it."""
        return self.dialect == "crfpp" and all(macro.is_crfpp for line in self.lines for macro in line.macros)

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise where a macro asks for a column that is not among these (without the tag)."""
        if self.num_columns <= len(names):
            return
        for line in self.lines:
            for macro in line.macros:
                if macro.derivation.column >= len(names):
                    columns = (
                        message("{} besides the tag: {}", len(names), ", ".join(names))
                        if names
                        else message("none besides the tag")
                    )
                    raise InputError(
                        "{}:{}: expected a column below {}, got {} ({}); the corpus has {}",
                        self.source,
                        line.number,
                        len(names),
                        macro.derivation.column,
                        shown(line.text),
                        columns,
                    )

    def strings(self, columns: Columns) -> tuple[list[list[str]], list[list[str]]]:
        """Write out the attributes of one sentence: the definition, in plain Python.

        Arguments:
            columns: the columns of the sentence without the tag, each a list of T words.

        Returns:
            For each token the attributes of U lines, those of vectors aside, and those of B lines with macros.
        """
        names = list(columns) if isinstance(columns, Mapping) else [str(c) for c in range(len(columns))]
        table = list(columns.values()) if isinstance(columns, Mapping) else list(columns)
        self.check_columns(names)
        length = len(table[0]) if table else 0
        states = [_written(self.states, table, n) for n in range(length)]
        edges = [_written(self.edges, table, n) if n else [] for n in range(length)]
        return states, edges


def _template(text: str, source: str, dialect: str, clusters: tuple[Clusters, ...]) -> Template:
    return Template.parse(text, source, dialect).with_clusters(clusters)


def _written(lines: Sequence[TemplateLine], table: Sequence[Sequence[str]], token: int) -> list[str]:
    written = (line.expand(table, token) for line in lines)
    return [text for text in written if text is not None]


def _crfpp_lines(rows: Sequence[str], source: str) -> tuple[list[TemplateLine], list[str]]:
    """Return the lines of a template of CRF++, and what is to be noted."""
    notes: list[str] = []
    returns = [number for number, row in enumerate(rows, 1) if row.endswith("\r")]
    if returns:
        notes.append(
            message(
                "{}:{}: the carriage return at the end of {} lines is left out; CRF++ "
                "would make it part of each attribute",
                source,
                returns[0],
                len(returns),
            )
        )
    lines = []
    for number, row in enumerate(rows, 1):
        row = row.removesuffix("\r")
        if row and not row.startswith("#"):
            lines.append(parse_line(row, number, source))
    if not lines:
        raise InputError("{}: expected U and B lines, got none", source)
    if not any(line.macros or not line.is_edge for line in lines):
        raise InputError(
            "{}: expected a U line, got only label bigrams; without one no word counts: add U00:%x[0,0]", source
        )
    return lines, [*notes, *_notes(lines, source)]


def _wapiti_lines(rows: Sequence[str], source: str) -> tuple[list[TemplateLine], list[str]]:
    """Return the lines of a pattern file of Wapiti; the same line twice is to be noted."""
    lines = [line for number, row in enumerate(rows, 1) for line in parse_pattern_line(row, number, source)]
    if not lines:
        raise InputError("{}: expected patterns, lines that begin with u, b or *, got none", source)
    first = {line.text: line.number for line in reversed(lines)}
    twice = {line.number: line.text for line in lines if first[line.text] != line.number}
    notes: list[str] = [
        message("{}:{}: {} is also line {}: its attributes count twice", source, number, shown(text), first[text])
        for number, text in twice.items()
    ]
    return lines, notes


def _of_mentions(line: TemplateLine, other: TemplateLine) -> bool:
    """Whether lines differ only in which other mention of the word they look at, and share their weights on purpose."""
    looks = [[(m.row, replace(m.derivation, functions=_behind(m))) for m in both.macros] for both in (line, other)]
    return looks[0] == looks[1]


def _behind(macro: Macro) -> tuple[str, ...]:
    functions = macro.derivation.functions
    return ("mention", *functions[1:]) if macro.derivation.mention else functions


def _notes(lines: Sequence[TemplateLine], source: str) -> list[str]:
    notes: list[str] = []
    if all(line.is_edge for line in lines):
        notes.append(message("{}: there is no U line: the first token of a sentence has no attributes", source))
    seen: dict[tuple[str, ...], TemplateLine] = {}
    bigram: TemplateLine | None = None
    for line in lines:
        place = f"{source}:{line.number}"
        if line.text != line.text.rstrip():
            notes.append(message("{}: the blanks at the end of {} are part of each attribute", place, shown(line.text)))
        if any(abs(macro.row) > CRFPP_ROWS for macro in line.macros):
            notes.append(
                message(
                    "{}: rows beyond {} are an extension, CRF++ itself rejects {}", place, CRFPP_ROWS, shown(line.text)
                )
            )
        if line.is_edge and not line.macros:
            if bigram is not None:
                notes.append(
                    message(
                        "{}: {} is a second label bigram, after line {}: its weights add to those "
                        "of the first and cost time",
                        place,
                        shown(line.text),
                        bigram.number,
                    )
                )
            bigram = bigram or line
            continue
        first = seen.setdefault(line.literals, line)
        if first is not line and first.macros == line.macros:
            notes.append(
                message("{}: {} is also line {}: its attributes count twice", place, shown(line.text), first.number)
            )
        elif first is not line and not _of_mentions(first, line):
            notes.append(
                message(
                    "{}: {} shares weights with {} of line {}, wherever they give the same "
                    "string; other ids keep them apart",
                    place,
                    shown(line.text),
                    shown(first.text),
                    first.number,
                )
            )
    return notes
