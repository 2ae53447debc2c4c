"""Column files from one tag scheme to another, as `tagline convert-tags` rewrites them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from tagline.errors import InputError
from tagline.messages import message
from tagline.readers.columns import read_columns, write_columns
from tagline.readers.corpus import TAG, Corpus
from tagline.readers.schemes import LossyConversionWarning, Scheme, convert, detect, repair, scheme
from tagline.readers.sources import PathLike


@dataclass(frozen=True, eq=False)
class FileConversion:
    """What was done to a file.

    Attributes:
        corpus: as it was written.
        source, target: the schemes.
        notes: lines for people: how the scheme was found, what was repaired, what is lost.
    """

    corpus: Corpus
    source: Scheme
    target: Scheme
    notes: list[str]


def convert_file(
    source_path: PathLike,
    target_path: PathLike = "-",
    *,
    source: str | None = None,
    target: str = "BIOES",
    column: str = TAG,
    policy: str = "raise",
    encoding: str = "utf-8",
) -> FileConversion:
    """Read a column file, write its tags in another scheme, and say what happened.

    Arguments:
        source_path, target_path: files, or ``-`` for standard input and output.
        source: the scheme of the file; detected where it is None.
        target: the scheme to write.
        column: which column holds the tags; by default the last one.
        policy: what to make of improper tags: ``raise``, ``conlleval`` or ``discard``.
        encoding: of the file that is read.
    """
    target_scheme = scheme(target)
    corpus = read_columns(source_path, encoding=encoding)
    source_scheme, notes = _source_scheme(corpus, source, column)
    repaired = repair(corpus, source_scheme, policy, column=column)
    notes += [f"repaired: {repaired.summary}"] if repaired.violations else []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LossyConversionWarning)
        converted = convert(repaired.tags, source_scheme, target_scheme, column=column)
    notes += [str(warning.message) for warning in caught]
    write_columns(converted, target_path)
    return FileConversion(converted, source_scheme, target_scheme, notes)


def _source_scheme(corpus: Corpus, name: str | None, column: str) -> tuple[Scheme, list[str]]:
    if name is not None:
        return scheme(name), []
    detection = detect(corpus, column=column)
    if detection.scheme is None:
        where = message("{}, column {}", corpus.source or "<text>", column)
        raise InputError("{}: expected tags of a scheme, got others: {}", where, detection.reason)
    return detection.scheme, [message("source scheme {}: {}", detection.scheme.name, detection.reason)]
