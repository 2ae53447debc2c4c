"""Checkpoints of every kind whose values were changed one at a time: a run goes on, or says what is wrong."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline import storage
from tagline.errors import StorageError, TaglineError
from tests.fuzz.doors.runs import RUNS, checkpoint_of, go_on

ODD: tuple[Any, ...] = (None, "x", -1, 2**70, [], {})
FILLED = (0.0, -1.0, np.nan, np.inf, 1e308)


def places(tree: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every value of a state: of lists the first one alone."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree[:1]) if isinstance(tree, list) else ()
    for key, part in entries:
        yield (*at, key)
        yield from places(part, (*at, key))


def changed(tree: Any, place: tuple[Any, ...], value: Any) -> Any:
    tree = copy.deepcopy(tree)
    home = tree
    for key in place[:-1]:
        home = home[key]
    home[place[-1]] = value
    return tree


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("os.fsync", lambda number: None)
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in ("owlqn", "pa", "hmm") else pytest.mark.slow) for name in RUNS]
)
@pytest.mark.filterwarnings("ignore")
def test_a_changed_value_is_refused_or_does_no_harm(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    checkpoint_of(name, str(path))
    file = storage.read(path, mapped=False)
    state, arrays = file.config["state"], {key: array.copy() for key, array in file.tensors.items()}
    inputs = [({**file.config, "state": changed(state, at, odd)}, arrays) for at in places(state) for odd in ODD]
    for key, array in arrays.items():
        others = [np.zeros(3, np.uint8), array.ravel()[:-1]]
        if array.dtype.kind == "f" or array.dtype.kind == "i":
            others += [np.full_like(array, odd) for odd in FILLED if array.dtype.kind == "f" or abs(odd) <= 1]
        inputs += [(file.config, {**arrays, key: other}) for other in others]
    messages = []
    for config, tensors in inputs:
        storage.write(path, config, tensors)
        try:
            go_on(name, str(path)).training_log_[-1].line()
        except TaglineError as error:
            messages.append(str(error))
    assert len(messages) > len(inputs) / 3
    assert not any("\n" in message for message in messages)


@pytest.mark.parametrize("name", ["lbfgs", "ap", "hmm", "hmm, gaussian", "semicrf"])
@pytest.mark.parametrize("place", [("objective",), ("seconds",), ("number",), ("metrics", "active")], ids="/".join)
def test_null_in_a_history_is_refused(name: str, place: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "run"
    checkpoint_of(name, str(path))
    file = storage.read(path, mapped=False)
    state = changed(file.config["state"], ("history", 0, *place), None)
    storage.write(path, {**file.config, "state": state}, dict(file.tensors))
    with pytest.raises(StorageError, match=r"run: .*history"):
        go_on(name, str(path))
