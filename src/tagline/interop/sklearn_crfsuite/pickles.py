"""Pickles of sklearn-crfsuite's CRF as models of ours, without unpickling: `tagline convert-model crf.pkl m.tagline`.

Such a pickle is the estimator's settings, the log of its training, and the model file of CRFsuite, byte by byte. The
stream is walked by `inert`, which runs nothing, the bytes are found, and CRFsuite's reader has the rest. `joblib.dump`
without compression writes the same.
"""

from __future__ import annotations

from typing import Any

from tagline.errors import StorageError
from tagline.interop.crfsuite.conversion import read_crf as read_crfsuite
from tagline.interop.sklearn_crfsuite.inert import ENCODE, Global, Made, read_inert
from tagline.interop.sklearn_crfsuite.model_files import DATA
from tagline.models.crf.estimator import CRF

ESTIMATORS: frozenset[Global] = frozenset(
    (("sklearn_crfsuite.estimator", "CRF"), ("tagline.interop.sklearn_crfsuite.crf", "CRF"))
)
FILES: frozenset[Global] = frozenset(
    (
        ("sklearn_crfsuite._fileresource", "FileResource"),
        ("tagline.interop.sklearn_crfsuite.model_files", "FileResource"),
    )
)
REST: frozenset[Global] = frozenset(  # of the settings and the log
    (
        ("sklearn_crfsuite.trainer", "LinePerIterationTrainer"),
        ("tagline.interop.sklearn_crfsuite.trainer", "LinePerIterationTrainer"),
        *(
            (f"{module}._logparser", name)
            for module in ("pycrfsuite", "tagline.interop.pycrfsuite")
            for name in ("LogParser", "TrainLogParser", "LabelScore")
        ),
        ("fractions", "Fraction"),
        ("numpy.core.multiarray", "scalar"),
        ("numpy._core.multiarray", "scalar"),
        ("numpy", "dtype"),
        ENCODE,
    )
)


def read_crf(data: bytes, source: str = "<bytes>") -> CRF:
    """Make a CRF of the bytes of a pickle; sentences are features already, as sklearn-crfsuite takes them.

    Arguments:
        data: the whole file.
        source: its name, for messages.
    """
    estimator = read_inert(data, source, ESTIMATORS | FILES | REST)
    if not isinstance(estimator, Made) or estimator.of not in ESTIMATORS:
        got = ".".join(estimator.of) if isinstance(estimator, Made) else type(estimator).__name__
        raise StorageError("{}: expected a pickle of sklearn-crfsuite's CRF, got one of {}", source, got)
    file = _entry(estimator, "modelfile", source)
    if not isinstance(file, Made) or file.of not in FILES:
        raise StorageError("{}: expected a CRF with the file of its model, got one without", source)
    content = _entry(file, DATA, source)
    if isinstance(content, bytes):
        return read_crfsuite(content, source)
    name = _entry(file, "name", source)
    if isinstance(name, str):
        raise StorageError(
            "{}: expected a pickle with its model inside, got one whose model is a file of its own, "
            "{!r:.200}; convert that file",
            source,
            name,
        )
    raise StorageError("{}: expected a CRF that was fitted, got one that was not", source)


def _entry(made: Made, name: str, source: str) -> Any:
    if not isinstance(made.state, dict):
        raise StorageError("{}: expected the attributes of a {}, got {}", source, made.of[1], type(made.state).__name__)
    return made.state.get(name)
