"""HMMs on tables: columns and groups, the names of hmmlearn, how many states there are."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import HMM
from tagline.errors import InputError
from tagline.readers.tabular import Table, groups_of, is_csv, read_csv

DAYS = np.repeat([0, 1, 0, 2, 0], 40)
X = np.array([[15.0, 8.0], [11.0, 30.0], [31.0, 6.0]])[DAYS] + np.random.default_rng(0).normal(size=(200, 2)) * [2, 3]
COLUMNS = {"place": ["A"] * 100 + ["B"] * 100, "warmth": X[:, 0].tolist(), "wind": X[:, 1].tolist()}
LENGTHS = [100, 100]


def pandas_frame(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_frame(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


FRAMES = {"table": Table.of, "pandas": pandas_frame, "polars": polars_frame}


@pytest.fixture(params=FRAMES)
def frame_of(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], Any]:
    return FRAMES[request.param]


def hmm(n_states: int = 3, **settings: Any) -> HMM:
    return HMM(n_states, emission="gaussian", **settings)


def test_a_frame_is_its_columns_and_groups(frame_of: Any, tmp_path: Path) -> None:
    frame = frame_of(COLUMNS)
    model, plain = hmm().fit(frame, groups="place"), hmm().fit(X, lengths=LENGTHS)
    np.testing.assert_array_equal(model.means_, plain.means_)
    assert model.feature_names_in_.tolist() == ["warmth", "wind"]
    turned = frame_of({name: COLUMNS[name] for name in ("wind", "place", "warmth")})  # another order, the same names
    model.save(tmp_path / "m.tagline")
    for other in (model, tagline.load(tmp_path / "m.tagline")):
        np.testing.assert_array_equal(other.predict(turned), plain.predict(X, LENGTHS))
        np.testing.assert_array_equal(other.log_likelihood(turned), plain.log_likelihood(X, lengths=LENGTHS))
    assert model.score(frame) == plain.score(X, lengths=LENGTHS)
    assert model.bic(frame) == plain.bic(X, LENGTHS)
    assert model.aic(frame) == plain.aic(X, LENGTHS)
    np.testing.assert_array_equal(model.predict_proba(frame), plain.predict_proba(X, LENGTHS))


def test_one_series_where_the_groups_are_not_there(frame_of: Any) -> None:
    model = hmm().fit(frame_of(COLUMNS), groups="place")
    bare = frame_of({name: COLUMNS[name] for name in ("warmth", "wind")})
    assert len(model.log_likelihood(bare)) == 1
    assert len(model.log_likelihood(bare, groups=COLUMNS["place"])) == 2
    assert len(model.log_likelihood(X, groups=COLUMNS["place"])) == 2


def test_a_column_has_the_states(frame_of: Any) -> None:
    named = {**COLUMNS, "weather": [["calm", "storm", "heat"][day] for day in DAYS]}
    model = hmm(None).fit(frame_of(named), y="weather", groups="place")
    assert model.labels_ == ["calm", "heat", "storm"]
    assert model.score(frame_of(named), y="weather", groups="place") == 1.0
    some = [day if n % 10 == 0 else None for n, day in enumerate(DAYS.tolist())]
    assert hmm(None).fit(frame_of({**COLUMNS, "day": some}), y="day", groups="place").labels_ == [0, 1, 2]


def test_holes_are_missing(frame_of: Any) -> None:
    holed = {**COLUMNS, "warmth": [None, *COLUMNS["warmth"][1:]]}
    numbers = X.copy()
    numbers[0, 0] = np.nan
    assert hmm().fit(frame_of(holed), groups="place").score(frame_of(holed)) == pytest.approx(
        hmm().fit(numbers, lengths=LENGTHS).score(numbers, lengths=LENGTHS), rel=1e-12
    )


def test_symbols_of_a_column(frame_of: Any) -> None:
    words = frame_of({"letter": list("abab"), "id": [1, 1, 2, 2]})
    model = HMM(2).fit(words, groups="id")
    assert model.log_likelihood(words).tolist() == model.log_likelihood([list("ab"), list("ab")]).tolist()
    assert HMM(2).fit(frame_of({"dice": [0, 5, 2, 5]})).emissionprob_.shape == (2, 3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_series_is_an_array(library: str) -> None:
    module: Any = pytest.importorskip(library)
    warmth, day = module.Series(X[:, 0].tolist()), module.Series(DAYS.tolist())
    np.testing.assert_array_equal(hmm().fit(warmth).means_, hmm().fit(X[:, 0]).means_)
    groups = module.Series(COLUMNS["place"])
    for observed in (warmth, module.DataFrame({"warmth": X[:, 0].tolist()})):
        model = hmm().fit(observed, groups=groups)
        assert len(model.log_likelihood(observed, groups=groups)) == 2
        np.testing.assert_array_equal(model.means_, hmm().fit(X[:, 0], lengths=LENGTHS).means_)
    assert hmm(None).fit(warmth, day).score(warmth, day) == hmm(None).fit(X[:, 0], DAYS).score(X[:, 0], DAYS)


def test_libraries_own_marks_of_missing_numbers() -> None:
    pandas: Any = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"count": pandas.array([1, None, 3, 2], dtype="Int64")})
    model = HMM(1, emission="poisson").fit(frame)
    assert model.lambdas_.tolist() == [[2.0]]


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "text": (
        lambda: hmm().fit(Table.of(COLUMNS)),
        r"^X: .*'place'",
    ),
    "apart": (
        lambda: hmm().fit(Table.of({"a": [1.0, 2.0, 3.0], "id": [1, 2, 1]}), groups="id"),
        r"^id: ",
    ),
    "no group": (
        lambda: hmm().fit(Table.of({"a": [1.0, 2.0], "id": [1, None]}), groups="id"),
        r"^id: ",
    ),
    "no such column": (lambda: hmm().fit(Table.of(COLUMNS), groups="id"), r"^X: .*'id'"),
    "groups of an array": (lambda: hmm().fit(X, groups="id"), r"^groups: .*'id'"),
    "both": (lambda: hmm().fit(X, groups=DAYS, lengths=[200]), r"^lengths, groups: "),
    "column lost": (
        lambda: hmm().fit(Table.of(COLUMNS), groups="place").predict(Table.of({"wind": [1.0]})),
        r"^X: ",
    ),
    "real numbers": (lambda: HMM(3).fit(X[:, 0]), r"^X: .*emission="),
    "lists of real numbers": (lambda: HMM(3).fit([[1.5, 2.5]]), r"^X: .*emission="),
    "vectors": (lambda: HMM(3).fit(X), r"^X: .*emission="),
    "counts": (lambda: HMM(3).fit(DAYS.reshape(-1, 2)), r"^X: .*emission="),
    "real columns": (
        lambda: HMM(3).fit(Table.of(COLUMNS), groups="place"),
        r"^X: .*emission=",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_tables_that_cannot_be_meant(name: str) -> None:
    door, place = WRONG[name]
    with pytest.raises(InputError, match=place):
        door()


# The names of hmmlearn.


def test_shapes_of_hmmlearn() -> None:
    K, D, M = 3, 2, 2
    for covariance in ("spherical", "diag", "full", "tied"):
        model = hmm(covariance=covariance).fit(X)
        assert model.means_.shape == (K, D)
        assert model.covars_.shape == (K, D, D)
        for k, variances in enumerate(model.emission_.variances()):
            np.testing.assert_array_equal(np.diag(model.covars_[k]), variances)
    mixed = HMM(K, emission="mixture", n_components=M).fit(X)
    assert (mixed.means_.shape, mixed.covars_.shape, mixed.weights_.shape) == ((K, M, D), (K, M, D), (K, M))
    np.testing.assert_array_equal(mixed.startprob_, mixed.start_)
    np.testing.assert_array_equal(mixed.transmat_, mixed.transitions_)
    assert not hasattr(mixed, "emissionprob_")
    words = HMM(2).fit([[0, 1, 2, 0]])
    np.testing.assert_allclose(words.emissionprob_.sum(axis=1), 1.0)
    assert not hasattr(words, "means_")
    with pytest.raises(AttributeError, match=r"^means_: "):
        _ = words.means_


def test_score_samples() -> None:
    model = hmm().fit(X, lengths=LENGTHS)
    total, posteriors = model.score_samples(X, LENGTHS)
    assert total == pytest.approx(model.score(X, lengths=LENGTHS), rel=1e-12)
    np.testing.assert_array_equal(posteriors, model.predict_proba(X, LENGTHS))


# How many states.


def test_select_finds_the_number_of_states(frame_of: Any, tmp_path: Path) -> None:
    selection = hmm(None).select(frame_of(COLUMNS), states=range(1, 6), criterion="bic", groups="place")
    assert selection.best_n_states_ == 3
    assert selection.best_.predict(frame_of(COLUMNS)).shape == (200,)
    rows = selection.as_dict()["candidates"]
    assert [row["states"] for row in rows] == [1, 2, 3, 4, 5]
    for row in rows:
        model = selection.models[row["states"]]
        assert row["bic"] == model.bic(frame_of(COLUMNS))
        assert row["log_likelihood"] == pytest.approx(model.score(frame_of(COLUMNS)), rel=1e-12)
    lines = repr(selection).splitlines()
    assert [line.startswith("→") for line in lines] == [False, False, False, True, False, False]
    ends = {line.index("converged") for line in lines[1:]}
    assert len(ends) == 1  # aligned
    assert selection._repr_html_().count("<tr") == 6


def test_probabilities_that_em_drove_to_0_were_free() -> None:
    model = hmm(4).fit(X)
    assert (model.transitions_ == 0).any()
    assert model.num_free_parameters() == 3 + 4 * 3 + 4 * 2 + 4 * 2
    assert hmm(4, topology="left-to-right").fit(X).num_free_parameters() == 0 + (3 + 2 + 1) + 16


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
def test_the_criteria_are_drawn(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    selection = hmm(None).select(X, states=(1, 2, 3), criterion="aic")
    axes = selection.plot(tmp_path / "states.png")
    assert (tmp_path / "states.png").stat().st_size > 1000
    assert axes.get_xlabel() == "states"
    mine = Figure().add_subplot()
    assert selection.plot(ax=mine) is mine
    assert len(mine.lines) == 3


@pytest.mark.parametrize(
    ("how", "place"),
    [
        ({"criterion": "icl"}, r"^criterion: .*'icl'"),
        ({"states": 3}, r"^states: "),
        ({"states": [0]}, r"^states: "),
        ({"states": [2, 2]}, r"^states: "),
        ({"states": []}, r"^states: "),
    ],
)
def test_selections_that_cannot_be_meant(how: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        hmm(None).select(X, **how)


# Files.


def test_csv_files(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('day;warmth;note\nMo;1.5;"a;b"\nTu;NA;\n', encoding="utf-8")
    table = read_csv(path)
    assert table.names == ("day", "warmth", "note")
    assert table["day"].tolist() == ["Mo", "Tu"]
    assert table["note"].tolist() == ["a;b", None]
    np.testing.assert_array_equal(table["warmth"], [1.5, np.nan])
    path.write_text("1,2\n3,4\n", encoding="utf-8")
    assert read_csv(path).names == ("0", "1")
    assert read_csv(path)["0"].tolist() == [1.0, 3.0]
    for text, place in (
        ("a,b\n1\n", r"a\.csv:2: "),
        ("a,a\n1,2\n", r"a\.csv: .*'a'"),
        ("\n", r"a\.csv: .*columns"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=place):
            read_csv(path)
    assert is_csv("x.TSV.gz")
    assert not is_csv("x.txt")
    assert groups_of([3, 3, 1]).tolist() == [2, 1]
