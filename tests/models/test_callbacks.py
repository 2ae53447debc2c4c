"""One callback for all models: what it is told, that True stops, that weights are copied when asked; and progress."""

from __future__ import annotations

import logging
import re
import sys
import types
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tagline import CRF, HMM, MEMM, MaxEnt, SemiCRF, TrainingState, TrigramTagger
from tagline.errors import InputError
from tagline.training.iteration import Algorithm, Step
from tagline.training.running.progress import Budget, narrating

X = [["the", "cat", "sings"], ["a", "dog", "sees", "the", "cat"], ["dogs", "run"]] * 4
Y = [["D", "N", "V"], ["D", "N", "V", "D", "N"], ["N", "V"]] * 4
GUIDE = Path(__file__).parents[2] / "docs" / "training.md"


def features(sentence: list[str]) -> list[dict[str, str]]:
    return [{"word": word} for word in sentence]


def crf(**settings: Any) -> CRF:
    return CRF(features, **settings)


@pytest.mark.parametrize("algorithm", ["auto", "lbfgs", "owlqn", "sgd", "gd", "iis", "ap", "pa", "arow"])
def test_crf_states(algorithm: str) -> None:
    seen: list[tuple[TrainingState, NDArray[np.float64]]] = []
    penalty = {"c1": 0.1} if algorithm == "owlqn" else {}
    model = crf(algorithm=algorithm, callbacks=[lambda state: seen.append((state, state.weights()))], **penalty)
    model.set_params(max_iterations=4, patience=None).fit(X, Y, X_dev=X, y_dev=Y)
    assert [state.pass_ for state, _ in seen] == [done.number for done in model.training_log_]
    for (state, weights), done in zip(seen, model.training_log_, strict=True):
        assert (state.epoch, state.gap, state.progress) == (done.number, done.gap, done)
        assert (state.gap is not None) == (not np.isnan(done.gradient_norm))  # who knows the gradient proves a gap
        assert (state.objective, state.dev_score, state.seconds) == (done.objective, done.dev_score, done.seconds)
        assert state.gradient_norm is done.gradient_norm, "the other numbers of a pass are there, too"
        assert weights.shape == model.parameters_.weights.shape
    if algorithm not in ("auto", "sgd"):
        assert np.array_equal(seen[-1][1], model.parameters_.weights)


def test_states_are_frozen_and_weights_are_asked_for_in_time() -> None:
    seen: list[TrainingState] = []
    crf(max_iterations=10, callbacks=[seen.append]).fit(X, Y)
    with pytest.raises(FrozenInstanceError):
        seen[0].pass_ = 3  # type: ignore[misc]
    with pytest.raises(InputError, match=r"^weights: "):
        seen[0].weights()
    with pytest.raises(AttributeError):
        _ = seen[0].nothing_of_that_name
    state = seen[-1]
    gaps = {"gap": state.gap, "relative_gap": state.relative_gap}
    assert state.metrics() == {"objective": state.objective, **gaps, "seconds": state.seconds}


def test_weights_are_copied_only_when_asked() -> None:
    class Counted(np.ndarray[Any, Any]):
        copies = 0

        def copy(self, *arguments: Any, **options: Any) -> Any:
            Counted.copies += 1
            return np.asarray(self).copy()

    from tagline.training.run import Run

    class Falling:
        """An algorithm of four steps."""

        weights, reason, is_slow, at_least_one = np.zeros(2), None, False, False

        def __iter__(self) -> Any:
            for k in range(4):
                yield Step(k, 4.0 - k, weights=np.zeros(2).view(Counted))

        def copied(self, weights: Any) -> Any:
            return Algorithm.copied(self, weights)  # type: ignore[arg-type]

        def assessed(self, end: Any) -> Any:
            return end

    for callback, copies in ((lambda state: None, 0), (lambda state: bool(state.weights().sum()), 3)):
        Counted.copies = 0
        Run(callbacks=[callback]).finish(Falling())  # type: ignore[arg-type]
        assert Counted.copies == copies


def test_callbacks_of_two_arguments_are_told_as_before() -> None:
    seen: list[tuple[Step, Any]] = []

    class Old:
        def __call__(self, done: Step, weights: Any) -> bool:
            seen.append((done, weights))
            return done.iteration == 2

    model = crf(algorithm="lbfgs", callbacks=[Old()]).fit(X, Y)
    assert [done for done, _ in seen] == list(model.training_log_)
    assert np.array_equal(seen[-1][1], model.parameters_.weights)
    assert model.stop_reason_ == "callback"


def test_an_hmm_tells_each_step_and_stops_all_starts() -> None:
    seen: list[dict[str, Any]] = []

    def stop(state: TrainingState) -> bool:
        seen.append(state.weights())
        return state.pass_ == 2

    model = HMM(2, n_init=5, tolerance=-np.inf, callbacks=[stop]).fit(X)
    assert (len(seen), model.stop_reason_, len(model.training_log_)) == (2, "callback", 2)
    assert np.array_equal(seen[-1]["transitions"], model.transitions_)
    assert np.array_equal(seen[-1]["emission.probabilities"], model.emission_.arrays()["probabilities"])


def test_models_that_count_tell_once() -> None:
    for kind in (HMM, TrigramTagger):
        seen: list[tuple[int, dict[str, Any]]] = []
        model = kind(callbacks=[lambda state, seen=seen: seen.append((state.pass_, state.weights()))]).fit(X, Y)
        assert [number for number, _ in seen] == [1]
        assert all(isinstance(array, np.ndarray) for array in seen[0][1].values())
        assert "callbacks" not in model._settings()
        with pytest.raises(InputError, match=r"^callbacks: "):
            kind(callbacks=3).fit(X, Y)


# Progress.


def test_verbose_goes_through_logging_where_a_handler_is_set(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, "tagline.training"):
        model = crf(max_iterations=3, algorithm="lbfgs", verbose=True).fit(X, Y)
    lines = [record.getMessage() for record in caplog.records if record.name == "tagline.training"]
    assert [line.split("  ")[0] for line in lines] == [f"pass {done.number}" for done in model.training_log_]
    assert capfd.readouterr().err == ""
    crf(max_iterations=3, verbose=True).fit(X, Y)
    assert len(capfd.readouterr().err.splitlines()) == 3, "without one, lines on stderr"
    crf(max_iterations=3).fit(X, Y)
    assert capfd.readouterr().err == ""


def test_a_terminal_has_a_bar(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    HMM(2, max_iterations=4, tolerance=-np.inf, verbose=True).fit(X)
    drawn = capfd.readouterr().err
    assert "pass 4" in drawn
    assert "\x1b[" in drawn, "it is redrawn"


def test_a_notebook_has_a_bar_below_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []

    class Shell:
        kernel = None

    class Handle:
        def update(self, page: str) -> None:
            pages.append(page)

    display = types.ModuleType("IPython.display")
    display.HTML, display.display = str, lambda page, display_id: Handle()  # type: ignore[attr-defined]
    notebook = types.ModuleType("IPython")
    notebook.get_ipython, notebook.display = Shell, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    HMM(2, max_iterations=4, tolerance=-np.inf, verbose=True).fit(X)
    assert pages[-1].startswith('<pre><progress value="4" max="4"></progress> pass 4  objective -')
    with narrating(True, Budget()) as tell:
        tell.say("<b>")
        tell.stage("reading")
        tell.stepped(3, 9, 0.5)
    assert pages[-1] == '<pre>&lt;b&gt;\n<progress value="3" max="9"></progress> training  loss 0.5000</pre>'


# Recipes of the guide, with stand-ins for the services, and the real writer of TensorBoard.


def recipe(package: str) -> str:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    return next(block for block in blocks if package in block)


def test_the_recipe_for_weights_and_biases(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[tuple[dict[str, float], int]] = []

    class Run:
        def log(self, metrics: dict[str, float], step: int) -> None:
            logged.append((metrics, step))

        def finish(self) -> None:
            logged.append(({}, -1))

    wandb = types.ModuleType("wandb")
    wandb.init = lambda project: Run()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    names = {"X": [features(row) for row in X], "y": Y}
    exec(recipe("wandb"), names)
    assert [step for _, step in logged] == [*range(1, len(logged)), -1]
    assert {"objective", "seconds"} <= set(logged[0][0])


def test_the_recipe_for_mlflow(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[tuple[dict[str, float], int]] = []

    class Run:
        def __enter__(self) -> None:
            pass

        def __exit__(self, *error: Any) -> None:
            logged.append(({}, -1))

    mlflow = types.ModuleType("mlflow")
    mlflow.start_run = Run  # type: ignore[attr-defined]
    mlflow.log_metrics = lambda metrics, step: logged.append((metrics, step))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    exec(recipe("mlflow"), {"X": [features(row) for row in X], "y": Y})
    assert [step for _, step in logged] == [*range(1, len(logged)), -1]


def events(folder: Path) -> dict[str, list[int]]:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = accumulator.EventAccumulator(str(folder)).Reload()
    return {name: [event.step for event in run.Scalars(name)] for name in run.Tags()["scalars"]}


def test_tensorboard_and_its_recipe_with_the_real_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    exec(recipe("tensorboard"), {"X": [features(row) for row in X], "y": Y})
    drawn = events(tmp_path / "runs")
    assert drawn["objective"] == list(range(1, len(drawn["objective"]) + 1))
    model = crf(max_iterations=3, algorithm="lbfgs").fit(X, Y, X_dev=X, y_dev=Y, tensorboard=tmp_path / "board")
    numbers = [done.number for done in model.training_log_]
    assert {
        name: steps for name, steps in events(tmp_path / "board").items() if name in ("objective", "dev_score")
    } == {
        "objective": numbers,
        "dev_score": numbers,
    }


# The curve.


def test_the_training_curve(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    model = crf(max_iterations=5, algorithm="lbfgs").fit(X, Y, X_dev=X, y_dev=Y)
    axes = model.plot_training(path=tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert axes.lines[0].get_ydata().tolist() == [done.objective for done in model.training_log_]
    right = axes.figure.axes[1]
    assert right.lines[0].get_ydata().tolist() == [100 * done.dev_score for done in model.training_log_]
    own = Figure().add_subplot()
    assert HMM(2, max_iterations=3).fit(X).plot_training(ax=own) is own
    assert (own.get_xlabel(), own.get_ylabel(), len(own.figure.axes)) == ("pass", "objective", 1)
    with pytest.raises(InputError, match=r"^training_log_: "):
        TrigramTagger().fit(X, Y).plot_training()


@pytest.mark.parametrize(
    "model",
    [
        crf(max_iterations=2, verbose=True),
        MEMM(features, max_iterations=2),
        MaxEnt(features, max_iterations=2),
        SemiCRF("english_ner", scheme="IOB2", max_iterations=2),
        HMM(verbose=True),
        HMM(random_state=None),
        TrigramTagger(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_fit_leaves_the_parameters_of_an_estimator_as_they_are(model: Any) -> None:
    before = model.get_params()
    y = [["B-N" if label == "N" else "O" for label in row] for row in Y] if isinstance(model, SemiCRF) else Y
    after = model.fit(X, y).get_params()
    assert all(after[name] is value for name, value in before.items())
