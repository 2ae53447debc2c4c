"""How `tagline train` trains a semi-CRF: as a feature CRF, with a template that is named or chosen."""

from __future__ import annotations

from tagline.models.crf.recipe import CRFRecipe, dictionary_for
from tagline.readers.corpus import Corpus


class SemiCRFRecipe(CRFRecipe):
    """How a semi-CRF is trained from files."""

    def _matched(self, corpus: Corpus) -> Corpus:
        """Take over a dictionary of files: its matches are attributes of segments, the template need not look."""
        if self.files.dictionary is not None:
            self.model.dictionary = dictionary_for(corpus, self.files.dictionary)
        return corpus
