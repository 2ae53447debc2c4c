"""The module in the place of python-crfsuite: its names, its paths, and programs that import it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pycrfsuite as theirs

from tagline.interop import pycrfsuite as ours
from tagline.interop.pycrfsuite._logparser import TrainLogParser
from tests.interop.pycrfsuite.libraries import BOTH, chunks, train

PROGRAM = """
import sys
import tagline.interop.pycrfsuite
sys.modules["pycrfsuite"] = tagline.interop.pycrfsuite
from pycrfsuite import Tagger, Trainer, _dumpparser
from pycrfsuite._logparser import TrainLogParser, LabelScore
from pycrfsuite._pycrfsuite import ItemSequence
import usaddress
assert isinstance(usaddress.TAGGER, tagline.interop.pycrfsuite.Tagger)
for line in sys.stdin.read().splitlines():
    print(usaddress.parse(line))
"""


def test_public_names_are_there() -> None:
    modules = {"contextlib", "os", "sys", "tempfile"}
    names = {name for name in dir(theirs) if not name.startswith("__")} - modules
    assert names <= set(dir(ours))
    for name in ("Trainer", "BaseTrainer", "Tagger", "ItemSequence"):
        methods = {method for method in vars(getattr(theirs, name)) if not method.startswith("_")}
        assert methods <= {*dir(getattr(ours, name)), "verbose"}, name


def test_usaddress_parses_as_with_python_crfsuite() -> None:
    import usaddress

    draw = ["Michigan", "Mountain View", "Chicago", "Old Mill", "Main"]
    lines = [
        f"{number} {side}{street} {kind}{unit}, {city}, {state} {60600 + number}"
        for number in (1, 123, 4500)
        for side in ("", "N. ", "South ")
        for street in draw
        for kind in ("St", "Avenue", "Blvd.")
        for unit in ("", " #5", " Suite 12")
        for city, state in (("Chicago", "IL"), ("New York", "NY"))
    ]
    lines += ["PO Box 123", "Corner of 5th and Main", "c/o Bob, 12 Elm", "Étoile 5", ""]
    expected = [str(usaddress.parse(line)) for line in lines]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == expected[: len(done.stdout.splitlines())]
    assert len(done.stdout.splitlines()) >= len(lines) - 1


def test_logs_are_parsed_as_there(tmp_path: Path) -> None:
    from pycrfsuite._logparser import TrainLogParser as TheirParser

    X, y = chunks(5, 40)
    for library in BOTH:
        for algorithm in ("lbfgs", "l2sgd", "pa"):
            log = train(library, tmp_path / "m", X, y, algorithm, {"max_iterations": 3}, 1).logparser.log
            expected, parser = TheirParser(), TrainLogParser()
            assert [parser.feed(message) for message in log] == [expected.feed(message) for message in log]
            assert parser.events == expected.events
            assert parser.last_log == expected.last_log
            assert parser.iterations == expected.iterations
            assert parser.storing_seconds is not None  # theirs is None for 0.000 seconds
            for name in set(vars(expected)) - {"state", "storing_seconds"}:  # states have names of our own
                assert getattr(parser, name) == getattr(expected, name), name
