"""Lists of legal pairs: the oracle's and the definition's tests again, with the core made to use lists wherever it can.

The core chooses lists itself where few pairs are legal; the second half of this file draws such chains.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tagline import Chain, NoPathError, compiled
from tagline.chain import naive
from tagline.readers.rules import legal
from tagline.types import BoolArray

from . import test_consistency, test_engines, test_nonmixing, test_oracle
from .cases import assert_close

native = pytest.importorskip("tagline.chain.native")
core = pytest.importorskip("tagline._core")

BEST = compiled.supported_cpus()[-1:]


@pytest.fixture(params=[f"native-{variant}" for variant in BEST])
def engine(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The core, with lists wherever they are possible."""
    before = compiled.cpu()
    assert before is not None
    compiled.use_cpu(request.param.partition("-")[2])
    core.use_pair_lists("always")
    yield native
    core.use_pair_lists("auto")
    compiled.use_cpu(before)


test_log_partition = test_oracle.test_log_partition
test_forward = test_oracle.test_forward
test_backward = test_oracle.test_backward
test_marginals = test_oracle.test_marginals
test_best_path = test_oracle.test_best_path_of_exact_scores_is_the_smallest_from_its_end
test_best_path_of_real_scores = test_oracle.test_best_path_of_real_scores
test_k_best = test_oracle.test_k_best_of_exact_scores
test_entropy = test_oracle.test_entropy
test_expected_counts = test_oracle.test_expected_counts
test_gradients = test_oracle.test_gradients
test_span_probability = test_oracle.test_span_probability
test_corner_sizes = test_oracle.test_corner_sizes

apart = test_nonmixing.apart
test_log_z_where_labels_do_not_mix = test_nonmixing.test_log_z
test_marginals_where_labels_do_not_mix = test_nonmixing.test_marginals
test_gradients_where_labels_do_not_mix = test_nonmixing.test_gradients
test_decisions_where_labels_do_not_mix = test_nonmixing.test_decisions

ragged = test_consistency.ragged
test_a_batch_does_not_change_a_token = test_consistency.test_a_batch_does_not_change_a_token
test_a_batch_does_not_change_a_sentence = test_consistency.test_a_batch_does_not_change_a_sentence


def bioes(types: int, interleaved: bool) -> list[str]:
    names = ["O", *(f"{prefix}-T{number:03}" for number in range(types) for prefix in "BIES")]
    return names if interleaved else sorted(names)


def legal_pairs(kind: str) -> BoolArray:
    """Patterns ``[L, L]`` of few legal pairs: with structure and without, with dead ends and labels nobody enters."""
    rng = np.random.default_rng(5)
    if kind.startswith("BIOES"):
        return legal(bioes(20, "mixed" in kind), "BIOES").transitions
    L = {"a few": 70, "one in a hundred": 130, "a cycle": 65}[kind]
    allowed = rng.random((L, L)) < {"a few": 0.05, "one in a hundred": 0.01, "a cycle": 0.0}[kind]
    allowed[np.arange(L), np.roll(np.arange(L), 1)] = True
    if kind == "a few":
        allowed[3] = False  # a dead end
        allowed[:, 7] = False  # only a sentence can begin with it
    return allowed


def draw(kind: str, dtype: str, scale: float = 2.0) -> Chain:
    allowed, rng = legal_pairs(kind), np.random.default_rng(6)
    L, lengths = len(allowed), [1, 2, 30, 0, 7, 3, 1, 12]
    emissions = rng.normal(0, scale, (sum(lengths), L)).astype(dtype)
    transitions = np.where(allowed, rng.normal(0, 1, (L, L)), -np.inf).astype(dtype)
    return Chain(emissions, transitions, offsets=np.cumsum([0, *lengths]))


KINDS = ["BIOES", "BIOES, mixed", "a few", "one in a hundred", "a cycle"]


@cache
def defined(kind: str, dtype: str, scale: float) -> tuple[Chain, Any, Any, Any, Any]:
    """A chain and what the definition says of it: marginals, best path, gradients, entropy."""
    chain = draw(kind, dtype, scale)
    best = naive.viterbi(chain)
    return (
        chain,
        naive.marginals(chain, edges=True),
        best,
        naive.gradients(chain, best.labels),
        naive.entropy(chain),
    )


@pytest.mark.parametrize("cpu", compiled.supported_cpus())
@pytest.mark.parametrize("scale", [2.0, 40.0], ids=["mild", "wide"])
@pytest.mark.parametrize("kind", KINDS)
def test_few_legal_pairs(kind: str, scale: float, dtype: str, cpu: str) -> None:
    """Against the definition, and against the core's own way with matrices."""
    (chain, truth, best, slopes, entropy), before = defined(kind, dtype, scale), compiled.cpu()
    assert before is not None
    bar = 1e-10 if dtype == "float64" else 4e-6
    compiled.use_cpu(cpu)
    try:
        for when in ("auto", "never"):
            core.use_pair_lists(when)
            found = native.marginals(chain, edges=True)
            assert_close(found.log_z, truth.log_z, bar * np.maximum(1, np.abs(truth.log_z)), "log Z")
            assert_close(found.nodes, truth.nodes, bar, "nodes")
            assert_close(found.edges, truth.edges, bar, "edges")
            assert native.viterbi(chain).labels.tolist() == best.labels.tolist()
            gradients = native.gradients(chain, best.labels)
            assert_close(gradients.transitions, slopes.transitions, 8 * bar, "gradients of transitions")
            assert_close(gradients.emissions, slopes.emissions, bar, "gradients of emissions")
            assert not gradients.transitions[np.isneginf(chain.transitions)].any()
            assert_close(native.entropy(chain), entropy, 1e-9, "entropy")
    finally:
        core.use_pair_lists("auto")
        compiled.use_cpu(before)


@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_threads(kind: str, dtype: str) -> None:
    """The same bits, and for a sentence by itself, too."""
    chain, before = draw(kind, dtype), core.threads()
    answers = []
    try:
        for threads in (1, 2, 3):
            core.set_threads(threads)
            counts = native.expected_counts(chain)
            answers.append((counts.emissions.tobytes(), counts.transitions.tobytes(), counts.start.tobytes()))
    finally:
        core.set_threads(before)
    assert len(set(answers)) == 1
    alone = Chain(chain.emissions[3:33], chain.transitions)
    assert native.marginals(alone).nodes.tobytes() == native.marginals(chain).nodes[3:33].tobytes()


def test_a_sentence_without_a_labelling(dtype: str) -> None:
    chain = draw("a few", dtype)
    trapped = np.full((2, chain.num_labels), -np.inf, dtype)
    trapped[0, 3] = trapped[1, 4] = 0  # the dead end, then whatever
    chain = Chain(np.concatenate([chain.emissions[3:33], trapped]), chain.transitions, offsets=[0, 30, 32])
    log_z = native.log_partition(chain, allow_no_path=True)
    assert np.isfinite(log_z[0])
    assert np.isneginf(log_z[1])
    for query in (native.viterbi, native.marginals, native.expected_counts, lambda c: native.k_best(c, 2)):
        with pytest.raises(NoPathError, match=r"^sentence 1: "):
            query(chain)


def test_the_choice_is_remembered_for_a_pattern_and_not_for_its_scores() -> None:
    """Other scores on the same pairs, then one more legal pair."""
    first = draw("a few", "float64")
    second = Chain(first.emissions, first.transitions * 0.5, offsets=first.offsets)
    more = first.transitions.copy()
    more[3, 11] = 0.25
    third = Chain(first.emissions, more, offsets=first.offsets)
    for chain in (first, second, third, first):
        assert_close(native.log_partition(chain), naive.log_partition(chain), 1e-9)


def test_engines_with_lists(engine: ModuleType, dtype: str) -> None:
    """All queries of `test_engines` at a size of several vectors."""
    for kind in ("forbidden", "free", "integers"):
        sized = test_engines.case_of(kind, 65, dtype), test_engines.definition_of(kind, 65, dtype)
        test_engines.test_sums_equal_the_definition(engine, sized)
        test_engines.test_choices_equal_the_definition(engine, sized)
