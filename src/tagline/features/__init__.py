"""Sentences in, numbered attributes out: templates, Python features, dictionaries, clusters, vocabularies."""

from __future__ import annotations

from tagline.features.attributes import Attributes, Expanded, Features
from tagline.features.expansion import expand
from tagline.features.functions import FeatureFunctions
from tagline.features.items import items_to_features
from tagline.features.lexicons.brown import brown_clusters
from tagline.features.lexicons.clusters import Clusters
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.features.lexicons.gazetteers import learn_dictionary
from tagline.features.lexicons.kmeans import cluster_vectors
from tagline.features.templates.sets import load_set
from tagline.features.templates.template import Template
from tagline.features.vocabulary import Vocabulary

__all__ = [
    "Attributes",
    "Clusters",
    "Dictionary",
    "Expanded",
    "FeatureFunctions",
    "Features",
    "Template",
    "Vocabulary",
    "brown_clusters",
    "cluster_vectors",
    "expand",
    "items_to_features",
    "learn_dictionary",
    "load_set",
]
