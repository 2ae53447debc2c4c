"""Past one machine: tagging, training and searching on Ray, which starts on this machine where no cluster is named."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagline.scale.batches import BatchTagger, tag, udf
    from tagline.scale.cluster import Cluster, Node, connected
    from tagline.scale.corpora import ShardedCorpus, corpus
    from tagline.scale.fitting import fit
    from tagline.scale.replicas import deployment

_HOMES = {
    "tagline.scale.cluster": ("Cluster", "Node", "connected"),
    "tagline.scale.corpora": ("ShardedCorpus", "corpus"),
    "tagline.scale.fitting": ("fit",),
    "tagline.scale.replicas": ("deployment",),
    "tagline.scale.batches": ("BatchTagger", "tag", "udf"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["BatchTagger", "Cluster", "Node", "ShardedCorpus", "connected", "corpus", "deployment", "fit", "tag", "udf"]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'tagline.scale' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
