"""Rows of scores become seqeval's report: a table as text, or a dictionary."""

from __future__ import annotations

import abc
from typing import Any

HEADERS = ("precision", "recall", "f1-score", "support")


class Reporter(abc.ABC):
    """What takes rows and gives a report."""

    @abc.abstractmethod
    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""

    @abc.abstractmethod
    def write_blank(self) -> None:
        """Add an empty row, where the report has such."""

    @abc.abstractmethod
    def report(self) -> Any:
        """Return everything that was written."""


class DictReporter(Reporter):
    """A report as ``{row name: {"precision": …, "recall": …, "f1-score": …, "support": …}}``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.report_dict: dict[str, dict[str, float]] = {}

    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""
        self.report_dict[row_name] = dict(zip(HEADERS, (precision, recall, f1, support), strict=True))

    def write_blank(self) -> None:
        """Do nothing: a dictionary has no empty rows."""

    def report(self) -> dict[str, dict[str, float]]:
        """Return the dictionary."""
        return self.report_dict


class StringReporter(Reporter):
    """A report as a table.

    Arguments:
        width: of the column of names.
        digits: behind the decimal points.
    """

    def __init__(self, *args: Any, width: int = 10, digits: int = 4, **kwargs: Any) -> None:
        self.buffer: list[str] = []
        self.width = width
        self.digits = digits

    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""
        scores = "".join(f" {score:>9.{self.digits}f}" for score in (precision, recall, f1))
        self.buffer.append(f"{row_name:>{self.width}s} {scores} {support:>9}")

    def write_blank(self) -> None:
        """Add an empty line."""
        self.buffer.append("")

    def write_header(self) -> str:
        """Return the names of the columns and an empty line."""
        names = "".join(f" {name:>9}" for name in HEADERS)
        return f"{'':>{self.width}s} {names}\n\n"

    def report(self) -> str:
        """Return the table."""
        return self.write_header() + "\n".join(self.buffer)
