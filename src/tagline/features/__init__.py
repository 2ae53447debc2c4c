"""Sentences in, numbered attributes out: templates, Python features, dictionaries, vocabularies."""

from __future__ import annotations

from tagline.features.attributes import Attributes, Expanded, Features
from tagline.features.dictionaries import Dictionary
from tagline.features.expansion import expand
from tagline.features.functions import FeatureFunctions
from tagline.features.items import items_to_features
from tagline.features.sets import load_set
from tagline.features.templates import Template
from tagline.features.vocabulary import Vocabulary

__all__ = [
    "Attributes",
    "Dictionary",
    "Expanded",
    "FeatureFunctions",
    "Features",
    "Template",
    "Vocabulary",
    "expand",
    "items_to_features",
    "load_set",
]
