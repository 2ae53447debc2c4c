"""How `tagline train` trains a network: its settings are checked before anything is read, and runs can be resumed."""

from __future__ import annotations

from tagline.models.contract import Model
from tagline.models.recipes import Budget, Material, Recipe, Reporter, check_progress
from tagline.models.remote import RemoteCorpus
from tagline.readers.corpus import Corpus
from tagline.readers.training_files import LabelledFiles

NONE = "none"  # as a configuration file writes it


class NetworkRecipe(Recipe):
    """How a neural tagger is trained from files."""

    noun, plural = "epoch", "epochs"

    @property
    def budget(self) -> Budget:
        """The limit of epochs and seconds."""
        return Budget(self.settings.get("epochs"), self.settings.get("max_seconds"))

    def check(self, tell: Reporter) -> None:
        """Refuse files that cannot be meant, and let the estimator check its settings."""
        self.check_files()
        self.model = self.kind.estimator(**self.settings, callbacks=(tell.passed,))
        self.model.check()

    def read(self, files: LabelledFiles, path: str, dev: Corpus | None, tell: Reporter) -> Material:
        """Read sentences, and say which settings suit them where these are not the usual ones."""
        material = super().read(files, path, dev, tell)
        self._choose(material.data, tell)
        return material

    def read_remote(self, data: RemoteCorpus, dev: Corpus | None, tell: Reporter) -> Material:
        """Take sentences that other processes read; the first of them choose settings."""
        self._choose(data.sample(), tell)
        self.model.callbacks, data.reporter = (), tell  # what is shown here cannot be called there, but hears of it
        return Material(data)

    def _choose(self, sample: Corpus, tell: Reporter) -> None:
        """Choose settings that are left to the data, and say which."""
        chosen, why = self.model.choices_for(sample)
        self.chosen_settings = chosen
        self.model.set_params(**chosen)  # the model's file says what was chosen, as its configuration does
        if why and chosen:
            settings = ", ".join(f"{name} = {NONE if value is None else value}" for name, value in chosen.items())
            tell.say(f"network with {settings}: {why}; --config sets others")

    def fit(self, material: Material, dev: Corpus | None, tell: Reporter) -> Model:
        """Train; Ctrl-C before the first epoch is done is a `KeyboardInterrupt`."""
        files = self.files(tell)
        tell.stage("making the network")
        where = self.documents(material.data, dev)
        model = self.model.fit(material.data, X_dev=dev, progress=tell.stepped, **where, **files)
        model.callbacks = ()
        check_progress(model, self.noun, resumable="checkpoint" in files)
        trained: Model = model
        return trained
