"""The error that python-crfsuite raises where training fails."""

from __future__ import annotations

OVERFLOW = -2147483643

_MESSAGES = {
    -2147483648: "an error of an unknown kind",
    -2147483647: "memory ran out",
    -2147483646: "an operation that is not supported",
    -2147483645: "data that do not fit",
    -2147483644: "a mistake inside",
    OVERFLOW: "the loss is no longer finite; lower calibration.eta or scale the values of features",
    -2147483642: "something that is not implemented",
}


class CRFSuiteError(Exception):
    """Training that failed; `code` is CRFsuite's number for the reason.

    >>> from tagline.interop import pycrfsuite
    >>> pycrfsuite.CRFSuiteError(1).code
    1
    """

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(_MESSAGES.get(code, "an unexpected error"))
