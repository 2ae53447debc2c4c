"""CRFsuite's model file ↔ a feature CRF: the same labels in the same order, the same names, the same weights.

CRFsuite scores (attribute, label) and (label, label) pairs and knows nothing else, so that every file of it is a CRF of
ours, and a CRF of ours is a file of it where it has no other weights and no rules. Both decide between labellings of
equal scores by the order of their labels, read from the last token to the first.
"""

from __future__ import annotations

import numpy as np

from tagline.errors import InputError, StorageError
from tagline.features.weights import Scorer
from tagline.interop.crfsuite.binary import CRFsuiteModel, read_model, write_model
from tagline.messages import message
from tagline.models.crf.assembly import FeatureWeights, crf_of_weights
from tagline.models.crf.estimator import CRF


def read_crf(data: bytes, source: str = "<bytes>") -> CRF:
    """Make a CRF of the bytes of a model file; sentences are features already, as CRFsuite takes them.

    Arguments:
        data: the whole file.
        source: its name, for messages.
    """
    model = read_model(data, source)
    if not model.labels:
        raise StorageError("{}: expected a model with labels, got none; it was trained on no sentences", source)
    return crf_of_model(model, f"read from {source}, a model of CRFsuite")


def crf_of_model(model: CRFsuiteModel, reason: str) -> CRF:
    """Make a CRF of what a file holds; `reason` is where it comes from, in words."""
    states = FeatureWeights(np.stack([model.state_attributes, model.state_labels], axis=1), model.state_weights)
    transitions = FeatureWeights(model.transitions, model.transition_weights)
    crf = crf_of_weights(model.labels, model.attributes, states, transitions, reason=reason)
    # In float64 as there, so that ties are ties; a file of ours keeps float32.
    crf._scorer = Scorer(crf.parameters_.structure, crf.parameters_.weights, exact=True)
    return crf


def write_crf(model: CRF) -> bytes:
    """Return a CRF as CRFsuite's file, weights that are 0 left out; what CRFsuite cannot hold is an error.

    A template or a feature function stays behind: CRFsuite is given the names that it makes.
    """
    _check_holdable(model)
    p = model.parameters_.pruned()
    structure = p.structure
    assert p.states is not None
    return write_model(
        CRFsuiteModel(
            p.labels,
            tuple(p.states),
            np.repeat(np.arange(structure.num_attributes, dtype=np.int64), np.diff(structure.state_offsets)),
            structure.state_labels.astype(np.int64),
            np.asarray(p.part("states"), np.float64),
            structure.transitions.astype(np.int64),
            np.asarray(p.part("transitions"), np.float64),
        )
    )


def _check_holdable(model: CRF) -> None:
    """Raise where a model says more than weights of (attribute, label) and (label, label)."""
    p, dictionary = model._fitted(), model.dictionary
    rules = p.rules
    forbidden = rules is not None and not (rules.start.all() and rules.transitions.all() and rules.end.all())
    for is_so, expected, got, remedy in (
        (p.states is None, message("names of attributes"), message("hashed ones"), "hash_bits=None"),
        (
            len(p.structure.edge_pairs) > 0,
            message("no edge features"),
            f"{len(p.structure.edge_pairs)}",
            message("a plain template"),
        ),
        (
            bool(np.any(p.part("start")) or np.any(p.part("end"))),
            message("no start and end weights"),
            message("some"),
            "start_end=False",
        ),
        (forbidden, message("no rules of a tag scheme"), message("those of {}", p.scheme), "scheme=None"),
        (model._first is not None, message("one stage"), message("two"), "stages=1"),
        (p.order == 2, message("no label triples"), message("a model of order 2"), "order=1"),
        (
            dictionary is not None and dictionary.priority != "feature",
            message("no dictionary that binds or fills labellings"),
            message("one of priority {!r}", getattr(dictionary, "priority", None)),
            message("a dictionary of priority 'feature'"),
        ),
    ):
        if is_so:
            raise InputError(
                "model: expected {}, as CRFsuite has it, got {}; train the model with {}", expected, got, remedy
            )
