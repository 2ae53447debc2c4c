"""`CRF(order=2)`: what triples tell, files, pruning and what it costs, doors, the same bytes for any threads."""

from __future__ import annotations

import contextlib
import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import tagline
from tagline import CRF, MEMM, InputError, StorageError, compiled, storage
from tagline.chain.second_order import PairChain
from tagline.interop.formats import write_model
from tagline.models.comparison import compare
from tagline.models.crf.file import unpack
from tagline.models.crf.tagger import CRFTagger
from tagline.models.entities import Reading
from tagline.training.run import Run

X = [["Anna", "Smith", "lives", "in", "Rome"], ["Bob", "sees", "New", "York"], ["Rome", "calls"], ["Anna"], []] * 4
Y = [["B-PER", "I-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC", "I-LOC"], ["B-LOC", "O"], ["B-PER"], []] * 4
NEW = [["Bob", "Smith", "calls", "York"], ["Anna"], [], ["lives", "in", "New", "York"]]
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]\nB\n"
EDGES = TEMPLATE + "B01:%x[0,0:case]\n"


def fitted(template: str = TEMPLATE, **settings: Any) -> CRF:
    return CRF(template, scheme="IOB2", c2=0.5, start_end=True, order=2, **settings).fit(X, Y)


@pytest.fixture(scope="module", params=[0.0, 0.01], ids=["exact", "pruned"])
def model(request: pytest.FixtureRequest) -> CRF:
    return fitted(prune=request.param)


def test_triples_tell_what_pairs_cannot() -> None:
    """Labels go a a b a a b …, and no word says where: the label before alone leaves a b or a a after a."""
    labels = [["a", "a", "b"] * 4, ["a", "b", "a"] * 4, ["b", "a", "a"] * 4] * 10
    words = [["x"] * 12 for _ in labels]
    known = [[*row[:2], *[None] * 10] for row in labels]
    right = {}
    for order in (1, 2):
        crf = CRF("U00:%x[0,0]\nB\n", c2=0.01, order=order).fit(words, labels)
        right[order] = crf.predict(words, known=known) == labels
    assert right == {1: False, 2: True}


@pytest.mark.parametrize("template", [TEMPLATE, EDGES], ids=["pairs", "edges"])
def test_answers_by_enumeration(template: str) -> None:
    """Every answer about one sentence, from the weights of the tables and nothing else of the engine."""
    crf, words = fitted(template), ["Bob", "Smith", "York"]
    p, L = crf.parameters_, len(crf.labels_)
    triples = np.zeros((L, L, L))
    assert p.structure.triples is not None
    triples[tuple(p.structure.triples.T)] = p.part("triples").astype(np.float32)
    chain = next(crf._chains([words]))
    scores = {}
    for y in itertools.product(range(L), repeat=3):
        score = float(chain.start[y[0]]) + float(chain.end[y[2]]) + float(triples[y])
        for t, label in enumerate(y):
            matrix = chain.transitions[t] if chain.per_position else chain.transitions
            score += float(chain.emissions[t, label]) + (float(matrix[y[t - 1], label]) if t else 0.0)
        scores[y] = score
    log_z = np.logaddexp.reduce(list(scores.values()))
    p_of = {tuple(crf.labels_[label] for label in y): np.exp(score - log_z) for y, score in scores.items()}
    answer = crf.answer([words], marginals=True, spans=True, k_best=4)[0]
    assert tuple(answer.labels) == max(p_of, key=lambda y: p_of[y])
    np.testing.assert_allclose(crf.log_likelihood([words]), [log_z], rtol=1e-9)
    for t, label in itertools.product(range(3), range(L)):
        expected = sum(p for y, p in p_of.items() if y[t] == crf.labels_[label])
        np.testing.assert_allclose(answer.marginals[t, label], expected, rtol=1e-8, atol=1e-12)
    best = sorted(p_of.values(), reverse=True)[:4]
    np.testing.assert_allclose([ranked.probability for ranked in answer.k_best], best, rtol=1e-8)
    entropy = -sum(p * np.log(p) for p in p_of.values() if p > 0)
    np.testing.assert_allclose(crf.entropy([words]), [entropy], rtol=1e-8)
    reading = Reading.of(crf.labels_, "IOB2")
    for entity in answer.entities:
        total = 0.0
        for y, p in p_of.items():
            spans = reading.spans(np.array([crf.labels_.index(label) for label in y]), np.array([0, 3]))
            found = zip(spans.start, spans.end, spans.numbered(reading.types), strict=True)
            total += p * ((entity.start, entity.end, reading.types.index(entity.type)) in list(found))
        assert entity.probability == pytest.approx(total, rel=1e-8)
    assert answer.entities


def test_files_and_pickles_keep_it(model: CRF, tmp_path: Path) -> None:
    model.save(tmp_path / "one")
    loaded = tagline.load(tmp_path / "one")
    loaded.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (loaded.order, loaded.prune) == (2, model.prune)
    tagger = CRFTagger.from_file(storage.read(tmp_path / "one"))
    for other in (loaded, tagger, pickle.loads(pickle.dumps(model))):
        assert other.predict(NEW) == model.predict(NEW)
        for ours, theirs in zip(other.marginal_arrays(NEW), model.marginal_arrays(NEW), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
    assert clone(model).get_params()["order"] == 2


def test_damaged_files_are_refused(model: CRF) -> None:
    config, tensors = model._packed()
    L = len(model.labels_)
    wrong: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {"triples": tensors["triples"][::-1]}),
        ({}, {"triples": tensors["triples"] + np.uint8(L)}),
        ({}, {"triples": tensors["triples"][:, :2]}),
        ({}, {"triples": tensors["triples"][:-1]}),
        ({"prune": 0.9}, {}),
        ({"prune": -1.0}, {}),
        ({"prune": "0.1"}, {}),
        ({"prune": 0.0 if model.prune else 0.1}, {}),
        ({}, {"pruner": np.zeros(3, np.float32)}),
        ({}, {"pruner": np.full_like(tensors["weights"], np.nan)}),
    ]
    for settings, arrays in wrong:
        file = storage.loads(storage.dumps({**config, **settings}, {**tensors, **arrays}))
        with pytest.raises(StorageError):
            unpack(file)
    without = {name: array for name, array in tensors.items() if name != "triples"}
    with pytest.raises(StorageError):
        unpack(storage.loads(storage.dumps(config, without)))


def test_every_flipped_bit_is_refused_or_harmless(model: CRF) -> None:
    data = bytearray(storage.dumps(*model._packed()))
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(data), 150).tolist():
        data[place] ^= 1 << (place % 8)
        with contextlib.suppress(tagline.TaglineError):
            CRFTagger.from_file(storage.loads(bytes(data), verify=False)).marginal_arrays(NEW[:1])
        data[place] ^= 1 << (place % 8)


def test_a_file_of_order_1_does_not_know_of_orders(tmp_path: Path) -> None:
    crf = CRF(TEMPLATE, scheme="IOB2", c2=0.5).fit(X, Y)
    config, tensors = crf._packed()
    assert not {"order", "prune"} & {*config, *config["settings"]}
    assert not {"triples", "pruner"} & {*tensors}


def test_pruning_tells_what_it_costs() -> None:
    crf = fitted(prune=0.3)
    told = crf.pruning(X, Y)
    first = CRF(TEMPLATE, scheme="IOB2", c2=0.5, start_end=True, algorithm="sgd:passes=10").fit(X, Y)
    nodes = np.concatenate(first.marginal_arrays(X))
    left = nodes >= 0.3
    assert told.kept == pytest.approx(left.sum() / len(left))
    assert told.lost == pytest.approx(nodes[~left].sum() / len(left), rel=1e-4)
    gold = np.array([crf.labels_.index(label) for row in Y for label in row])
    assert told.gold_pruned == (~left[np.arange(len(gold)), gold]).sum()
    assert crf.pruning(X).gold_pruned is None
    assert "labels below 0.3 are pruned" in crf.notes_[-1]
    for row, kept in zip(np.concatenate(crf.marginal_arrays(X)), left, strict=True):
        assert (row[~kept] == 0).all()
    with pytest.raises(InputError, match=r"^pruning: "):
        fitted().pruning(X)


def test_known_labels_survive_pruning() -> None:
    crf = fitted(prune=0.4)
    known = [["I-PER" if n == 1 else None for n in range(4)], ["B-LOC"], [], [None] * 4]
    answers = crf.predict(NEW, known=known)
    assert answers[0][1] == "I-PER"
    assert answers[1] == ["B-LOC"]
    assert crf.log_likelihood([["Anna"]], [["B-LOC"]])[0] == -np.inf  # but of a labelling that was pruned it is 0


def test_labels_that_are_not_known_in_training() -> None:
    y = [[None if (b + t) % 4 == 0 else label for t, label in enumerate(row)] for b, row in enumerate(Y)]
    for prune in (None, 0.01):
        crf = CRF(TEMPLATE, scheme="IOB2", c2=0.5, order=2, prune=prune).fit(X, y)
        assert crf.score(X, Y) > 0.9


def test_dev_sets_stages_and_callbacks() -> None:
    seen: list[float] = []
    crf = CRF(
        TEMPLATE, scheme="IOB2", c2=0.5, order=2, prune=0.01, patience=3, callbacks=[lambda s: seen.append(s.dev_score)]
    )
    crf.fit(X, Y, X_dev=X, y_dev=Y)
    assert seen[-1] == pytest.approx(1.0)
    assert crf.training_.dev["f1"] == pytest.approx(1.0)
    staged = CRF(TEMPLATE, scheme="IOB2", c2=0.5, order=2, stages=2, max_iterations=5).fit(X[:20], Y[:20])
    assert staged.predict(NEW[:2])[0][0] == "B-PER"


def test_chains_are_over_pairs(model: CRF) -> None:
    pairs = list(model.chains(NEW))
    assert all(isinstance(chain, PairChain) for chain in pairs)
    assert [chain.num_tokens for chain in pairs] == [4, 1, 0, 4]


def test_the_same_bytes_for_any_number_of_threads() -> None:
    before, files = compiled.threads(), []
    for threads in (1, 2):
        compiled.set_threads(threads)
        files.append(storage.dumps(*fitted(prune=0.01)._packed()))
    compiled.set_threads(before)
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"order": 3}, "order: expected .* 2, got 3"),
        ({"order": 1, "prune": 0.1}, "prune: expected None beside order=1"),
        ({"prune": 0.7}, "prune: expected a number"),
        ({"algorithm": "ap"}, "algorithm: expected one of auto, lbfgs, owlqn, sgd, gd beside order=2"),
        ({"warm_start": True}, "warm_start: expected False beside order=2"),
    ],
)
def test_what_it_does_not_have_is_refused(settings: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        CRF(TEMPLATE, **{"order": 2, **settings}).fit(X, Y)


def test_doors_that_are_closed() -> None:
    with pytest.raises(InputError, match=r"^order: "):
        MEMM(TEMPLATE, order=2).fit(X, Y)
    with pytest.raises(InputError, match=r"^order: .*partial_fit"):
        CRF(TEMPLATE, order=2).partial_fit(X, Y)
    first = CRF(TEMPLATE).fit(X, Y)
    with pytest.raises(InputError, match=r"^teacher: .*order="):
        CRF(TEMPLATE, order=2).fit(X, Y, teacher=first)


def test_other_tools_and_tables_do_not_lose_triples(tmp_path: Path) -> None:
    crf = CRF(TEMPLATE, c2=0.5, order=2, scheme=None, max_iterations=5).fit(X, Y)
    for form in ("crfsuite", "crfpp", "wapiti"):
        with pytest.raises(InputError, match=r"^model: "):
            write_model(crf, tmp_path / "model", form)
    with pytest.raises(InputError, match=r"^weights: "):
        crf.weights_table()
    with pytest.raises(InputError, match=r"^weights: "):
        crf.with_weights([])
    first = CRF(TEMPLATE, c2=0.5, max_iterations=5).fit(X, Y)
    assert compare(crf, first).unit == "arrays"


@pytest.mark.parametrize("prune", [None, 0.01])
@pytest.mark.parametrize(("algorithm", "first"), [("auto", 25), ("lbfgs", 6)])
def test_a_run_goes_on_with_another_limit(algorithm: str, first: int, prune: float | None, tmp_path: Path) -> None:
    def run(limit: int, **files: Any) -> CRF:
        crf = CRF(TEMPLATE, scheme="IOB2", c2=0.5, order=2, algorithm=algorithm, prune=prune, max_iterations=limit)
        return crf.fit(X, Y, **files)

    path, whole = tmp_path / "run", run(first + 2)
    assert run(first, checkpoint=path).stop_reason_ == "max_iterations"
    again = run(first + 2, checkpoint=path, resume=True)
    assert len(again.training_log_) == len(whole.training_log_) > first
    assert again.parameters_.weights.tobytes() == whole.parameters_.weights.tobytes()


def test_a_model_that_prunes_is_sparse_where_c1_asks_for_it() -> None:
    crf = CRF(TEMPLATE, scheme="IOB2", c1=1.0, c2=0.0, order=2, prune=0.01, all_possible_states=True).fit(X, Y)
    pruner = crf.parameters_.pruner
    first = CRF(TEMPLATE, scheme="IOB2", c1=1.0, c2=0.0, all_possible_states=True).fit(X, Y)
    assert pruner is not None
    assert np.count_nonzero(pruner) < 2 * np.count_nonzero(first.parameters_.weights)


class Passing:
    """Counts the passes of all models of a run; a pass takes a second, and after some of them Ctrl-C comes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed, self.interrupt_after = 0, -1
        recorded = Run.record

        def record(run: Run, step: Any, copied: Any) -> bool:
            self.passed += 1
            stop = recorded(run, step, copied)
            if self.passed == self.interrupt_after:
                raise KeyboardInterrupt
            return stop

        monkeypatch.setattr(Run, "record", record)
        monkeypatch.setitem(Run.__init__.__kwdefaults__, "clock", self.clock)

    def clock(self) -> float:
        return float(self.passed)


def test_pruning_spends_the_seconds_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock goes on by a second a pass: ten passes of each of three models that prune, and the rest is left."""
    passing = Passing(monkeypatch)
    crf = fitted(prune=0.01, max_seconds=34)
    assert (crf.stop_reason_, passing.passed, len(crf.training_log_)) == ("time budget", 34, 4)
    assert crf.training_log_[-1].seconds == 34
    passing.passed = 0
    crf = fitted(prune=0.01, max_seconds=20)
    assert (crf.stop_reason_, passing.passed, len(crf.training_log_)) == ("time budget", 20, 0)
    assert crf.score(X, Y) > 0.9  # the first order is what was learned


@pytest.mark.parametrize(("c1", "passes"), [(0.0, 1), (0.0, 7), (0.0, 10), (0.0, 15), (0.0, 30), (0.0, 33), (0.5, 55)])
@pytest.mark.parametrize("way", ["budget", "interrupt"])
def test_a_run_that_ends_while_labels_are_pruned_goes_on(
    way: str, passes: int, c1: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"scheme": "IOB2", "c1": c1, "c2": 0.5, "order": 2, "prune": 0.01, "max_iterations": 24}
    whole = CRF(TEMPLATE, **settings).fit(X, Y)
    passing, path = Passing(monkeypatch), tmp_path / "run"
    budget = passes if way == "budget" else None
    passing.interrupt_after = passes if way == "interrupt" else -1
    ended = CRF(TEMPLATE, **settings, max_seconds=budget).fit(X, Y, checkpoint=path, save_every=0)
    assert ended.stop_reason_ == ("time budget" if way == "budget" else "interrupted")
    assert passing.passed == passes
    assert ended.parameters_.pruner is not None
    assert len(ended.predict(X)) == len(X)
    assert path.exists() or (way, passes) == ("interrupt", 1)  # the first pass was not complete
    again = CRF(TEMPLATE, **settings).fit(X, Y, checkpoint=path, resume=True)
    assert len(again.training_log_) == len(whole.training_log_)
    assert again.notes_ == whole.notes_
    for name in ("weights", "pruner"):
        np.testing.assert_array_equal(getattr(again.parameters_, name), getattr(whole.parameters_, name))
    made = passing.passed
    CRF(TEMPLATE, **settings).fit(X, Y, checkpoint=path, resume=True)
    assert passing.passed == made  # nothing is trained anew, the models that prune neither
    with pytest.raises(InputError, match=r"run: .*one that differs: prune was 0\.01 and is 0\.02"):
        CRF(TEMPLATE, **{**settings, "prune": 0.02}).fit(X, Y, checkpoint=path, resume=True)


@pytest.mark.parametrize("algorithm", ["lbfgs", "owlqn", "sgd", "gd"])
def test_algorithms_go_to_one_optimum(algorithm: str) -> None:
    best = fitted(algorithm="lbfgs", tolerance=1e-6).objective_
    ours = fitted(algorithm=algorithm)
    assert ours.objective_ == pytest.approx(best, rel=0.05)
    assert ours.objective_ > best * (1 - 1e-5)
