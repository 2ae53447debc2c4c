"""Sentences in, numbered attributes out: templates, Python features, dictionaries, vocabularies."""

from __future__ import annotations

from tagline.features.attributes import Attributes, Expanded, Features
from tagline.features.vocabulary import Vocabulary

__all__ = ["Attributes", "Expanded", "Features", "Vocabulary"]
