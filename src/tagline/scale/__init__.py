"""Past one machine: tagging, training and searching on Ray, which starts on this machine where no cluster is named."""

from __future__ import annotations

from tagline.scale.corpus import ShardedCorpus, corpus

__all__ = ["ShardedCorpus", "corpus"]
