"""A CRF that is trained on workers has the bits of one that is trained in this process."""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, MEMM, MaxEnt, readers, scale
from tagline.errors import InputError, StorageError
from tagline.readers.training_files import LabelledFiles
from tagline.scale.holders import Holder, Job, Sums
from tagline.scale.shards import read_shard
from tagline.scale.shards import shards as find_shards
from tagline.scale.surveys import Piece, Settlement
from tagline.training import lanes
from tagline.training.lanes import Branch
from tests.cli.commands import line_of
from tests.cli.commands import tagline as command

from .problems import LANE_TOKENS, STORE, WAIT, begin, bits, wait_for, write_shards

SETTINGS: dict[str, dict[str, Any]] = {
    "lbfgs": {"algorithm": "lbfgs", "start_end": True},
    "owlqn": {"algorithm": "owlqn", "c1": 0.3, "min_frequency": 2},
    "hashed": {"algorithm": "lbfgs", "hash_bits": 12, "label_weights": "balanced", "tolerance": 1e-12},
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
    for workers in (1, 2) if name == "lbfgs" else (2,):
        assert bits(scale.fit(make(**SETTINGS[name]), scale.corpus(f"{shards}/*.txt", workers=workers))) == alone


def test_many_workers_add_up_among_themselves(cluster: Any, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagline.scale.workers.STAR", 1)  # two are many
    alone = bits(make(algorithm="lbfgs").fit(write_shards(shards)))
    assert bits(scale.fit(make(algorithm="lbfgs"), scale.corpus(shards, workers=2))) == alone


@pytest.mark.parametrize("dense", [(), (0,), (1,), (0, 1)], ids=str)
def test_sums_of_neighbours(dense: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    vectors = [np.where(rng.random(40) < (1.0 if k in dense else 0.1), rng.normal(size=40), 0.0) for k in range(2)]
    for k, vector in enumerate(vectors):
        vector[:4] = 1.0 + k  # both have something there
    left, right = (Sums.of(Branch(2 + k), float(k), vector) for k, vector in enumerate(vectors))
    assert [part.places is None for part in (left, right)] == [k in dense for k in range(2)]
    both = left.joined(right)
    assert (both.branch, both.value) == (Branch(2, 2), 1.0)
    assert both.dense(40).tobytes() == (vectors[0] + vectors[1]).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MEMM, MaxEnt])
def test_other_kinds(cluster: Any, shards: Path, kind: Any) -> None:
    whole = write_shards(shards, sentences=200, files=2)
    settings: dict[str, Any] = {"algorithm": "lbfgs", "max_iterations": 4}
    alone = kind("english_ner", **settings).fit(whole)
    assert bits(scale.fit(kind("english_ner", **settings), scale.corpus(shards, workers=2))) == bits(alone)


def test_auto_depends_on_the_corpus_alone(cluster: Any, shards: Path) -> None:
    whole = write_shards(shards)
    settings: dict[str, Any] = {"algorithm": "auto:passes=3"}
    one, two = (scale.fit(make(**settings), scale.corpus(shards, workers=workers)) for workers in (1, 2))
    assert bits(one) == bits(two)
    assert one.objective_ < make(algorithm="lbfgs").fit(whole).objective_  # what the stochastic passes are for


def test_addresses_of_files(shards: Path) -> None:
    write_shards(shards, sentences=20)
    names = [shard.path for shard in scale.corpus(shards).setting.shards]
    for address in (f"file://{shards}", f"file://{shards}/", f"file://{shards}/part-*.txt"):
        assert [shard.path for shard in scale.corpus(address).setting.shards] == names
    with pytest.raises(InputError, match=r"^nowhere://a/b: "):
        scale.corpus("nowhere://a/b")


@pytest.mark.filterwarnings("ignore:y. repaired")
@pytest.mark.parametrize("on_illegal", ["repair", pytest.param("drop", marks=pytest.mark.slow), "error"])
def test_labellings_that_break_the_rules(cluster: Any, shards: Path, on_illegal: str) -> None:
    write_shards(shards, files=2)
    (shards / "part-1.txt").write_text("Oslo I-LOC\nis O\n\n" + (shards / "part-1.txt").read_text())
    readers_text = "".join((shards / f"part-{k}.txt").read_text() for k in range(2))
    (shards.parent / "whole.txt").write_text(readers_text)
    whole = readers.read(shards.parent / "whole.txt")
    settings: dict[str, Any] = {"scheme": "IOB2", "on_illegal": on_illegal, "algorithm": "lbfgs", "max_iterations": 3}
    if on_illegal == "error":
        with pytest.raises(InputError, match=r"part-1.txt:1: expected tags that IOB2 allows.* 1 of 601 sentences"):
            scale.fit(CRF("english_ner", **settings), scale.corpus(shards, workers=2))
        return
    alone = CRF("english_ner", **settings).fit(whole)
    shared = scale.fit(CRF("english_ner", **settings), scale.corpus(shards, workers=2))
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
    shared = scale.fit(make(**settings), scale.corpus(f"{shards}/*.gz", workers=2), X_dev=whole[:50])
    assert bits(shared) == bits(alone)
    assert [done.dev_score for done in shared.training_log_] == [done.dev_score for done in alone.training_log_]
    assert shared.training_.tokens == whole.num_tokens


# Runs that are interrupted.


class _LostError(Exception):
    """Stands for a driver that is killed."""


@pytest.mark.slow
def test_a_killed_driver_goes_on(cluster: Any, shards: Path, tmp_path: Path) -> None:
    whole = write_shards(shards)
    settings: dict[str, Any] = {"algorithm": "auto:passes=2"}
    alone = bits(scale.fit(make(**settings), scale.corpus(shards, workers=1)))
    file = tmp_path / "state"
    for lost_after in (1, 4):  # in the stochastic passes, and after them

        def lose(state: Any, after: int = lost_after) -> None:
            if state.number == after:
                raise _LostError

        with pytest.raises(_LostError):
            scale.fit(
                make(**settings, callbacks=(lose,)),
                scale.corpus(shards, workers=2),
                checkpoint=file,
                resume=True,
                save_every=0,
            )
    resumed = scale.fit(make(**settings), scale.corpus(shards, workers=2), checkpoint=file, resume=True, save_every=0)
    assert bits(resumed) == alone
    other = write_shards(shards, sentences=599)
    assert len(other) < len(whole)
    with pytest.raises(InputError, match="other words"):
        scale.fit(make(**settings), scale.corpus(shards, workers=2), checkpoint=file, resume=True)


@pytest.mark.slow
@pytest.mark.parametrize("keeps_disk", [True, False], ids=["disk stays", "disk is lost"])
def test_a_lost_node_changes_nothing(shards: Path, tmp_path: Path, keeps_disk: bool) -> None:
    """Three workers on two nodes, lanes that are no branch of the tree, edges; the lost node is replaced by another."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    whole = write_shards(shards)
    (tmp_path / "template").write_text(EDGES)
    settings: dict[str, Any] = {"algorithm": "lbfgs:delta=0,epsilon=0", "max_iterations": 25}
    alone = CRF(EDGES, **settings).fit(whole)
    node = {"num_cpus": 2, "object_store_memory": STORE}
    nodes = cluster_utils.Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    log, scratch, output = tmp_path / "log", tmp_path / "scratch", tmp_path / "model"
    try:
        second = nodes.add_node(**node)
        process = begin(
            *("train", shards, "-o", output, "-t", tmp_path / "template", "--max-iterations", 25),
            *("-a", "lbfgs:delta=0,epsilon=0"),
            *("--log", log, "--scratch", scratch, "--ray", nodes.address, "--workers", 3),
            LANE_TOKENS=LANE_TOKENS,
        )
        wait_for(lambda: log.exists() and log.read_text().count("objective") >= 3, process)
        assert len(list(scratch.glob("*/lane-*.compiled"))) == 8
        if not keeps_disk:
            for path in scratch.glob("*/lane-*.compiled"):
                path.unlink()
        nodes.remove_node(second, allow_graceful=False)
        passes = log.read_text().count("objective")
        nodes.add_node(**node)
        said, told = process.communicate(timeout=WAIT)
    finally:
        nodes.shutdown()
    assert (process.returncode, said) == (0, ""), told
    assert passes < 25
    model = tagline.load(output)
    np.testing.assert_array_equal(model.parameters_.weights, alone.parameters_.weights.astype(np.float32))
    assert model.training_.objective == alone.objective_
    assert not scratch.exists() or not list(scratch.glob("*/*.compiled"))  # what the workers had there is removed


@pytest.mark.slow
def test_ctrl_c_keeps_what_there_is(shards: Path, tmp_path: Path) -> None:
    write_shards(shards)
    log, output, file = tmp_path / "log", tmp_path / "model", tmp_path / "state"
    words = ("train", shards, "-o", output, "-a", "lbfgs:delta=0,epsilon=0", "--ray", "local")
    words = (*words, "--workers", 2, "--max-iterations", 60, "--checkpoint", file, "--save-every", 0)
    process = begin(*words, "--log", log, LANE_TOKENS=LANE_TOKENS)
    wait_for(lambda: log.exists() and log.read_text().count("objective") >= 3, process)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=WAIT)
    assert process.returncode == 130, told
    assert output.exists()
    assert file.exists()
    resumed = begin(*words, "--resume", LANE_TOKENS=LANE_TOKENS)
    _, told = resumed.communicate(timeout=WAIT)
    assert (resumed.returncode, "going on from" in told) == (0, True), told
    settings: dict[str, Any] = {"algorithm": "lbfgs", "max_iterations": 60, "delta": 0, "epsilon": 0, "scheme": "auto"}
    alone = CRF("english_ner", **settings).fit(readers.read(tmp_path / "whole.txt"))
    np.testing.assert_array_equal(
        tagline.load(output).parameters_.weights, alone.parameters_.weights.astype(np.float32)
    )


# Errors.


def test_what_cannot_be_read(cluster: Any, shards: Path) -> None:
    write_shards(shards)
    (shards / "part-1.txt.gz").write_bytes(b"\x1f\x8b no archive")
    with pytest.raises(InputError, match=r"node \S+: .*part-1.txt.gz"):
        scale.fit(make(), scale.corpus(shards, workers=2))
    (shards / "part-1.txt").write_text("Anna B-PER extra\nsings\n")
    with pytest.raises(InputError, match=r"^node \S+: .*part-1.txt:2: "):
        read_shard(find_shards(shards / "part-1.txt")[0], LabelledFiles())
    with pytest.raises(InputError, match=r"shards/\*\.none: "):
        scale.corpus(f"{shards}/*.none")


def test_no_folder_for_compiled_sentences(cluster: Any, shards: Path) -> None:
    write_shards(shards, sentences=50)
    with pytest.raises(InputError, match=r"node \S+: /proc/none\S*: expected a folder .*; name another"):
        scale.fit(make(), scale.corpus(shards, workers=1, scratch="/proc/none"))


def test_a_disk_without_room(shards: Path, tmp_path: Path) -> None:
    """A worker may write no more than a little; what it wrote is not left looking whole."""
    write_shards(shards, sentences=400, files=1)
    piece = Piece(find_shards(shards)[0], 0, None)
    labels = ("B-DATE", "B-LOC", "B-ORG", "B-PER", "I-DATE", "I-LOC", "I-ORG", "I-PER", "O")
    job = Job("run", ((piece,),), 0, LabelledFiles(), Settlement(labels), "english_ner", scratch=str(tmp_path / "disk"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(StorageError, match=r"^node \S+: .*lane-0.compiled: "):
            Holder(job).names()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list((tmp_path / "disk").rglob("lane-*"))
    names = Holder(job).names()
    assert names.states is not None
    assert len(names.states) == len(names.state_counts) > 1000


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
        scale.fit(crf, scale.corpus(shards))


def test_too_few_processors(cluster: Any, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(shards)
    monkeypatch.setattr("tagline.scale.workers.LOST_SECONDS", 1.0)
    monkeypatch.setattr("tagline.scale.workers.ASK_SECONDS", 0.2)
    with pytest.raises(InputError, match=r"expected 8 processors for 8 workers, got 2 on .* fewer --workers"):
        scale.fit(make(), scale.corpus(shards, workers=8))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--model", "semicrf", "--ray"), "--ray: "),
        (("--model", "hmm", "--states", 2, "--ray"), ".csv or .tsv"),
        (("--cache", "folder", "--ray"), "--cache, --ray: "),
        (("--workers", 2), "--workers: "),
        (("--scratch", "folder"), "--scratch: "),
    ],
    ids=str,
)
def test_options_that_cannot_be_meant(shards: Path, tmp_path: Path, words: tuple[object, ...], line: str) -> None:
    write_shards(shards, sentences=20)
    assert line in line_of(command("train", f"{shards}/*.txt", "-o", tmp_path / "model", *words))


def test_second_order_needs_the_sentences_here(shards: Path) -> None:
    write_shards(shards)
    with pytest.raises(InputError, match="order: expected none beside sentences that other processes hold"):
        scale.fit(CRF("english_ner", order=2), scale.corpus(shards))
