"""Corpora that Tagline makes itself, for demos and tests: no download, no licence, the same on every machine."""

from tagline.datasets.entity_sentences import make_entities

__all__ = ["make_entities"]
