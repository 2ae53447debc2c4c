"""The taggers by NLTK's names: `crf` over CRFsuite's files, `tnt` of trigrams, `hmm` of pairs of tags."""

from tagline.interop.nltk.tag.api import TaggerI
from tagline.interop.nltk.tag.crf import CRFTagger
from tagline.interop.nltk.tag.hmm import HiddenMarkovModelTagger, HiddenMarkovModelTrainer
from tagline.interop.nltk.tag.tnt import TnT

__all__ = ["CRFTagger", "HiddenMarkovModelTagger", "HiddenMarkovModelTrainer", "TaggerI", "TnT"]
