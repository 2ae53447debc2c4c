"""How training is told: guesses of the time left, and lines where nothing can be redrawn."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tagline.cli.progress import Bar, Lines, Silent, reporting, seconds_left
from tagline.training.iteration import Step
from tagline.training.running.progress import Budget


def passes(objectives: list[float], pace: float = 2.0) -> list[Step]:
    return [
        Step(n, value, 0.1, dev_score=0.5, seconds=pace * n, metrics={"active": 10, "evaluations": n})
        for n, value in enumerate(objectives, 1)
    ]


def test_nothing_is_guessed_from_nothing() -> None:
    assert seconds_left([], Budget(passes=9)) is None
    assert seconds_left(passes([3.0, 2.0]), Budget()) is None
    assert seconds_left(passes([100.0 + n for n in range(30)]), Budget()) is None, "an objective that rises"


def test_limits_are_known() -> None:
    assert seconds_left(passes([3.0, 2.0]), Budget(passes=10)) == 16.0
    assert seconds_left(passes([3.0, 2.0]), Budget(passes=10, seconds=5.0)) == 1.0
    assert seconds_left(passes([3.0, 2.0]), Budget(seconds=1.0)) == 0.0, "never negative"


@pytest.mark.parametrize("ratio", [0.7, 0.9])
def test_an_objective_that_settles_geometrically_is_foreseen(ratio: float) -> None:
    """f_k = 1000 + 500·ratio^k: the guess at every pass against the pass at which the rule really stops."""
    budget = Budget(period=10, delta=1e-5)
    values = [1000.0 + 500.0 * ratio**k for k in range(400)]
    end = next(k for k in range(10, 400) if abs(values[k - 10] - values[k]) < budget.delta * abs(values[k]))
    for k in range(30, end):
        left = seconds_left(passes(values[: k + 1]), budget)
        assert left == pytest.approx(2.0 * (end - k), rel=0.1, abs=2.0)


def test_lines_come_seldom() -> None:
    out = io.StringIO()
    now = [0.0]
    lines = Lines(Console(file=out), Budget(passes=100), every_pass=False, clock=lambda: now[0])
    for done in passes([100.0 / n for n in range(1, 31)]):
        lines.passed(done)
    assert [line.split()[1] for line in out.getvalue().splitlines()] == ["1", "2", "5", "10", "20"]
    assert "pass 5  objective 20.00  dev 50.00  10 s  about 3 min 10 s left" in out.getvalue()
    now[0] = 11.0
    lines.passed(passes([1.0] * 33)[-1])
    assert out.getvalue().splitlines()[-1].startswith("pass 33 ")


def test_a_terminal_gets_one_line_that_goes_away() -> None:
    out = io.StringIO()
    bar = Bar(Console(file=out, force_terminal=True, width=80), Budget(passes=9))
    bar.stage("reading [x].txt")
    bar.bar.refresh()
    bar.passed(passes([3.0, 2.0])[1])
    bar.bar.refresh()
    bar.say("learning [from] it")
    bar.finish()
    assert "reading [x].txt" in out.getvalue()
    assert "pass 2  objective 2.00  dev 50.00  about 14 s left" in out.getvalue()
    assert "learning [from] it" in out.getvalue()


def epochs(first: int, last: int, pace: float = 2.0) -> list[Step]:
    return [
        Step(n, 3.0 / n, 1.0, None, 0.5, pace * n, {"rate": 1e-3, "tokens_per_second": 100.0}, "epoch")
        for n in range(first, last + 1)
    ]


def test_the_time_left_of_a_network() -> None:
    assert seconds_left(epochs(1, 1), Budget(passes=10, period=0)) == 18.0
    assert seconds_left(epochs(4, 4), Budget(passes=10, period=0)) == 12.0, "resumed in the fourth epoch"
    assert seconds_left(epochs(4, 9), Budget(passes=10, period=0)) == 2.0
    assert seconds_left(epochs(1, 30), Budget(passes=30)) == 0.0


def test_each_epoch_of_a_network_has_a_line() -> None:
    for every, first in (
        (False, "epoch 3 of 9  loss 1.0000  dev 50.00  100 tokens/s  6 s  about 12 s left"),
        (True, f"{epochs(3, 3)[0].line()}  about 12 s left"),
    ):
        out = io.StringIO()
        lines = Lines(Console(file=out), Budget(passes=9, period=0), every_pass=every)
        for done in epochs(3, 8):
            lines.stepped(1, 2, 0.5)
            lines.passed(done)
        assert len(out.getvalue().splitlines()) == 6
        assert out.getvalue().splitlines()[0] == first


def test_a_terminal_has_a_bar_within_epochs_and_keeps_their_lines() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    bar = Bar(console, Budget(passes=9, period=0))
    for done in epochs(1, 2):
        for step in (1, 4):
            bar.stepped(step, 4, 0.25)
            bar.bar.refresh()
        bar.passed(done)
    bar.stage("saving")
    bar.bar.refresh()
    bar.finish()
    frames = [line.split("\x1b[2K")[-1] for line in out.getvalue().replace("\n", "\r").split("\r")]
    assert any("training  loss 0.2500 ━━━━━━" in frame for frame in frames)
    assert any("epoch 2  loss 0.2500 ━━━━━━" in frame for frame in frames), "known once one is done"
    assert any(frame.startswith("epoch 1 of 9  loss 3.0000") for frame in frames)
    assert any(frame.startswith("epoch 2 of 9  loss 1.5000") for frame in frames)
    assert not any("saving" in frame and "━" in frame for frame in frames)
    assert not bar.bar.finished


def test_the_way_of_telling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with reporting(quiet=True) as tell:
        assert isinstance(tell, Silent)
    with reporting() as tell:
        assert isinstance(tell, Lines)
