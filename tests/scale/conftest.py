"""One Ray for all tests of the room: a head node of the session, to which tests may add nodes of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

STORE_BYTES = 200 * 2**20

pytest.importorskip("ray", reason="Ray is not installed: pip install 'tagline[ray]'")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A cluster of one node with two processors, which this process has joined; its nodes start from here."""
    from tagline.scale.cluster import import_ray

    ray = import_ray("tests")
    from ray.cluster_utils import Cluster

    os.environ.setdefault("TAGLINE_THREADS", "1")
    head = {"num_cpus": 2, "object_store_memory": STORE_BYTES, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
