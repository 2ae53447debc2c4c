"""How `tagline train` trains a semi-CRF: as a feature CRF, with a template that is named or chosen."""

from __future__ import annotations

from tagline.models.contract import Model
from tagline.models.crf.recipe import CRFRecipe, dictionary_for
from tagline.models.recipes import Budget, Material, Reporter, check_progress
from tagline.models.semicrf.estimator import SemiCRF
from tagline.readers.corpus import Corpus


class SemiCRFRecipe(CRFRecipe):
    """How a semi-CRF is trained from files."""

    remote = False

    @property
    def budget(self) -> Budget:
        """The limit of passes and seconds, and the tolerance."""
        model = SemiCRF(**self.settings)
        return Budget(model.max_iterations, model.max_seconds, model.period, model.delta)

    def _matched(self, corpus: Corpus) -> Corpus:
        """Take over a dictionary of files: its matches are attributes of segments, the template need not look."""
        if (paths := self.run.get("dictionary")) is not None:
            self.settings["dictionary"] = dictionary_for(corpus, paths)
        return corpus

    def fit(self, material: Material, dev: Corpus | None, tell: Reporter) -> Model:
        """Train; Ctrl-C before the first pass is done is a `KeyboardInterrupt`."""
        settings = {**self.settings, "patience": self.settings.get("patience") if dev is not None else None}
        model = SemiCRF(self.chosen, **settings, callbacks=(tell.passed,))
        tell.stage("numbering features")
        files = self.files(tell)
        model.fit(material.data, X_dev=dev, **files)
        model.callbacks = ()
        check_progress(model, self.noun, resumable="checkpoint" in files)
        return model
