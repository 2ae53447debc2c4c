"""How `tagline train` trains a network: its settings are checked before anything is read, and runs can be resumed."""

from __future__ import annotations

from typing import Any

from tagline.messages import message
from tagline.models.contract import Model
from tagline.models.recipes import Budget, Recipe, check_progress, fitted
from tagline.readers.corpus import Corpus
from tagline.readers.training_files import LabelledFiles

NONE = "none"  # as a configuration file writes it


class NetworkRecipe(Recipe):
    """How a neural tagger is trained from files."""

    noun, plural = message("epoch"), message("epochs")

    @property
    def budget(self) -> Budget:
        """The limit of epochs and seconds."""
        return Budget(self.model.epochs, self.model.max_seconds)

    def check(self) -> None:
        """Refuse files that cannot be meant, and let the estimator check its settings."""
        super().check()
        self.model.check()

    def read(self, reading: LabelledFiles, path: str, dev: Corpus | None) -> Any:
        """Read sentences, and say which settings suit them where these are not the usual ones."""
        corpus = super().read(reading, path, dev)
        self._choose(corpus)
        return corpus

    def read_remote(self, data: Any, dev: Corpus | None) -> Any:
        """Take sentences that other processes read; the first of them choose settings."""
        self._choose(data.sample())
        self.model.callbacks, data.reporter = (), self.tell  # callbacks go there; what is shown here hears of it
        return data

    def _choose(self, sample: Corpus) -> None:
        """Choose settings that are left to the data, and say which."""
        chosen, why = self.model.choices_for(sample)
        self.model.set_params(**chosen)  # the model's file says what was chosen, as its configuration does
        if why and chosen:
            settings = ", ".join(f"{name} = {NONE if value is None else value}" for name, value in chosen.items())
            self.tell.say(message("network with {}: {}; --config sets others", settings, why))

    def fit(self, data: Any, dev: Corpus | None) -> Model:
        """Train; Ctrl-C before the first epoch is done is a `KeyboardInterrupt`."""
        files = self.run_files()
        self.tell.stage(message("making the network"))
        model = fitted(self.model, data, X_dev=dev, progress=self.tell.stepped, **self.documents(data, dev), **files)
        check_progress(model, self.noun, resumable="checkpoint" in files)
        trained: Model = model
        return trained
