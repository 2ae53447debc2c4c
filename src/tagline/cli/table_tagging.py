"""What `tagline tag` does with tables: rows of a series in, the same rows with their states out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.models.files import load
from tagline.readers.sources import PathLike
from tagline.readers.tabular import read_rows


def tag_tables(
    model: PathLike,
    paths: Sequence[PathLike],
    *,
    marginals: bool = False,
    form: str | None = None,
    encoding: str = "utf-8",
) -> Iterator[str]:
    """Give each row of tables its most probable hidden state, as one more column.

    Arguments:
        model: an HMM that has learned from a table.
        marginals: the probability of each state, too: one more column each.
    """
    loaded: Any = load(model)
    if not hasattr(loaded, "feature_names_in_"):
        raise InputError(
            "{}: expected sentences, for {} has not learned from a table, got one; --format columns "
            "reads it as columns",
            paths[0],
            model,
        )
    for path in paths:
        rows = read_rows(path, encoding=encoding, form=form)
        table = rows.table()
        added: list[Sequence[Any]] = [[str(state) for state in loaded.predict(table)]]
        names = ["state"]
        if marginals:
            shares = loaded.predict_proba(table)
            names += [f"p({label})" for label in loaded.labels_]
            added += [[f"{share:.6g}" for share in column] for column in np.asarray(shares).T]
        out = io.StringIO()
        writer = csv.writer(out, delimiter=rows.mark, lineterminator="\n")
        if rows.headed:
            writer.writerow([*rows.names, *names])
        writer.writerows([*row, *more] for row, *more in zip(rows.rows, *added, strict=True))
        yield out.getvalue()
