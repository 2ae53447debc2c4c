"""Which weights CRFsuite gives a model: pairs that the sentences show, all pairs, those that are frequent enough.

The frequency of a feature is the sum of the attribute's values over its tokens, times the weights of their sentences;
pairs that are never seen have 0. Features below ``feature.minfreq`` are cut, so that those whose values add up to less
than 0 are cut without it, and ``possible_*`` adds nothing with it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tagline.features.weights import Structure, structure_of
from tagline.interop.pycrfsuite.training_groups import LabelledPart
from tagline.interop.pycrfsuite.training_parameters import TrainingParameters
from tagline.ragged import first_entries, row_offsets
from tagline.types import BoolArray, Float64Array


def generate(part: LabelledPart, num_labels: int, num_attributes: int, parameters: TrainingParameters) -> Structure:
    """Return the weights that there are."""
    least, all_states = parameters["feature.minfreq"], bool(parameters["feature.possible_states"])
    structure = structure_of(
        part.features,
        part.labels,
        num_labels,
        num_attributes,
        all_states=all_states,
        all_transitions=bool(parameters["feature.possible_transitions"]),
    )
    risky = any(numbers is not None and (numbers < 0).any() for numbers in (part.values, part.weights))
    if least > 0 or risky:
        states, transitions = _frequencies(structure, part)
        structure = _kept(structure, states >= least, transitions >= least)
    if all_states:  # attributes of the holdout group alone get no weights
        used = np.zeros(num_attributes, bool)
        used[part.features.states.ids] = True
        chosen = np.repeat(used, np.diff(structure.state_offsets))
        structure = _kept(structure, chosen, np.ones(len(structure.transitions), bool))
    return structure


def _frequencies(structure: Structure, part: LabelledPart) -> tuple[Float64Array, Float64Array]:
    L, features = structure.num_labels, part.features
    lengths, states = np.diff(features.offsets), features.states
    weights = np.ones(len(lengths)) if part.weights is None else part.weights
    of_tokens = np.repeat(weights, lengths)  # [N]
    counts = np.diff(states.offsets)
    values = np.repeat(of_tokens, counts) * (1.0 if part.values is None else part.values)
    seen = states.ids.astype(np.int64) * L + np.repeat(part.labels, counts)
    owners = np.repeat(np.arange(structure.num_attributes), np.diff(structure.state_offsets))
    keys = owners * L + structure.state_labels
    of_states = np.bincount(np.searchsorted(keys, seen), values, minlength=len(keys))
    follows = ~first_entries(features.offsets)
    before = np.concatenate([[0], part.labels])[:-1]
    pairs = (before.astype(np.int64) * L + part.labels)[follows]
    moves = structure.transitions[:, 0].astype(np.int64) * L + structure.transitions[:, 1]
    of_moves = np.bincount(np.searchsorted(moves, pairs), of_tokens[follows], minlength=len(moves))
    return of_states.astype(np.float64), of_moves.astype(np.float64)


def _kept(structure: Structure, states: BoolArray, transitions: BoolArray) -> Structure:
    owners = np.repeat(np.arange(structure.num_attributes), np.diff(structure.state_offsets))
    return replace(
        structure,
        state_offsets=row_offsets(owners[states], structure.num_attributes),
        state_labels=structure.state_labels[states],
        transitions=structure.transitions[transitions],
    )
