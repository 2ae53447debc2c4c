"""Sentences in, numbered attributes out: templates, Python features, dictionaries, vocabularies."""

from __future__ import annotations

from tagline.features.attributes import Attributes, Expanded, Features
from tagline.features.expansion import expand
from tagline.features.templates import Template
from tagline.features.vocabulary import Vocabulary

__all__ = ["Attributes", "Expanded", "Features", "Template", "Vocabulary", "expand"]
