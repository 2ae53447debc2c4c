"""One small Ray for all tests of this room, in one process of the tests, and what they tag."""

from __future__ import annotations

import contextlib
import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tagline.datasets import make_entities
from tagline.errors import MissingPackageError
from tagline.models.crf.estimator import CRF
from tagline.readers import write_columns
from tagline.scale.cluster import Cluster, connected, import_ray

with contextlib.suppress(MissingPackageError):
    import_ray("tests")  # quiet, before a test imports it

STORE = 200_000_000  # bytes
FILES = 30


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of this folder first: ``--dist worksteal`` takes from the end, and so one process runs them all."""
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    others = {*items} - {*ours}
    items[:] = ours + [item for item in items if item in others]
    for item in ours:
        # Ray Train copies the settings of Ray Data, where a test before has made them, and Ray warns of its own. When
        # it stops, it leaves sockets to the collector.
        item.add_marker(pytest.mark.filterwarnings("ignore::Warning:ray.data.context"))
        item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
        item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """Ray with two processors. It stops with the last test of the room: a sixteenth of a processor when it is idle."""
    pytest.importorskip("ray")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Ray's own modules, when they are imported
        with connected(cpus=2, store_bytes=STORE) as started:
            yield started
        gc.collect()  # its sockets, here and not in another room's test


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small CRF."""
    path = tmp_path_factory.mktemp("scale") / "model.tagline"
    CRF("english_ner", scheme="IOB2", max_iterations=10).fit(make_entities(100)).save(path)
    return path


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of many files, some with broken sentences."""
    folder = tmp_path_factory.mktemp("corpus")
    sentences = make_entities(1000, seed=3)
    for number in range(FILES):
        write_columns(sentences, folder / f"part{number:02}.txt")
    for number in (3, 7):
        path = folder / f"part{number:02}.txt"
        path.write_text(f"{path.read_text('utf-8')}Anna\n\nBob O\n\n", "utf-8")
    return folder
