"""python-crfsuite's names over Tagline: change ``import pycrfsuite`` into ``from tagline.interop import pycrfsuite``.

`Trainer` writes CRFsuite's model files, `Tagger` reads them; module paths that its users import are here, too, so that
``sys.modules["pycrfsuite"] = tagline.interop.pycrfsuite`` moves programs that nobody wants to change.
"""

from tagline.interop.pycrfsuite._pycrfsuite import (
    CRFSUITE_VERSION,
    BaseTrainer,
    CRFSuiteError,
    ItemSequence,
    Tagger,
    Trainer,
    seed,
)

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer", "seed"]
