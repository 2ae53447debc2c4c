"""Where python-crfsuite keeps its classes; ours are in the modules beside this one."""

from tagline.interop.pycrfsuite.errors import CRFSuiteError
from tagline.interop.pycrfsuite.item_sequence import ItemSequence
from tagline.interop.pycrfsuite.online import seed
from tagline.interop.pycrfsuite.tagger import Tagger
from tagline.interop.pycrfsuite.trainer import BaseTrainer, Trainer

CRFSUITE_VERSION = "0.12.2"
"""The version of CRFsuite whose files, parameters and log these classes keep to."""

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer", "seed"]
