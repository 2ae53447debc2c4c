"""What seqeval's users rely on beside numbers: names, module paths, errors, schemes of their own."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.interop.seqeval import reporters, scheme
from tagline.interop.seqeval.metrics import sequence_labeling, v1

PROGRAM = """
import sys
import tagline.interop.seqeval
sys.modules["seqeval"] = tagline.interop.seqeval
from seqeval.metrics import classification_report, f1_score
from seqeval.metrics.v1 import unique_labels
from seqeval.reporters import StringReporter
from seqeval.scheme import BILOU, Entities, IOB2
assert f1_score([["B-A", "I-A"]], [["I-A", "I-A"]]) == 1
assert f1_score([["B-A", "I-A"]], [["B-A", "B-A"]], mode="strict", scheme=IOB2, zero_division=0) == 0
assert unique_labels([["U-A", "O"]], [["B-B", "L-B"]], BILOU) == ["A", "B"]
assert "tagline" in sys.modules["seqeval"].__file__
"""


def test_it_stands_in_for_seqeval() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_signatures_are_those_of_seqeval() -> None:
    import seqeval.metrics.sequence_labeling as default
    import seqeval.metrics.v1 as strict
    import seqeval.scheme as schemes

    for mine, yours in ((sequence_labeling, default), (v1, strict), (scheme, schemes), (reporters, reporters)):
        for name, function in inspect.getmembers(mine, callable):
            other = getattr(yours, name, None)
            if getattr(other, "__module__", "").startswith("seqeval"):
                found, expected = (
                    [
                        (parameter.name, parameter.kind, parameter.default)
                        for parameter in inspect.signature(entry).parameters.values()
                    ]
                    for entry in (function, other)
                )
                assert found == expected, name


def test_wrong_input_is_named() -> None:
    with pytest.raises(TypeError, match="without list of list"):
        sequence_labeling.f1_score([("O",)], [("O",)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="without list of list"):
        sequence_labeling.classification_report(np.array([["O"]]), [["O"]])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"inconsistent numbers of samples:\n\[1\]\n\[2\]"):
        sequence_labeling.f1_score([["O"]], [["O", "O"]])
    with pytest.raises(InputError, match="average has to be one of"):
        sequence_labeling.f1_score([["O"]], [["O"]], average="samples")
    with pytest.raises(InputError, match="beta should be >=0"):
        v1.precision_recall_fscore_support([["O"]], [["O"]], beta=-1, scheme=scheme.IOB2)
    with pytest.raises(InputError, match=r"^scheme: "):
        v1.precision_recall_fscore_support([["O"]], [["O"]])
    with pytest.raises(InputError, match=r"^y_true, y_pred: "):
        sequence_labeling.classification_report([["O"]], [["O"]])
    with pytest.raises(InputError, match=r"^y_true: "):
        sequence_labeling.f1_score([[3]], [["O"]])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"^labels: "):
        sequence_labeling.f1_score([[""]], [["O"]])


def test_labels_of_different_lengths_are_refused_where_seqeval_cuts_them() -> None:
    for function in (sequence_labeling.accuracy_score, sequence_labeling.performance_measure):
        with pytest.raises(InputError, match=r"^y_pred: .*y_true"):
            function([["O", "O"]], [["O"]])
    with pytest.raises(ZeroDivisionError, match=r"^y_true: "):
        sequence_labeling.accuracy_score([[]], [[]])


def test_a_label_without_a_letter_is_each_error_that_callers_may_catch() -> None:
    for kind in (InputError, KeyError, IndexError):
        for label in ("", "T-PER"):
            with pytest.raises(kind, match=r'^"label: '):
                scheme.Token(label)
    with pytest.raises(InputError, match=r"^'Invalid token is found: "):
        v1.classification_report([["S-A"]], [["O"]], scheme=scheme.IOB2)


def test_a_scheme_of_ones_own_is_read_by_its_patterns() -> None:
    class Loose(scheme.IOB2):
        """I may begin an entity after O."""

        start_patterns = scheme.IOB2.start_patterns | {(scheme.Prefix["O"], scheme.Prefix["I"], scheme.Tag.ANY)}

    labels = [["I-A", "I-A", "O"], ["B-A"]]
    assert scheme.Entities(labels, Loose).entities == [[scheme.Entity(0, 0, 2, "A")], [scheme.Entity(1, 0, 1, "A")]]
    assert v1.precision_recall_fscore_support(labels, labels, average="micro", scheme=Loose)[3] == 2
    assert v1.precision_recall_fscore_support(labels, labels, average="micro", scheme=scheme.IOB2)[3] == 1


def test_arguments_are_left_as_they_were() -> None:
    gold, predicted = [["B-A", "O"], []], [["B-A", "B-B"], []]
    sequence_labeling.classification_report(gold, predicted, zero_division=0)
    v1.classification_report(gold, predicted, zero_division=0)
    assert (gold, predicted) == ([["B-A", "O"], []], [["B-A", "B-B"], []])
