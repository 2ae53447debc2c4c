"""`check_gradients` passes true gradients, and no other: wrong numbers, NaN, wrong shapes, steps that are too small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tagline import Chain, InputError, chain
from tagline.chain import GradientCheck, check_gradients
from tagline.chain.naive import chain_from_log_potentials, gradient_linear
from tagline.types import Float64Array

from .golden import GOLDEN

A: Any = GOLDEN["doc000_A"]
X = np.array([[0.3, -1.2], [2.0, 0.0]])


def cubes(x: Float64Array) -> float:
    return float((x**3 + x[0, 0] * x).sum())


def slope(x: Float64Array) -> Float64Array:
    gradient = 3 * x**2 + x[0, 0]
    gradient[0, 0] += x.sum()
    return gradient


def test_a_true_gradient_passes() -> None:
    check = check_gradients(cubes, X, slope(X))
    assert check
    assert check.passed
    assert check.error <= check.bound
    np.testing.assert_allclose(check.numeric, slope(X), rtol=1e-8, atol=1e-9)
    assert check.analytic.tolist() == slope(X).tolist()
    assert str(check).startswith("passed: 4 derivatives, worst at [")
    assert repr(check) == f"GradientCheck({check})"


@pytest.mark.parametrize("where", list(np.ndindex(2, 2)))
@pytest.mark.parametrize("change", [1e-4, -1e-4, np.nan, np.inf, -np.inf])
def test_one_wrong_number_fails_and_is_named(where: tuple[int, int], change: float) -> None:
    gradient = slope(X)
    gradient[where] += change
    check = check_gradients(cubes, X, gradient)
    assert not check
    assert check.where == where
    assert f"worst at [{where[0]}, {where[1]}]" in str(check)
    if np.isfinite(change):
        assert check.error == pytest.approx(abs(change), rel=1e-4)


def test_a_wrong_sign_and_a_forgotten_factor_fail() -> None:
    assert not check_gradients(cubes, X, -slope(X))
    assert not check_gradients(cubes, X, slope(X) / 2)
    assert not check_gradients(cubes, X, slope(X).T)


def test_the_bound_is_absolute_plus_relative_to_the_difference() -> None:
    """|a − b| ≤ atol + rtol·|b|, b being the difference: 10 for a function of slope 10."""

    def line(x: Float64Array) -> float:
        return 10 * float(x[0])

    assert check_gradients(line, [0.0], [10.4], atol=0.25, rtol=0.02)
    assert not check_gradients(line, [0.0], [10.5], atol=0.25, rtol=0.02)
    assert check_gradients(line, [0.0], [10.4], atol=0.25, rtol=0.02).bound == pytest.approx(0.45)
    assert check_gradients(lambda x: 0.0, [1.0], [0.0], atol=0, rtol=0)
    assert not check_gradients(lambda x: 0.0, [1.0], [1e-300], atol=0, rtol=0)


def test_the_worst_place_is_that_which_exceeds_its_bound_most() -> None:
    """An error of 1e-3 beside a derivative of 1e6 is nothing; one of 1e-5 beside 0 is a mistake."""
    check = check_gradients(lambda x: float(1e6 * x[0]), [1.0, 1.0], [1e6 + 1e-3, 1e-5])
    assert check.where == (1,)
    assert not check


def test_a_step_grows_with_x_and_is_measured_after_rounding() -> None:
    assert check_gradients(lambda x: float(x[0] ** 2), [1e8], [2e8], rtol=1e-9)
    with pytest.raises(InputError, match=r"^step: "):
        check_gradients(lambda x: float(x[0]), [1.0], [1.0], step=1e-17)


def log_p(psi: Float64Array) -> Float64Array:
    sentence = chain_from_log_potentials(np.log(psi))
    return chain.score(sentence, A["inputs"]["seq"]) - chain.log_partition(sentence)


def test_a_step_that_drowns_in_rounding_is_said_to() -> None:
    """With 1e-10 the differences of a tutorial were multiples of 1.8e-5, and its right gradient seemed wrong."""
    psi = np.exp(np.array(A["inputs"]["log_psi"]))
    gradient = gradient_linear(A["inputs"]["seq"], psi)
    assert check_gradients(log_p, psi, gradient, rtol=0)
    small = check_gradients(log_p, psi, gradient, step=1e-10, rtol=0)
    assert not small
    quantum = GOLDEN["doc000_numeric_gradient_check"]["quantum_ulp_lnp_over_2delta"]
    assert quantum / np.e < small.noise < 1.0001 * quantum  # steps grow with ψ, which goes up to e
    assert f"; rounding alone makes {small.noise:.1e}: take a larger step" in str(small)
    wrong = check_gradients(log_p, psi, gradient + 1e-3)
    assert "rounding" not in str(wrong)


def test_a_forbidden_score_is_not_moved_and_has_no_slope() -> None:
    transitions = np.array([[0.5, -np.inf], [0.1, 0.2]])
    emissions = np.array([[0.1, 0.7], [0.3, 0.2], [1.0, 0.0]])

    def log_z(values: Float64Array) -> Float64Array:
        return chain.log_partition(Chain(emissions, values))

    counts = chain.expected_counts(Chain(emissions, transitions)).transitions
    check = check_gradients(log_z, transitions, counts)
    assert check
    assert check.numeric[0, 1] == 0.0
    counts = counts.copy()
    counts[0, 1] = 0.1
    assert not check_gradients(log_z, transitions, counts)


def test_nothing_of_the_caller_is_changed() -> None:
    x, gradient = X.copy(), slope(X)

    def greedy(values: Float64Array) -> float:
        value = cubes(values)
        values[...] = np.nan
        return value

    assert check_gradients(greedy, x, gradient)
    assert x.tolist() == X.tolist()
    assert gradient.tolist() == slope(X).tolist()


def test_a_number_has_a_gradient_too() -> None:
    check = check_gradients(lambda x: x * x, 3.0, 6.0)
    assert check
    assert check.where == ()
    assert isinstance(check, GradientCheck)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"gradient": [1.0]}, r"^gradient: "),
        ({"gradient": [[1.0, 2.0]]}, r"^gradient: "),
        ({"gradient": ["a", "b"]}, r"^gradient: "),
        ({"x": [1.0, np.nan]}, r"^x: "),
        ({"x": [1.0, np.inf]}, r"^x: "),
        ({"x": [], "gradient": []}, r"^x: "),
        ({"x": [[1.0], [1.0, 2.0]]}, r"^x: "),
        ({"function": lambda x: np.nan}, r"^function at x\[0\] \+1e-05: "),
        ({"function": lambda x: -np.inf}, r"^function at x\[0\] \+1e-05: "),
        ({"function": lambda x: x}, r"^function at x\[0\] \+1e-05: "),
        ({"function": lambda x: "one"}, r"^function at x\[0\] \+1e-05: "),
        ({"step": 0.0}, r"^step: "),
        ({"step": np.nan}, r"^step: "),
        ({"atol": -1.0}, r"^atol: "),
        ({"rtol": "small"}, r"^rtol: .*'small'"),
    ],
)
def test_what_cannot_be_checked_is_an_error(arguments: dict[str, Any], place: str) -> None:
    good: dict[str, Any] = {"function": lambda x: float(x.sum()), "x": [1.0, 2.0], "gradient": [1.0, 1.0]}
    assert check_gradients(**good)
    with pytest.raises(InputError, match=place):
        check_gradients(**{**good, **arguments})
