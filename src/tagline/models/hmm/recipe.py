"""How `tagline train` trains an HMM: tags are counted; with `--states`, hidden states of a series are learned by EM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tagline.errors import InputError
from tagline.messages import message
from tagline.models.recipes import Recipe
from tagline.readers.corpus import Corpus
from tagline.readers.tabular import Table, groups_of, is_csv, read_csv
from tagline.readers.training_files import LabelledFiles
from tagline.settings import check_settings

OF_SERIES = ("emission", "columns", "group", "covariance", "n_components", "n_init")


@dataclass(frozen=True, eq=False)
class SeriesData:
    """The columns to learn from, and the column of groups among them."""

    table: Table
    group: str | None

    def __len__(self) -> int:
        return 1 if self.group is None else len(groups_of(self.table[self.group], self.group))

    @property
    def num_tokens(self) -> int:
        """Rows."""
        return len(self.table)


class HMMRecipe(Recipe):
    """How an HMM is trained from files."""

    noun, plural = message("step"), message("steps")

    def check(self) -> None:
        """Refuse options of series without `--states`."""
        super().check()
        if self.model.n_states is None and (said := [name for name in OF_SERIES if name in self.said]):
            flag = self.kind.options[said[0]].flag
            raise InputError("{}: expected --states N, for it is about a series without labels, got none", flag)
        if self.model.n_states is not None and "emission" not in self.said:
            self.model.emission = "gaussian"
        check_settings(self.model)

    def choose(self, sample: Callable[[], Any], dev: Corpus | None) -> None:
        """Choose the columns of a series."""
        if self.model.n_states is None:
            return
        if dev is not None:
            raise InputError("--dev: expected none with --states, for there are no labels to score, got one")
        if not isinstance(table := sample(), Table):
            raise self._no_series(table.source)
        self.columns = self._columns(table)

    def read(self, reading: LabelledFiles, path: str, dev: Corpus | None) -> Any:
        """Read labelled sentences, or with `--states` a series."""
        count = self.model.n_states
        if count is None:
            if is_csv(path, reading.form):
                raise InputError(
                    "--states: expected how many hidden states to learn from the series {}, got none; "
                    "labelled sentences come in columns, .jsonl or .conllu",
                    path,
                )
            return super().read(reading, path, dev)
        if not is_csv(path, reading.form):
            raise self._no_series(path)
        table = read_csv(path, encoding=reading.encoding, form=reading.form)
        self.choose(lambda: table, dev)
        chosen, group = self.columns, self.files.group
        kept = chosen if group is None else (*chosen, group)
        data = SeriesData(Table(kept, table.__getitem__, len(table), table.source), group)
        self.introduce(data)
        return data

    def _no_series(self, path: str) -> InputError:
        """Return the error for another file than one of columns of numbers or symbols."""
        return InputError(
            "{}: expected a series, .csv or .tsv, to learn {} hidden states from, got another file; "
            "--format csv reads it as one, and without --states tags are learned",
            path,
            self.model.n_states,
        )

    def _columns(self, table: Table) -> tuple[str, ...]:
        """Choose the columns, and say which were left out."""
        named, group = self.files.columns, self.files.group
        for flag, name in [("--group", group), *(("--columns", name) for name in (named or "").split(",") if name)]:
            if name is not None and name not in table.names:
                raise InputError(
                    "{}: expected a column of {} ({}), got {!r}", flag, table.source, ", ".join(table.names), name
                )
        rest = [name for name in table.names if name != group]
        chosen = [name for name in named.split(",") if name] if named else rest
        if not named and self.model.emission != "categorical":
            chosen = [name for name in rest if table.has_numbers(name)]
            if left := [name for name in rest if name not in chosen]:
                self.tell.say(
                    message("left out {}, which has no numbers; --group or --columns can name it", ", ".join(left))
                )
        if not chosen:
            raise InputError("{}: expected a column of numbers, got {}", table.source, ", ".join(table.names))
        self.tell.say(
            message("columns {}{}", ", ".join(chosen), "" if group is None else message(", sequences by {}", group))
        )
        return tuple(chosen)

    def lesson(self, data: Any, dev: Corpus | None) -> tuple[Any, dict[str, Any]]:
        """Return what `fit` learns from, and its other arguments."""
        if self.model.n_states is None:
            return super().lesson(data, dev)
        self.tell.stage(message("learning"))
        X = data.table if isinstance(data, SeriesData) else data
        return X, {"groups": self.files.group, **self.run_files()}
