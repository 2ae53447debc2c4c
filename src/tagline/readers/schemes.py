"""Tag schemes, the public door: what they are, which one a corpus uses, what is wrong, how to change it.

>>> detect([["B-PER", "I-PER", "O"]]).scheme.name
'IOB2'
>>> convert(["B-PER", "I-PER", "O"], "IOB2", "BIOES")
['B-PER', 'E-PER', 'O']
"""

from __future__ import annotations

from tagline.readers.detection import Detection, detect
from tagline.readers.rules import SCHEMES, Rules, Scheme, legal, scheme
from tagline.readers.scheme_conversion import LossyConversionWarning, convert, tags_to_spans
from tagline.readers.tag_writing import spans_to_tags, write_tags
from tagline.readers.validation import POLICIES, Repair, Violation, repair, validate

__all__ = [
    "POLICIES",
    "SCHEMES",
    "Detection",
    "LossyConversionWarning",
    "Repair",
    "Rules",
    "Scheme",
    "Violation",
    "convert",
    "detect",
    "legal",
    "repair",
    "scheme",
    "spans_to_tags",
    "tags_to_spans",
    "validate",
    "write_tags",
]
