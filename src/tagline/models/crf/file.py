"""The layout of a feature CRF in a model file: settings and arrays, in and out.

Weights are float32, those that are 0 left out; counts and label numbers take the smallest type that does, and names lie
there as `Vocabulary` uses them, so that a file of 10 MB is ready in milliseconds. Functions are not data: of a feature
function the file keeps the name. Whatever a file says is checked before it is used. The settings:

    model, version      "crf", "memm" or "maxent", and the number of this layout: older ones are read, newer refused
    labels, scheme      strings, and the tag scheme whose rules hold
    start, end          whether there are weights for the first and the last label
    features            {"template": text, "source": name}, with "dialect": "wapiti" where it is Wapiti's,
                        {"function": name}, or null
    hash_bits           of hashed attributes, which have no names
    dictionary          its priority and fold_case; its phrases are the array ``dictionary``, JSON
    knowledge           how many tables of clusters there are, and whether there are vectors: `knowledge_file`;
                        not there in older files
    first               where there are two stages, the settings of the first one's model; its arrays are ``first.*``
    prune               in a second-order model, the probability below which labels are pruned; 0 for none
    settings, training  the estimator's parameters as far as they are plain data; `TrainingFacts`

and the arrays ``weights [size]`` (states, transitions, edges, start, end), ``states.counts [A]`` and ``states.labels``,
``transitions [., 2]``, ``edges.counts [E]`` and ``edges.pairs [., 2]``, and for names ``states.names.bytes`` and so on.
A second-order model has ``triples [., 3]``, whose weights come last, and where it is pruned ``pruner``, the weights of
the first-order model that decides: as many as there are without triples.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError, StorageError
from tagline.features.expansion import MOST_HASH_BITS
from tagline.features.knowledge import Knowledge
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.features.templates.template import Template
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import Structure
from tagline.messages import message
from tagline.models.crf.extraction import Extraction, Way
from tagline.models.crf.knowledge_file import pack_knowledge, unpack_knowledge
from tagline.models.crf.parameters import Parameters
from tagline.models.files import (
    Packed,
    TrainingFacts,
    bad_file,
    config_of,
    facts_of,
    finite,
    label_rows,
    labels_of,
    optional,
    reading,
    scheme_of,
    settings_of,
    smallest,
)
from tagline.models.sizes import affordable_candidates, candidates
from tagline.storage import ModelFile

MODEL, VERSION = "crf", 1
MOST_PRUNED = 0.5  # a label above is the most probable one
FIRST = "first."  # how names of the arrays of a first stage begin

_NAMES = ("bytes", "lengths", "slots", "marks")  # of a vocabulary


class MissingFunction:
    """Stands where a loaded model needs the function that it was trained with; calling it says so."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, sentence: Any) -> Any:
        """Ask for the function."""
        raise InputError(
            "features: expected the function {} that the model was trained with, got none, for files hold no "
            "code; pass it: tagline.load(path, features=function)",
            self.name,
        )

    def __repr__(self) -> str:
        return f"MissingFunction({self.name!r})"


@dataclass(frozen=True, eq=False)
class SavedCRF:
    """What a file holds of a feature CRF.

    Attributes:
        parameters: labels, names and weights.
        way: a template, a function, or None where sentences are features already.
        hash_bits, dictionary: as the model was trained with.
        settings: the estimator's parameters, by name.
        training: how it was trained.
        knowledge: clusters and vectors that the template looks at.
        first: the model of a first stage, which has the clusters of this one.
    """

    parameters: Parameters
    way: Way
    hash_bits: int | None = None
    dictionary: Dictionary | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    training: TrainingFacts = field(default_factory=TrainingFacts)
    knowledge: Knowledge = field(default_factory=Knowledge)
    first: SavedCRF | None = None

    def extraction(self) -> Extraction:
        """Return how the model gets its features."""
        return Extraction(self.way, self.hash_bits, self.dictionary, self.knowledge)


def pack(saved: SavedCRF, kind: str = MODEL) -> Packed:
    """Turn a model into what `tagline.storage` writes: settings and arrays. The same model makes the same bytes.

    Arguments:
        kind: of the model; MEMM and MaxEnt have the layout of a CRF, under names of their own.
    """
    p = saved.parameters.pruned()
    s = p.structure
    if np.isneginf(p.weights).any():
        raise InputError(
            "weights: expected finite numbers to save, got -inf, the logarithm of 0; fit the HMM that it was made of "
            "with smoothing or priors"
        )
    described, phrases = packed_dictionary(saved.dictionary)
    own: dict[str, Any] = {
        "scheme": p.scheme,
        "start": s.start,
        "end": s.end,
        "features": described_way(saved.way),
        "hash_bits": saved.hash_bits,
        "dictionary": described,
    }
    arrays: dict[str, NDArray[Any]] = {
        "weights": p.weights.astype(np.float32),
        "states.counts": smallest(np.diff(s.state_offsets)),
        "states.labels": smallest(s.state_labels),
        "transitions": smallest(s.transitions),
        "edges.counts": smallest(np.diff(s.edge_offsets)),
        "edges.pairs": smallest(s.edge_pairs),
    }
    for part, names in (("states", p.states), ("edges", p.edges)):
        for name, array in ({} if names is None else names.arrays()).items():
            arrays[f"{part}.names.{name}"] = array
    arrays |= phrases
    if s.triples is not None:
        left, size = candidates(len(p.labels), p.prune), sum(array.nbytes for array in arrays.values())
        if left > affordable_candidates(size):
            raise InputError(
                "save: expected weights of {} labels for a token of a second-order model, got {} bytes; "
                "nearly all weights are 0: train with a smaller penalty or with prune=",
                left,
                size,
            )
        own["prune"], arrays["triples"] = p.prune, smallest(s.triples)
    if p.pruner is not None:
        arrays["pruner"] = p.pruner.astype(np.float32)
    if saved.knowledge.has_tables:
        own["knowledge"], tables = pack_knowledge(saved.knowledge)
        arrays.update(tables)
    if saved.first is not None:
        own["first"], tables = pack(replace(saved.first, knowledge=Knowledge()))
        arrays.update({f"{FIRST}{name}": array for name, array in tables.items()})
    return config_of(kind, VERSION, p.labels, own, saved.settings, saved.training), arrays


def unpack(file: ModelFile) -> SavedCRF:
    """Turn settings and arrays into a model, or say what is wrong with them."""
    with reading(file, VERSION, message("a CRF")):
        hash_bits = optional(file, "hash_bits", int)
        if hash_bits is not None and not 1 <= hash_bits <= MOST_HASH_BITS:
            raise bad_file(file, message("hash_bits from 1 to {}", MOST_HASH_BITS), hash_bits)
        knowledge = unpack_knowledge(file)
        return SavedCRF(
            _parameters(file, hash_bits),
            way_of_file(file),
            hash_bits,
            dictionary_of_file(file),
            settings_of(file),
            facts_of(file),
            knowledge,
            _first(file, knowledge),
        )


def _first(file: ModelFile, knowledge: Knowledge) -> SavedCRF | None:
    """The model of a first stage; it is laid out like any other, with another beginning of names."""
    if "first" not in file.config:
        return None
    config = file.setting("first", dict)
    tensors = {name.removeprefix(FIRST): array for name, array in file.tensors.items() if name.startswith(FIRST)}
    if "first" in config:
        raise bad_file(file, message("a first stage of one stage"), message("another first stage in it"))
    inner = unpack(replace(file, config=config, tensors=tensors))
    return replace(inner, knowledge=Knowledge(knowledge.clusters))


# Weights.


def _parameters(file: ModelFile, hash_bits: int | None) -> Parameters:
    labels = labels_of(file)
    L, ends = len(labels), (file.setting("start", bool), file.setting("end", bool))
    states = label_rows(file, "states.labels", L, counts="states.counts")
    _, transitions = label_rows(file, "transitions", L, 2)
    edges = label_rows(file, "edges.pairs", L, 2, counts="edges.counts")
    triples = label_rows(file, "triples", L, 3)[1] if "triples" in file.tensors else None
    structure = Structure(L, *states, transitions, *edges, *ends, triples)
    weights = finite(file, "weights", np.float32, structure.size)
    sizes = {"states": structure.num_attributes, "edges": len(structure.edge_offsets) - 1}
    names = {part: _names(file, part, size, hash_bits) for part, size in sizes.items()}
    prune, pruner = _pruner(file, structure)
    left, most = candidates(L, prune), affordable_candidates(file.size)
    if structure.triples is not None and left > most:
        raise bad_file(
            file,
            message("up to {} labels for a token of a second-order model in {} bytes", most, file.size),
            left,
        )
    parameters = Parameters(labels, scheme_of(file), structure, weights, names["states"], names["edges"], pruner, prune)
    _ = parameters.rules  # labels that are not of the scheme
    return parameters


def _pruner(file: ModelFile, structure: Structure) -> tuple[float, NDArray[Any] | None]:
    """The threshold and the weights of the model that prunes; 0 and None where nothing is pruned."""
    if structure.triples is None:
        if "prune" in file.config or "pruner" in file.tensors:
            raise bad_file(file, message("triples in a model that is pruned"), message("none"))
        return 0.0, None
    prune = file.setting("prune", float)
    if not 0 <= prune <= MOST_PRUNED:
        raise bad_file(file, message("prune from 0 to {}", MOST_PRUNED), prune)
    if (prune > 0) != ("pruner" in file.tensors):
        raise bad_file(file, message("the array pruner where prune is above 0, and only there"), prune)
    if prune == 0:
        return 0.0, None
    return prune, finite(file, "pruner", np.float32, structure.first_order.size)


def _names(file: ModelFile, part: str, size: int, hash_bits: int | None) -> Vocabulary | None:
    """The names of attributes; None where they were hashed away, or where there are no attributes of this kind."""
    stored = {name: file.tensors[key] for name in _NAMES if (key := f"{part}.names.{name}") in file.tensors}
    nameless = {0} if hash_bits is None else {0, 1 << hash_bits}
    if not stored and size in nameless and (part == "edges" or hash_bits is not None):
        return None
    names = Vocabulary.from_arrays(stored)
    if hash_bits is not None or len(names) != size:
        raise bad_file(file, message("names of {} {}", size if hash_bits is None else "no", part), len(names))
    return names


# Where features come from.


def described_way(way: Way) -> dict[str, str] | None:
    """Say where features come from: a template as a text, a function by its name."""
    if way is None:
        return None
    if isinstance(way, Template):
        dialect = {} if way.dialect == "crfpp" else {"dialect": way.dialect}
        return {"template": way.text, "source": os.path.basename(way.source), **dialect}
    if isinstance(way, MissingFunction):
        return {"function": way.name}
    kind = way if hasattr(way, "__qualname__") else type(way)
    return {"function": f"{kind.__module__}.{kind.__qualname__}"}


def way_of_file(file: ModelFile) -> Way:
    """Return where features come from, as a file says it."""
    described = optional(file, "features", dict)
    if described is None:
        return None
    if not all(isinstance(value, str) for value in described.values()):
        raise bad_file(file, message("features that are described by strings"), described)
    if {"template", "source"} <= set(described) <= {"template", "source", "dialect"}:
        try:
            return Template.parse(described["template"], described["source"], described.get("dialect", "crfpp"))
        except InputError as error:
            raise StorageError("{}: {}; then train the model anew", file.source, error) from None
    if set(described) == {"function"}:
        return MissingFunction(described["function"])
    raise bad_file(file, message("features by a template or a function"), described)


def packed_dictionary(dictionary: Dictionary | None) -> tuple[dict[str, Any] | None, dict[str, NDArray[Any]]]:
    """Return what a file says of a dictionary, and its phrases as an array."""
    if dictionary is None:
        return None, {}
    phrases = [[list(tokens), kind] for tokens, kind in dictionary.entries().items()]
    text = json.dumps(phrases, ensure_ascii=False).encode()
    described = {"priority": dictionary.priority, "fold_case": dictionary.fold_case}
    return described, {"dictionary": np.frombuffer(text, np.uint8)}


def dictionary_of_file(file: ModelFile) -> Dictionary | None:
    """Return the dictionary of a file, if it has one."""
    described = optional(file, "dictionary", dict)
    if described is None:
        return None
    if set(described) != {"priority", "fold_case"} or type(described["fold_case"]) is not bool:
        raise bad_file(file, message("priority and fold_case of the dictionary"), described)
    text = file.tensor("dictionary", np.uint8, None).tobytes()
    try:
        entries = {tuple(tokens): kind for tokens, kind in json.loads(text)}
    except (ValueError, TypeError, RecursionError) as error:
        raise bad_file(file, message("phrases and types in the array 'dictionary'"), str(error)) from None
    return Dictionary(entries, priority=described["priority"], fold_case=described["fold_case"])
