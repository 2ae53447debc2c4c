"""sklearn-crfsuite's interface to the letter, on Tagline's engine: change the import, keep the code and the pickles.

    from tagline.interop import sklearn_crfsuite          # was: import sklearn_crfsuite

Or leave the imports alone, before any of them: ``sys.modules["sklearn_crfsuite"] = tagline.interop.sklearn_crfsuite``.
Modules, names, signatures, defaults and attributes are those of sklearn-crfsuite 0.5; what lies below is
`tagline.interop.pycrfsuite`. `crf` and `model_files` hold the classes and `estimator` and `_fileresource` only name
them, so that there is one class `CRF`, whichever name the package is imported by. For more than this interface offers
(spans, k-best answers, tag schemes, early stopping) use `tagline.CRF`.
"""

from tagline.interop.sklearn_crfsuite.crf import CRF as CRF

__all__ = ["CRF"]
