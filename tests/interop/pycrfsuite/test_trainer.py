"""`Trainer` as its users know it: parameters, checks, hooks, the log, files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pycrfsuite as theirs
import pytest

from tagline.interop import pycrfsuite as ours
from tests.interop.pycrfsuite.libraries import BOTH, chunks, fill, in_fresh_order, without_seconds

ALGORITHMS = ["lbfgs", "l2sgd", "ap", "averaged-perceptron", "pa", "passive-aggressive", "arow", "LBFGS"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_parameters_are_those_of_crfsuite(algorithm: str) -> None:
    expected, trainer = theirs.Trainer(algorithm), ours.Trainer(algorithm)
    assert trainer.params() == expected.params()
    assert trainer.get_params() == expected.get_params()
    assert {k: type(v) for k, v in trainer.get_params().items()} == {
        k: type(v) for k, v in expected.get_params().items()
    }
    assert all(trainer.help(name) for name in trainer.params())


def test_values_are_read_as_texts_numbers_and_switches() -> None:
    trainer = ours.Trainer(params={"c2": "0.5", "feature.possible_states": True, "max_iterations": 50.0})
    assert trainer.get("c2") == 0.5
    assert trainer.get("feature.possible_states") is True
    assert trainer.get("max_iterations") == 50
    trainer.set("c2", 1e-9)
    assert trainer.get("c2") == 1e-9  # CRFsuite's own is cut to six digits
    trainer.select("lbfgs")
    assert trainer.get("c2") == 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: t.select("foo"), r"^Bad arguments: "),
        (lambda t: t.select("lbfgs", "crf2d"), r"^Bad arguments: "),
        (lambda t: t.set("foo", 1), r"^Parameter not found: "),
        (lambda t: t.get("foo"), r"^Parameter not found: "),
        (lambda t: t.help("foo"), r"^Parameter not found: "),
        (lambda t: t.set("c2", "abc"), r"^c2: "),
        (lambda t: t.set("max_iterations", "1.5"), r"^max_iterations: "),
        (lambda t: t.set("max_iterations", None), r"^max_iterations: "),
        (lambda t: t.append([["a"]], ["x", "y"]), r"\|x\| = 1, \|y\| = 2"),
        (lambda t: t.append(iter([["a"]]), ["x", "y"]), r"\|x\| = 1, \|y\| = 2"),
        (lambda t: t.append("ab", ["x", "y"]), r"^xseq: "),
        (lambda t: t.append(["ab"], ["x"]), r"^xseq: sentence 0, token 0: .*strings"),
        (lambda t: t.append([[1]], ["x"]), r"^xseq: sentence 0, token 0: .*int 1"),
        (lambda t: t.append([{"a": None}], ["x"]), r'^xseq: sentence 0, token 0, attribute "a": '),
    ],
)
def test_bad_calls_are_value_errors(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(ours.Trainer())


def test_labels_and_groups_of_a_wrong_type() -> None:
    for arguments in (([["a"]], [1]), ([["a"]], ["x"], "1")):
        with pytest.raises(TypeError):
            ours.Trainer().append(*arguments)


def test_what_was_refused_is_not_learned_from(tmp_path: Path) -> None:
    trainer = ours.Trainer("ap", {"max_iterations": 2}, verbose=False)
    trainer.append([["a"]], ["X"])
    for items, labels in (([["b"], [2]], ["Y", "Y"]), (iter([["b"]]), ["Y", "Y"])):
        with pytest.raises(ValueError, match=r"expected|differ"):
            trainer.append(items, labels)
    trainer.append([], [])
    trainer.train(tmp_path / "m")
    with ours.Tagger().open(tmp_path / "m") as tagger:
        assert tagger.labels() == ["X"]
    trainer.clear()
    trainer.append([["c"]], ["Z"])
    trainer.train(tmp_path / "m")
    with ours.Tagger().open(tmp_path / "m") as tagger:
        assert tagger.labels() == ["Z"]


class _Hooked(ours.Trainer):
    """Notes its events."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.seen: list[Any] = []
        super().__init__(*arguments, **options)

    def on_start(self, log: str) -> None:
        self.seen.append(("start", log))

    def on_featgen_progress(self, log: str, percent: int) -> None:
        self.seen.append(("progress", percent))

    def on_featgen_end(self, log: str) -> None:
        self.seen.append(("featgen_end", log))

    def on_prepared(self, log: str) -> None:
        self.seen.append(("prepared", log))

    def on_prepare_error(self, log: str) -> None:
        self.seen.append(("prepare_error", log))

    def on_iteration(self, log: str, info: Any) -> None:
        self.seen.append(("iteration", info["num"]))

    def on_optimization_end(self, log: str) -> None:
        self.seen.append(("optimization_end", log))

    def on_end(self, log: str) -> None:
        self.seen.append(("end", log))


def test_hooks_are_called_in_order(tmp_path: Path) -> None:
    trainer = fill(_Hooked("lbfgs", {"max_iterations": 3}), *chunks(1, 20))
    trainer.train(str(tmp_path / "m"))
    names = [name for name, _ in trainer.seen]
    assert names == [
        "start",
        *["progress"] * 51,
        "featgen_end",
        "prepared",
        *["iteration"] * 3,
        "optimization_end",
        "end",
    ]
    assert [value for name, value in trainer.seen if name == "progress"] == list(range(0, 101, 2))
    assert "terminated with the maximum number of iterations" in dict(trainer.seen)["optimization_end"]
    assert trainer.logparser.last_iteration["num"] == 3


def test_a_trainer_without_sentences_says_so_and_writes_an_empty_model(tmp_path: Path) -> None:
    trainer = _Hooked()
    trainer.train(str(tmp_path / "m"))
    assert "prepare_error" in dict(trainer.seen)
    for library in BOTH:
        with library.Tagger().open(str(tmp_path / "m")) as tagger:
            assert tagger.labels() == []
    for algorithm in ("l2sgd", "ap"):
        ours.Trainer(algorithm, {"max_iterations": 2}, verbose=False).train(str(tmp_path / "m"))


@pytest.mark.parametrize("verbose", [True, False])
def test_the_log_is_printed_where_it_is_wanted(tmp_path: Path, capsys: Any, verbose: bool) -> None:
    printed = []
    in_fresh_order()
    for library in BOTH:
        trainer = fill(library.Trainer("ap", {"max_iterations": 4}, verbose=verbose), *chunks(2, 20), groups=3)
        trainer.train(str(tmp_path / "m"), 1)
        printed.append(without_seconds(capsys.readouterr().out.splitlines()))
    assert printed[0] == printed[1]
    assert bool(printed[1]) == verbose


def test_an_error_of_a_hook_ends_training(tmp_path: Path) -> None:
    class Failing(ours.Trainer):
        def message(self, message: str) -> None:
            if message.startswith("***** Iteration #2"):
                raise LookupError("enough")

    for algorithm in ("lbfgs", "ap"):
        trainer = fill(Failing(algorithm), *chunks(3, 20))
        with pytest.raises(LookupError):
            trainer.train(str(tmp_path / "m"))
    assert not (tmp_path / "m").exists()


def test_no_name_means_no_file_and_no_folder_is_an_error_at_once(tmp_path: Path) -> None:
    trainer = fill(ours.Trainer("ap", {"max_iterations": 1}, verbose=False), *chunks(4, 5))
    trainer.train("")
    assert "Storing the model\n" not in trainer.logparser.log
    with pytest.raises(FileNotFoundError):
        trainer.train(str(tmp_path / "nowhere" / "m"))


def test_trainers_are_not_pickled() -> None:
    for library in BOTH:
        with pytest.raises(TypeError):
            pickle.dumps(library.Trainer())


def test_steps_that_are_too_large_are_an_error(tmp_path: Path) -> None:
    params = {"calibration.eta": 1e300, "calibration.max_trials": 2}
    trainer = ours.Trainer("l2sgd", params, verbose=False)
    trainer.append([{"a": 1e30}, {"b": 1e30}], ["X", "Y"])
    trainer.append([{"a": 1e30}, {"b": 1e30}], ["Y", "X"])
    with pytest.raises(ours.CRFSuiteError, match="finite"):
        trainer.train(str(tmp_path / "m"))
