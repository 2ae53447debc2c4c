"""How `tagline train` trains a semi-CRF: as a feature CRF, with a template that is named or chosen."""

from __future__ import annotations

from tagline.models.contract import Model
from tagline.models.crf.recipe import CRFRecipe
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

    def fit(self, material: Material, dev: Corpus | None, tell: Reporter) -> Model:
        """Train; Ctrl-C before the first pass is done is a `KeyboardInterrupt`."""
        settings = {**self.settings, "patience": self.settings.get("patience") if dev is not None else None}
        model = SemiCRF(self.chosen, **settings, callbacks=(tell.passed,))
        tell.stage("numbering features")
        model.fit(material.data, X_dev=dev)
        model.callbacks = ()
        check_progress(model, self.noun)
        return model
