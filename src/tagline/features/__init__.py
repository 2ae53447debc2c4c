"""Sentences in, numbered attributes out: templates, Python features, dictionaries, clusters, vocabularies."""

from __future__ import annotations

from tagline.features.attributes import Attributes, Expanded, Features
from tagline.features.brown import brown_clusters
from tagline.features.clusters import Clusters
from tagline.features.dictionaries import Dictionary
from tagline.features.expansion import expand
from tagline.features.functions import FeatureFunctions
from tagline.features.gazetteers import learn_dictionary
from tagline.features.items import items_to_features
from tagline.features.kmeans import cluster_vectors
from tagline.features.sets import load_set
from tagline.features.templates import Template
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
