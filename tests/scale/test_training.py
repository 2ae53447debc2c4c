"""A CRF that is trained on workers has the bits of one that is trained in this process."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, MEMM, MaxEnt, readers, scale
from tagline.errors import InputError
from tagline.training import lanes

from .problems import LANE_TOKENS, bits, write_shards

SETTINGS: dict[str, dict[str, Any]] = {
    "lbfgs": {"algorithm": "lbfgs", "start_end": True},
    "owlqn": {"algorithm": "owlqn", "c1": 0.3, "min_frequency": 2},
    "hashed": {"algorithm": "lbfgs", "hash_bits": 12, "label_weights": "balanced", "precision": "float64"},
}
EDGES = "U00:%x[0,0]\nU01:%x[-1,0]\nB00:%x[0,0]\nB\n"


@pytest.fixture
def shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lanes, "LANE_TOKENS", LANE_TOKENS)
    folder = tmp_path / "shards"
    folder.mkdir()
    return folder


def make(features: Any = "english_ner", **settings: Any) -> CRF:
    return CRF(features, scheme="auto", max_iterations=6, **settings)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_bits_of_one_process(cluster: Any, shards: Path, name: str) -> None:
    whole = write_shards(shards)
    assert lanes.lane_count(whole.num_tokens) == 8
    alone = bits(make(**SETTINGS[name]).fit(whole))
    for workers in (1, 2):
        assert bits(make(**SETTINGS[name]).fit(scale.corpus(f"{shards}/*.txt", workers=workers))) == alone


def test_three_workers_share_lanes_that_are_no_branch(cluster: Any, shards: Path) -> None:
    whole = write_shards(shards)
    node = cluster.add_node(num_cpus=2, object_store_memory=100 * 2**20)
    try:
        alone = make(EDGES, algorithm="lbfgs").fit(whole)
        shared = make(EDGES, algorithm="lbfgs").fit(scale.corpus(shards, workers=3))
    finally:
        cluster.remove_node(node)
    assert bits(shared) == bits(alone)
    assert shared.predict(whole[:20]) == alone.predict(whole[:20])


@pytest.mark.parametrize("kind", [MEMM, MaxEnt])
def test_other_kinds(cluster: Any, shards: Path, kind: Any) -> None:
    whole = write_shards(shards, sentences=200, files=2)
    settings: dict[str, Any] = {"algorithm": "lbfgs", "max_iterations": 4}
    alone = kind("english_ner", **settings).fit(whole)
    assert bits(kind("english_ner", **settings).fit(scale.corpus(shards, workers=2))) == bits(alone)


def test_auto_depends_on_the_corpus_alone(cluster: Any, shards: Path) -> None:
    whole = write_shards(shards)
    settings: dict[str, Any] = {"algorithm": "auto", "passes": 3}
    one, two = (make(**settings).fit(scale.corpus(shards, workers=workers)) for workers in (1, 2))
    assert bits(one) == bits(two)
    assert one.objective_ < make(algorithm="lbfgs").fit(whole).objective_  # what the stochastic passes are for


@pytest.mark.parametrize("on_illegal", ["repair", "drop", "error"])
def test_labellings_that_break_the_rules(cluster: Any, shards: Path, on_illegal: str) -> None:
    write_shards(shards, files=2)
    (shards / "part-1.txt").write_text("Oslo I-LOC\nis O\n\n" + (shards / "part-1.txt").read_text())
    readers_text = "".join((shards / f"part-{k}.txt").read_text() for k in range(2))
    (shards.parent / "whole.txt").write_text(readers_text)
    whole = readers.read(shards.parent / "whole.txt")
    settings: dict[str, Any] = {"scheme": "IOB2", "on_illegal": on_illegal, "algorithm": "lbfgs", "max_iterations": 3}
    if on_illegal == "error":
        with pytest.raises(InputError, match=r"part-1.txt:1: expected tags that IOB2 allows.* 1 of 601 sentences"):
            CRF("english_ner", **settings).fit(scale.corpus(shards, workers=2))
        return
    alone = CRF("english_ner", **settings).fit(whole)
    shared = CRF("english_ner", **settings).fit(scale.corpus(shards, workers=2))
    assert bits(shared) == bits(alone)
    assert shared.notes_ == alone.notes_
    assert shared.training_.sentences == alone.training_.sentences == (600 if on_illegal == "drop" else 601)


def test_packed_shards_and_a_dev_set(cluster: Any, shards: Path) -> None:
    whole = write_shards(shards, sentences=200, files=2)
    for path in sorted(shards.glob("*.txt")):
        with open(path, "rb") as source, gzip.open(f"{path}.gz", "wb") as target:
            shutil.copyfileobj(source, target)
    settings: dict[str, Any] = {"algorithm": "lbfgs", "patience": 3}
    alone = make(**settings).fit(whole, X_dev=whole[:50])
    shared = make(**settings).fit(scale.corpus(f"{shards}/*.gz", workers=2), X_dev=whole[:50])
    assert bits(shared) == bits(alone)
    assert [done.dev_score for done in shared.training_log_] == [done.dev_score for done in alone.training_log_]
    assert shared.training_.tokens == whole.num_tokens


# Runs that are interrupted.


class _LostError(Exception):
    """Stands for a driver that is killed."""


def test_a_killed_driver_goes_on(cluster: Any, shards: Path, tmp_path: Path) -> None:
    whole = write_shards(shards)
    settings: dict[str, Any] = {"algorithm": "auto", "passes": 2}
    alone = bits(make(**settings).fit(scale.corpus(shards, workers=1)))
    file = tmp_path / "state"
    for lost_after in (1, 4):  # in the stochastic passes, and after them

        def lose(state: Any, after: int = lost_after) -> None:
            if state.number == after:
                raise _LostError

        with pytest.raises(_LostError):
            make(**settings, callbacks=(lose,)).fit(
                scale.corpus(shards, workers=2), checkpoint=file, resume=True, save_every=0
            )
    resumed = make(**settings).fit(scale.corpus(shards, workers=2), checkpoint=file, resume=True, save_every=0)
    assert bits(resumed) == alone
    other = write_shards(shards, sentences=599)
    assert len(other) < len(whole)
    with pytest.raises(InputError, match="other words"):
        make(**settings).fit(scale.corpus(shards, workers=2), checkpoint=file, resume=True)


@pytest.mark.parametrize("keeps_disk", [True, False], ids=["disk stays", "disk is lost"])
def test_a_lost_node_changes_nothing(cluster: Any, shards: Path, tmp_path: Path, keeps_disk: bool) -> None:
    whole = write_shards(shards)
    alone = bits(make(algorithm="lbfgs").fit(whole))
    node = cluster.add_node(num_cpus=2, object_store_memory=100 * 2**20)
    scratch = tmp_path / "scratch"
    nodes = []

    def lose(state: Any) -> None:
        if state.number == 2:
            nodes.append(len(cluster.worker_nodes))
            cluster.remove_node(node, allow_graceful=False)
            if not keeps_disk:
                shutil.rmtree(scratch)

    shared = make(algorithm="lbfgs", callbacks=(lose,)).fit(scale.corpus(shards, workers=2, scratch=scratch))
    assert nodes == [1]
    assert bits(shared) == alone
    assert not list(scratch.glob("*/*.compiled"))  # what the workers had there is removed


# Errors.


def test_what_cannot_be_read(cluster: Any, shards: Path) -> None:
    write_shards(shards)
    (shards / "part-1.txt.gz").write_bytes(b"\x1f\x8b no archive")
    with pytest.raises(InputError, match=r"node \S+: .*part-1.txt.gz"):
        make().fit(scale.corpus(shards, workers=2))
    with pytest.raises(InputError, match="expected a file or a pattern of some"):
        scale.corpus(f"{shards}/*.none")


def test_a_disk_without_room(cluster: Any, shards: Path) -> None:
    write_shards(shards, sentences=50)
    with pytest.raises(InputError, match=r"node \S+: expected room for compiled sentences .*; choose another place"):
        make().fit(scale.corpus(shards, workers=1, scratch="/proc/none"))


@pytest.mark.parametrize(
    "settings",
    [
        {"algorithm": "ap"},
        {"stages": 2},
        {"warm_start": True},
        {"min_feature_frequency": 2},
        {"features": None},
        {"clusters": {"Oslo": "01"}},
    ],
    ids=str,
)
def test_what_needs_the_sentences_is_refused(shards: Path, settings: dict[str, Any]) -> None:
    write_shards(shards, sentences=20)
    crf = CRF(**{"features": "english_ner", **settings})
    with pytest.raises(InputError, match="expected"):
        crf.fit(scale.corpus(shards))


def test_too_few_processors(cluster: Any, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(shards)
    monkeypatch.setattr("tagline.scale.workers.LOST_SECONDS", 1.0)
    monkeypatch.setattr("tagline.scale.workers.ASK_SECONDS", 0.2)
    with pytest.raises(InputError, match=r"expected 8 processors for 8 workers, got 2 on .* fewer --workers"):
        make().fit(scale.corpus(shards, workers=8))


def test_the_public_names() -> None:
    assert tagline.scale.corpus is scale.corpus
    assert np.isfinite(1.0)
