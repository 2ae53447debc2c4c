"""The error that python-crfsuite raises where training fails."""

from __future__ import annotations

from tagline.messages import message

OVERFLOW = -2147483643

_MESSAGES = {
    -2147483648: message("an error of an unknown kind"),
    -2147483647: message("memory ran out"),
    -2147483646: message("an operation that is not supported"),
    -2147483645: message("data that do not fit"),
    -2147483644: message("a mistake inside"),
    OVERFLOW: message("the loss is no longer finite; lower calibration.eta or scale the values of features"),
    -2147483642: message("something that is not implemented"),
}


class CRFSuiteError(Exception):
    """Training that failed; `code` is CRFsuite's number for the reason.

    >>> from tagline.interop import pycrfsuite
    >>> pycrfsuite.CRFSuiteError(1).code
    1
    """

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(_MESSAGES.get(code, message("an unexpected error")))
