"""Bundles: attributes that come together are added up once, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import compiled
from tagline.features.attributes import Attributes, Features
from tagline.features.weights import structure_of
from tagline.ragged import offsets_of
from tagline.readers.rules import Rules
from tagline.training.lanes import Tree, branches, lane_offsets
from tagline.training.likelihood import Likelihood, Part, Targets
from tests.training.problems import Problem
from tests.training.test_lanes import cut

TRIOS = 60  # what leads a bundle
WORDS = 400


def overlapping(
    seed: int, *, L: int = 22, sentences: int = 160, labels: str = "mixed", odd: bool = False, edges: bool = False
) -> Problem:
    """Tokens with a word and a trio that determines four more attributes, one of which some tokens have twice.

    Labels are "mixed" for attributes with few labels and with many, "sure" where the trio says the label: cells only.
    With `odd`, some tokens have fewer attributes or more, and some sentences have no tokens.
    """
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0 if odd else 1, 30, sentences)
    N = int(lengths.sum())
    trio = np.minimum(rng.geometric(0.06, N), TRIOS) - 1
    word = rng.integers(0, WORDS, N)
    parts = [WORDS + trio]
    for first, part in ((60, trio // 2), (100, trio // 3), (140, trio % 4 + trio // 8 * 4), (180, trio // 3)):
        parts.append(WORDS + first + part)
    parts[-1] = np.where(trio % 5 == 0, parts[-2], parts[-1])  # the same attribute twice
    ids = np.column_stack([parts[1], word, parts[0], *parts[2:]]).astype(np.int32)
    widths = np.full(N, 6)
    if odd:
        widths = rng.choice([6, 6, 6, 6, 5, 0], N)
    kept = np.arange(6) < widths[:, None]
    states = Attributes(offsets_of(widths), ids[kept])
    sure = trio * L // TRIOS
    gold = sure if labels == "sure" else np.where(rng.random(N) < 0.7, sure, rng.integers(0, L, N))
    edge = Attributes(offsets_of(np.full(N, 1)), rng.integers(0, 4, N).astype(np.int32)) if edges else None
    features = Features(offsets_of(lengths), states, edge)
    gold = gold.astype(np.int32)
    structure = structure_of(
        features, gold, L, WORDS + 220, num_edges=4 if edges else 0, all_states=labels == "all", start=True, end=True
    )
    return Problem(structure, features, Targets(gold), None)


def pair(problem: Problem, precision: str = "float32", **how: Any) -> tuple[Likelihood, Likelihood]:
    """The likelihood with bundles and without."""
    made = [
        Likelihood(problem.structure, problem.features, problem.targets, problem.rules, precision, bundles=on, **how)
        for on in (True, False)
    ]
    assert made[0].core.bundles > 0
    assert made[1].core.bundles == 0
    return made[0], made[1]


def with_rules(problem: Problem) -> Problem:
    L, gold = problem.structure.num_labels, problem.targets.labels
    follow = np.random.default_rng(0).random((L, L)) < 0.3
    follow[gold[:-1], gold[1:]] = True
    return replace(problem, rules=Rules(follow, np.ones(L, bool), np.ones(L, bool)))


def with_weights(problem: Problem) -> Problem:
    weights = np.random.default_rng(0).random(problem.features.num_sentences) * 3
    return replace(problem, targets=replace(problem.targets, weights=weights))


def with_sets(problem: Problem) -> Problem:
    rng = np.random.default_rng(0)
    gold, L = problem.targets.labels, problem.structure.num_labels
    allowed = rng.random((len(gold), L)) < 0.2 * (rng.random(len(gold)) < 0.3)[:, None]
    allowed[np.arange(len(gold)), gold] = True
    shown = np.where(allowed.sum(axis=1) > 1, -1, gold).astype(np.int32)
    return replace(problem, targets=Targets(shown, allowed))


def with_triples(problem: Problem) -> Problem:
    gold = problem.targets.labels
    triples = np.unique(np.column_stack([gold[:-2], gold[1:-1], gold[2:]]), axis=0).astype(np.int32)
    return replace(problem, structure=replace(problem.structure, triples=triples))


def with_exceptions(problem: Problem) -> Problem:
    """Tokens that the sample does not see, every second one at most, where a trio comes with something else."""
    states = problem.features.states
    assert len(states.ids) // 6 >= 2 * 4096
    ids = states.ids.copy()
    ids[3 + 6 * 101 :: 6 * 14] = WORDS + 101
    states = replace(states, ids=ids)
    features = replace(problem.features, states=states)
    gold, s = problem.targets.labels, problem.structure
    structure = structure_of(features, gold, s.num_labels, s.num_attributes, start=True, end=True)
    return Problem(structure, features, problem.targets, None)


CASES = {
    "mixed": lambda: overlapping(0),
    "cells only": lambda: overlapping(1, labels="sure"),
    "rows only": lambda: overlapping(2, labels="all"),
    "9 labels": lambda: overlapping(3, L=9),
    "44 labels": lambda: overlapping(4, L=44),
    "odd tokens": lambda: overlapping(5, odd=True),
    "edges": lambda: overlapping(6, L=5, edges=True),
    "forbidden": lambda: with_rules(overlapping(7)),
    "weights": lambda: with_weights(overlapping(8)),
    "label sets": lambda: with_sets(overlapping(9)),
    "exceptions": lambda: with_exceptions(overlapping(11, sentences=700)),
    "second order": lambda: with_triples(overlapping(10, L=5)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-12), ("float32", 2e-6)])
def test_nothing_else_changes(case: str, precision: str, tolerance: float) -> None:
    problem = CASES[case]()
    bundled, plain = pair(problem, precision)
    w = np.random.default_rng(1).normal(size=plain.size)
    for ask in (Likelihood.__call__, lambda likelihood, w: (0.0, likelihood.curvature(w))):
        value, slope = ask(bundled, w)
        expected, expected_slope = ask(plain, w)
        np.testing.assert_allclose(value, expected, rtol=tolerance)
        np.testing.assert_allclose(slope, expected_slope, rtol=0, atol=tolerance * np.abs(expected_slope).max())


def test_a_local_model_keeps_its_gradient() -> None:
    bundled, plain = pair(overlapping(0), "float64", local=True)
    w = np.random.default_rng(1).normal(size=plain.size)
    np.testing.assert_allclose(bundled(w)[1], plain(w)[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("cpu", compiled.supported_cpus())
def test_every_instruction_set(cpu: str) -> None:
    before = compiled.cpu()
    try:
        compiled.use_cpu(cpu)
        bundled, plain = pair(overlapping(0))
        w = np.random.default_rng(1).normal(size=plain.size)
        np.testing.assert_allclose(bundled(w)[1], plain(w)[1], rtol=0, atol=2e-4)
    finally:
        compiled.use_cpu(before)


def test_fewer_visits() -> None:
    """Tokens of a bundle visit one row; the word and rare tuples are left as they are."""
    problem = overlapping(0, labels="all")
    states, core = problem.features.states, compiled.core
    assert core is not None
    structure = problem.structure
    layout = core.Layout(structure.num_labels, structure.state_offsets, structure.state_labels)
    offsets, rows, _, cells, member_offsets, members, _, _, counts = layout.bundle(states.offsets, states.ids, 10**6)
    assert len(rows) < 0.5 * len(states.ids)
    assert len(cells) == 0
    assert (np.diff(offsets) >= 2).all()
    assert (np.diff(member_offsets) == 5).all()
    assert counts.min() >= 16
    assert len(rows) == len(states.ids) - 4 * counts.sum()
    occurrences = np.bincount(rows[rows >= 10**6] - 10**6, minlength=len(counts))
    np.testing.assert_array_equal(occurrences, counts)
    assert (np.bincount(members, minlength=layout.rows) > 1).any()  # an attribute of several bundles


@pytest.mark.parametrize(
    "change",
    [
        lambda f: replace(f, states=replace(f.states, values=np.ones(len(f.states.ids), np.float32))),
        lambda f: replace(f, states=replace(f.states, ids=np.random.default_rng(0).permutation(f.states.ids))),
    ],
    ids=["values", "nothing in common"],
)
def test_where_there_are_none(change: Any) -> None:
    problem = overlapping(0)
    assert Likelihood(problem.structure, problem.features, problem.targets).core.bundles > 0
    features = change(problem.features)
    assert Likelihood(problem.structure, features, problem.targets).core.bundles == 0


def test_few_tokens_have_none() -> None:
    problem = overlapping(0, sentences=20)
    assert Likelihood(problem.structure, problem.features, problem.targets).core.bundles == 0


def test_an_empty_lane() -> None:
    problem = overlapping(0)
    B = problem.features.num_sentences
    w = np.random.default_rng(1).normal(size=problem.structure.size)
    expected = Likelihood(problem.structure, problem.features, problem.targets, precision="float64")(w)
    for lanes in ([0, 0, B], [0, B, B], [0, 0, B, B, B]):
        bundled, _ = pair(problem, "float64", part=Part(np.array(lanes)))
        np.testing.assert_allclose(bundled(w)[1], expected[1], rtol=0, atol=1e-10)


def test_same_bytes_for_any_number_of_threads() -> None:
    problem = overlapping(3, sentences=1200)
    before, results = tagline.threads(), []
    part = Part(lane_offsets(problem.features.offsets, 8))
    try:
        for threads in (1, 2, 3):
            tagline.set_threads(threads)
            bundled, _ = pair(problem, part=part)
            value, gradient = bundled(np.linspace(-1, 1, bundled.size))
            results.append((value, gradient.tobytes()))
    finally:
        tagline.set_threads(before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("cuts", [(0, 5, 16), (0, 3, 4, 11, 16)])
def test_parts_have_the_bits_of_the_whole(precision: str, cuts: tuple[int, ...], tmp_path: Path) -> None:
    """Sixteen lanes are more than are held at once, and a part may begin at any of them."""
    problem = overlapping(4, L=9, sentences=1600)
    f, lanes = problem.features, 16
    offsets = lane_offsets(f.offsets, lanes)
    whole, _ = pair(problem, precision, part=Part(offsets))
    w = np.random.default_rng(2).normal(size=whole.size)
    counts = np.bincount(f.states.ids, minlength=problem.structure.num_attributes).astype(np.int64)
    tree, found = Tree(lanes), 0
    for first, last in pairwise(cuts):
        features, targets = cut(problem, offsets[first], offsets[last])
        part = Part(offsets[first : last + 1] - offsets[first], counts, f.num_tokens)
        folder = tmp_path / str(first)
        folder.mkdir()
        likelihood = Likelihood(problem.structure, features, targets, None, precision, folder, part=part)
        found += likelihood.core.bundles
        for branch in branches(first, last):
            tree.add(branch, likelihood.core.expected(w, False, branch.first - first, branch.count))
    assert found == whole.core.bundles
    value, gradient = tree.total
    expected = whole(w)
    assert value == expected[0]
    assert (gradient - whole.core.observed()).tobytes() == expected[1].tobytes()


def test_a_scratch_folder_changes_no_bit(tmp_path: Path) -> None:
    problem = overlapping(0, sentences=300)
    part = Part(lane_offsets(problem.features.offsets, 2))
    held, _ = pair(problem, part=part)
    mapped = Likelihood(problem.structure, problem.features, problem.targets, scratch=tmp_path, part=part)
    assert sorted(tmp_path.glob("bundled-1-*"))
    w = np.random.default_rng(1).normal(size=held.size)
    assert mapped.core.bundles == held.core.bundles
    assert mapped(w)[0] == held(w)[0]
    assert mapped(w)[1].tobytes() == held(w)[1].tobytes()


def test_float32_sums_keep_their_digits() -> None:
    """A bundle of thousands of tokens, whose marginals are nearly 1, is summed in float64 now and then."""
    problem = overlapping(0, L=9, sentences=6000, labels="sure")
    gold = problem.targets.labels
    bundled, plain = pair(problem)
    exact = Likelihood(problem.structure, problem.features, problem.targets, precision="float64", bundles=False)
    w = np.zeros(exact.size)
    w[: problem.structure.parts["states"].stop] = 1.5  # attributes of a token know one label: its own
    assert exact(w)[0] < 0.2 * len(gold)
    wide = exact(w)[1]
    error, before = (np.linalg.norm(likelihood(w)[1] - wide) for likelihood in (bundled, plain))
    assert error <= before
    assert error <= 2e-7 * len(gold)


def test_an_evaluation_leaves_nothing_behind() -> None:
    problem = with_sets(overlapping(9))
    bundled, _ = pair(problem)
    w = np.random.default_rng(1).normal(size=bundled.size)
    expected = bundled(w)
    bundled(100 * w)
    again = bundled(w)
    assert again[0] == expected[0]
    assert again[1].tobytes() == expected[1].tobytes()


def test_wrong_lists_are_refused() -> None:
    problem = overlapping(0)
    s, f, core = problem.structure, problem.features, compiled.core
    assert core is not None
    bundled, _ = pair(problem)
    layout = core.Layout(s.num_labels, s.state_offsets, s.state_labels)
    moves = core.Moves(
        s.num_labels, s.transitions, s.edge_offsets, s.edge_pairs, s.start, s.end, None, None, None, False, s.triples
    )
    placed = layout.place(f.states.offsets, f.states.ids, None)
    examples = core.Examples(layout, moves, f.offsets, placed, None, problem.targets.labels, None, None, None)
    lanes = np.array([0, f.num_sentences])
    first = core.Likelihood32.first_bundle(layout, 1, 0)
    lists = list(layout.bundle(f.states.offsets, f.states.ids, first))
    made = core.Likelihood32(layout, moves, examples, lanes, None, 0, [tuple(lists)])
    assert made.bundles == bundled.core.bundles

    def refused(place: str, wrong: list[Any]) -> None:
        with pytest.raises(ValueError, match=place):
            core.Likelihood32(layout, moves, examples, lanes, None, 0, wrong)

    def with_part(place: int, array: Any) -> list[Any]:
        return [tuple(array if at == place else part for at, part in enumerate(lists))]

    refused(r"^bundled: ", [])
    refused(r"^bundled: .*Layout\.bundle", [tuple(lists[:-1])])
    refused(r"^row offsets: ", with_part(0, lists[0][:-1]))
    refused(r"^rows: ", with_part(1, lists[1] + np.uint32(len(lists[8]))))
    refused(r"^cells: ", with_part(3, lists[3] + np.uint32(layout.cells)))
    refused(r"^row offsets: ", with_part(4, lists[4] + 1))
    refused(r"^rows: ", with_part(5, np.full_like(lists[5], first)))  # a bundle of bundles
    refused(r"^counts: ", with_part(8, lists[8].astype(np.int32)))
    with pytest.raises(ValueError, match=r"^lane: "):
        core.Likelihood32.first_bundle(layout, 2, 2)
