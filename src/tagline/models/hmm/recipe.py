"""How `tagline train` trains an HMM: tags are counted; with `--states`, hidden states of a series are learned by EM."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from tagline.errors import InputError
from tagline.models.contract import Model
from tagline.models.recipes import Budget, Material, Recipe, Reporter, check_progress, introduce
from tagline.models.remote import RemoteCorpus
from tagline.readers.corpus import Corpus
from tagline.readers.tabular import Table, groups_of, is_csv, read_csv
from tagline.readers.training_files import LabelledFiles

OF_SERIES = {
    "emission": "--emission",
    "columns": "--columns",
    "group": "--group",
    "covariance": "--covariance",
    "n_components": "--n-components",
    "n_init": "--n-init",
}


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

    noun, plural = "step", "steps"

    @property
    def budget(self) -> Budget:
        """The limit of steps and seconds; what is counted has none."""
        if self.settings.get("n_states") is None:
            return Budget()
        return Budget(self.settings.get("max_iterations") or 100, self.settings.get("max_seconds"))

    def check(self, tell: Reporter) -> None:
        """Refuse options of series without `--states`."""
        if self.settings.get("n_states") is None:
            for name, flag in OF_SERIES.items():
                if self.settings.get(name, self.run.get(name)) is not None:
                    raise InputError(f"{flag}: expected --states N, for it is about a series without labels, got none")
        else:
            self.settings.setdefault("emission", "gaussian")
        super().check(tell)

    def read_remote(self, data: RemoteCorpus, dev: Corpus | None, tell: Reporter) -> Material:
        """Take sentences that other processes count, or with `--states` series that they hold."""
        if self.settings.get("n_states") is None:
            return super().read_remote(data, dev, tell)
        self._refuse_dev(dev)
        data.columns = self._columns(data.sample_table(), tell)
        return Material(data)

    def read(self, files: LabelledFiles, path: str, dev: Corpus | None, tell: Reporter) -> Material:
        """Read labelled sentences, or with `--states` a series."""
        count = self.settings.get("n_states")
        if count is None:
            if is_csv(path, files.form):
                raise InputError(
                    f"--states: expected how many hidden states to learn from the series {path}, got none; labelled "
                    "sentences come in columns, .jsonl or .conllu"
                )
            return super().read(files, path, dev, tell)
        if not is_csv(path, files.form):
            raise InputError(
                f"{path}: expected a series, .csv or .tsv, to learn {count} hidden states from, got another file; "
                "--format csv reads it as one, and without --states tags are learned"
            )
        self._refuse_dev(dev)
        data = self._series(read_csv(path, encoding=files.encoding, form=files.form), tell)
        introduce(data, (), tell)
        return Material(data)

    @staticmethod
    def _refuse_dev(dev: Corpus | None) -> None:
        if dev is not None:
            raise InputError("--dev: expected none with --states, for there are no labels to score, got one")

    def _series(self, table: Table, tell: Reporter) -> SeriesData:
        chosen, group = self._columns(table, tell), self.run.get("group")
        kept = chosen if group is None else (*chosen, group)
        return SeriesData(Table(kept, table.__getitem__, len(table), table.source), group)

    def _columns(self, table: Table, tell: Reporter) -> tuple[str, ...]:
        """Choose the columns, and say which were left out."""
        named, group = self.run.get("columns"), self.run.get("group")
        for flag, name in [("--group", group), *(("--columns", name) for name in (named or "").split(",") if name)]:
            if name is not None and name not in table.names:
                raise InputError(
                    f"{flag}: expected a column of {table.source} ({', '.join(table.names)}), got {name!r}"
                )
        rest = [name for name in table.names if name != group]
        chosen = [name for name in named.split(",") if name] if named else rest
        if not named and self.settings["emission"] != "categorical":
            chosen = [name for name in rest if table.has_numbers(name)]
            if left := [name for name in rest if name not in chosen]:
                tell.say(f"left out {', '.join(left)}, which has no numbers; --group or --columns can name it")
        if not chosen:
            raise InputError(f"{table.source}: expected a column of numbers, got {', '.join(table.names)}")
        tell.say(f"columns {', '.join(chosen)}" + ("" if group is None else f", sequences by {group}"))
        return tuple(chosen)

    def fit(self, material: Material, dev: Corpus | None, tell: Reporter) -> Model:
        """Count, or learn by EM; Ctrl-C before the first step is done is a `KeyboardInterrupt`."""
        from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]

        data = material.data
        if self.settings.get("n_states") is None:
            return super().fit(material, dev, tell)
        files = self.files(tell)
        tell.stage("learning")
        model: Any = self.model.set_params(callbacks=(tell.passed,))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the command says itself why training ended
            model.fit(data.table if isinstance(data, SeriesData) else data, groups=self.run.get("group"), **files)
        model.callbacks = ()
        check_progress(model, self.noun, resumable="checkpoint" in files)
        fitted: Model = model
        return fitted
