"""How `tagline train` trains a network: its settings are checked before anything is read, and runs can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tagline.messages import message
from tagline.models.recipes import Recipe
from tagline.readers.corpus import Corpus
from tagline.readers.training_files import LabelledFiles

NONE = "none"  # as a configuration file writes it


class NetworkRecipe(Recipe):
    """How a neural tagger is trained from files."""

    noun, plural = message("epoch"), message("epochs")

    def check(self) -> None:
        """Refuse files that cannot be meant, and let the estimator check its settings."""
        super().check()
        self.model.check()

    def read(self, reading: LabelledFiles, path: str, dev: Corpus | None) -> Any:
        """Read sentences, and say which settings suit them where these are not the usual ones."""
        corpus = super().read(reading, path, dev)
        self.choose(lambda: corpus, dev)
        return corpus

    def choose(self, sample: Callable[[], Any], dev: Corpus | None) -> None:
        """Choose settings that are left to the data, and say which."""
        chosen, why = self.model.choices_for(sample())
        self.model.set_params(**chosen)  # the model's file says what was chosen, as its configuration does
        if why and chosen:
            settings = ", ".join(f"{name} = {NONE if value is None else value}" for name, value in chosen.items())
            self.tell.say(message("network with {}: {}; --config sets others", settings, why))

    def lesson(self, data: Any, dev: Corpus | None) -> tuple[Any, dict[str, Any]]:
        """Return what `fit` learns from, and its other arguments."""
        files = self.run_files()
        self.tell.stage(message("making the network"))
        return data, {"X_dev": dev, **self.documents(data, dev), **files}
