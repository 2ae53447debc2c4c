"""How `tagline train` trains an HMM: tags are counted; with `--states`, hidden states of a series are learned by EM."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from tagline.errors import InputError
from tagline.messages import message
from tagline.models.contract import Model
from tagline.models.recipes import Budget, Recipe, check_progress, fitted
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

    @property
    def budget(self) -> Budget:
        """The limit of steps and seconds; what is counted has none."""
        return Budget() if self.model.n_states is None else Budget(self.model.max_iterations, self.model.max_seconds)

    def check(self) -> None:
        """Refuse options of series without `--states`."""
        super().check()
        if self.model.n_states is None and (said := [name for name in OF_SERIES if name in self.said]):
            flag = self.kind.options[said[0]].flag
            raise InputError("{}: expected --states N, for it is about a series without labels, got none", flag)
        if self.model.n_states is not None and "emission" not in self.said:
            self.model.emission = "gaussian"
        check_settings(self.model)

    def read_remote(self, data: Any, dev: Corpus | None) -> Any:
        """Take sentences that other processes count, or with `--states` series that they hold."""
        if self.model.n_states is not None:
            self._refuse_dev(dev)
            data.columns = self._columns(data.sample_table())
        return super().read_remote(data, dev)

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
            raise InputError(
                "{}: expected a series, .csv or .tsv, to learn {} hidden states from, got another file; "
                "--format csv reads it as one, and without --states tags are learned",
                path,
                count,
            )
        self._refuse_dev(dev)
        table = read_csv(path, encoding=reading.encoding, form=reading.form)
        chosen, group = self._columns(table), self.files.group
        kept = chosen if group is None else (*chosen, group)
        data = SeriesData(Table(kept, table.__getitem__, len(table), table.source), group)
        self.introduce(data)
        return data

    @staticmethod
    def _refuse_dev(dev: Corpus | None) -> None:
        if dev is not None:
            raise InputError("--dev: expected none with --states, for there are no labels to score, got one")

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

    def fit(self, data: Any, dev: Corpus | None) -> Model:
        """Count, or learn by EM; Ctrl-C before the first step is done is a `KeyboardInterrupt`."""
        from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]

        if self.model.n_states is None:
            return super().fit(data, dev)
        files = self.run_files()
        self.tell.stage(message("learning"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the command says itself why training ended
            fitted(self.model, data.table if isinstance(data, SeriesData) else data, groups=self.files.group, **files)
        check_progress(self.model, self.noun, resumable="checkpoint" in files)
        learned: Model = self.model
        return learned
