"""The short form: a few damaged inputs at every door, the same ones each time; and the fuzzer finds what is broken."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz.campaign import Campaign, input_of
from tests.fuzz.doors import NAMES, door_named, doors
from tests.fuzz.doors.broken import Broken
from tests.fuzz.judge import try_out

SEED = 1
TOO_LONG = "transformer"  # half a minute before the first input
COUNTS = {
    **{"columns": 300, "jsonl": 300, "conllu": 200, "text": 200, "tags": 200, "templates": 300, "vectors": 300},
    **{"dictionaries": 200, "subwords": 100, "toml": 20, "crf": 150, "crf-items": 100, "hmm": 100},
    **{"hmm-vectors": 80, "trigram": 100, "compiled": 80, "chain": 800, "bilstm": 12, "checkpoint": 6},
    **{"memm": 80, "semicrf": 150, "questions": 250, "settings": 40, "arguments": 400, "runs": 100},
    **{"pickles": 200, "parquet": 120, "conversions": 200, "requests": 120},
}
"""How many inputs of each door."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Readers report what they skip, and some doors change the folder."""
    folder = os.getcwd()
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
    os.chdir(folder)


@pytest.mark.parametrize("name", COUNTS)
def test_damaged_inputs_are_refused_by_an_error_of_ours_or_answered(name: str, tmp_path: Path) -> None:
    kind = door_named(name)
    for package in kind.needs:
        pytest.importorskip(package)
    door, accepted, finds = kind(tmp_path), 0, []
    for number in range(COUNTS[name]):
        taken, find = try_out(door, input_of(door, SEED, number))
        accepted += taken
        if find is not None:
            finds.append((find.what, find.data[:200], find.details[-300:]))
    assert not finds, finds[:3]
    assert 0 < accepted < COUNTS[name]  # damage that is always refused, or never, tries nothing


@pytest.mark.parametrize("name", [name for name in COUNTS if not door_named(name).needs and name != "settings"])
def test_valid_inputs_are_taken(name: str, tmp_path: Path) -> None:
    door = door_named(name)(tmp_path)
    taken = [try_out(door, door.as_input(data))[0] for data in door.seeds]
    assert sum(taken) >= (1 if name == "text" else (len(taken) + 1) // 2)  # some are empty, packed, of other encodings


def test_every_door_has_a_name() -> None:
    known = {name for names in NAMES.values() for name in names.split()}
    assert {*COUNTS, TOO_LONG} == known
    assert set(doors()) == {
        name for name in known if all(find_spec(package) is not None for package in door_named(name).needs)
    }


def test_an_input_is_a_function_of_seed_and_number(tmp_path: Path) -> None:
    for name in ("columns", "crf"):
        (tmp_path / name).mkdir()
        door = door_named(name)(tmp_path / name)
        drawn = [input_of(door, 3, number) for number in range(40)]
        assert [input_of(door, 3, number) for number in reversed(range(40))] == drawn[::-1]
        assert len(set(drawn)) > 35


@pytest.mark.parametrize(
    ("fault", "what"), [(1, "KeyError"), (2, "message of InputError"), (3, "nonsense: nonsense"), (7, None), (0, None)]
)
def test_what_counts_as_a_find(fault: int, what: str | None, tmp_path: Path) -> None:
    taken, find = try_out(Broken(tmp_path), bytes([fault]))
    assert (find is None) == (what is None)
    assert find is None or (what is not None and find.what.startswith(what) and find.data == bytes([fault]))
    assert taken == (fault == 0)


def test_the_long_form_finds_crashes_hangs_and_memory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = Campaign(5, 25, 60.0, tmp_path / "finds", hang=2.0)
    progress = run.run("broken")
    assert progress.done == 25
    inputs = [input_of(Broken(tmp_path), 5, number)[0] for number in range(25)]
    assert progress.crashes == sum(fault in (5, 6) for fault in inputs) > 1
    assert progress.finds == sum(1 <= fault <= 6 for fault in inputs)
    found = {path.read_bytes()[0] for path in (tmp_path / "finds").iterdir() if path.suffix != ".txt"}
    assert found == {fault for fault in inputs if 1 <= fault <= 6} == {1, 2, 3, 4, 5, 6}
    notes = [path.read_text() for path in (tmp_path / "finds").glob("*.txt")]
    assert sum("MemoryError" in note for note in notes) == 1
    assert sum("no answer within 2 seconds" in note for note in notes) == 1
    assert "broken" in capfd.readouterr().out


def test_a_find_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "broken-1"
    path.write_bytes(b"\1")
    command = [sys.executable, "-m", "tests.fuzz", "--replay", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "KeyError" in done.stdout
