"""Models of Wapiti as feature CRFs, MEMMs and maximum-entropy models, and back.

Observations that begin with u are state attributes, those with b edge attributes, those with * both. The pattern
without a command that pairs of labels are crossed with, ``b`` or ``*``, gives the plain transitions. Wapiti's penalty
ρ1·|w|₁ + ρ2/2·|w|² is c1 = ρ1 and c2 = ρ2/2 here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagline.errors import InputError, StorageError
from tagline.features.templates.template import Template
from tagline.interop.wapiti.text import Keys, WapitiModel, make_model, write_model
from tagline.interop.wapiti.text import read_model as read_text
from tagline.interop.wapiti.translation import translated
from tagline.messages import message
from tagline.models.crf.assembly import FeatureWeights, crf_of_parameters, parameters_of_weights
from tagline.models.crf.parameters import Parameters
from tagline.types import BoolArray, Float64Array, IntArray

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF

REASON = "trained by Wapiti"
BIGRAM = "b"  # the observation of plain transitions in models without patterns


def read_crf(data: bytes, source: str) -> CRF:
    """Make a model of the bytes of a model file: a CRF, or what its type says."""
    model = read_text(data, source)
    template = template_of(model, source)
    return crf_of_parameters(parameters_of(model, template), template, REASON, model.type)


def write_crf(model: CRF) -> bytes:
    """Return the bytes of a model file that Wapiti reads, and in which it finds the same labels."""
    return file_of(model_of(model))


def file_of(model: WapitiModel) -> bytes:
    """Return the bytes of a model's file."""
    template = template_of(model, "model")
    return write_model(model, 0 if template is None else max(0, template.num_columns - 1))


def parameters_of(model: WapitiModel, template: Template | None) -> Parameters:
    """Return the weights of a file as those of a CRF; of a maxent model, those of labels alone."""
    bigram = None if template is None else bigram_of(template)
    observations, places, of_pair = model.keys()
    pairs = of_pair & (model.type != "maxent")
    is_bigram = np.array([name == bigram for name in model.observations], bool)
    has_edges = model.has_edges & ~is_bigram if template is None or not template.has_edges else model.has_edges
    L = len(model.labels)

    def chosen(entries: BoolArray, numbers: IntArray | None, width: int) -> FeatureWeights:
        columns = [] if numbers is None else [numbers[observations[entries]]]
        columns += [places[entries]] if width == 1 else [places[entries] // L, places[entries] % L]
        return FeatureWeights(np.stack(columns, axis=1), model.weights[entries])

    return parameters_of_weights(
        model.labels,
        [name for name, has in zip(model.observations, model.has_states, strict=True) if has],
        chosen(~of_pair, np.cumsum(model.has_states) - 1, 1),
        chosen(pairs & is_bigram[observations], None, 2),
        way=template,
        edge_names=[name for name, has in zip(model.observations, has_edges, strict=True) if has],
        edges=chosen(pairs & has_edges[observations], np.cumsum(has_edges) - 1, 2),
    )


def template_of(model: WapitiModel, source: str) -> Template | None:
    """Return the patterns of a model as a template; None where it has none."""
    if not model.patterns:
        return None
    for pattern in model.patterns:
        if "#" in pattern or "\n" in pattern or pattern != pattern.strip():
            raise StorageError(
                "{}: expected patterns without # and blanks at their ends, as files of patterns have them, "
                "got {!r:.60}",
                source,
                pattern,
            )
    try:
        return Template.parse("\n".join(model.patterns) + "\n", "patterns of Wapiti", "wapiti")
    except InputError as error:
        raise StorageError("{}: {}", source, error) from None


def bigram_of(template: Template) -> str | None:
    """Return the observation that is the plain pair of labels; None where no pattern asks for it."""
    return next((line.text for line in template.lines if line.is_edge and not line.macros), None)


def model_of(crf: CRF) -> WapitiModel:
    """Return what a file of Wapiti holds of a CRF, or say why it cannot."""
    template = crf._extraction.template
    p = _expressible(crf).pruned()
    translate = None
    if template is not None and template.dialect != "wapiti":
        template, translate = translated(template)
    assert p.states is not None
    states, edges = p.states.names(), [] if p.edges is None else p.edges.names()
    if translate is not None:
        states, edges = [*map(translate, states)], [*map(translate, edges)]
    if template is None:
        _check_features(states, "u", "states")
        _check_features(edges, "b", "edges")
    bigram = BIGRAM if template is None else bigram_of(template)
    with_transitions = len(p.structure.transitions) > 0
    numbers = {
        name: k for k, name in enumerate(dict.fromkeys([*states, *edges, *[bigram or BIGRAM] * with_transitions]))
    }
    if not numbers:
        raise InputError("model: expected weights that are not 0, got none; Wapiti reads no model without observations")
    keys, weights = _weights_by_key(p, states, edges, numbers, bigram)
    patterns = [] if template is None else list(dict.fromkeys((line.number, line.text) for line in template.lines))
    return make_model([text for _, text in patterns], p.labels, list(numbers), keys, weights, crf.kind)


def _expressible(crf: CRF) -> Parameters:
    """Return the parameters of a CRF that Wapiti can express."""
    p = crf._fitted()
    problem = None
    if p.states is None:
        problem = message("attributes with names"), message("hashed ones")
    elif p.structure.start or p.structure.end:
        problem = message("no weights of first and last labels"), message("some; train with start_end=False")
    elif p.scheme is not None:
        problem = (
            message("a model without rules"),
            message("the rules of {}; train with scheme=None", p.scheme),
        )
    elif p.order == 2:
        problem = message("a model without label triples"), message("one of order 2; train with order=1")
    elif crf._first is not None:
        problem = message("a model of one stage"), message("one of two; train with stages=1")
    elif crf._extraction.dictionary is not None:
        problem = message("a model without a dictionary"), message("one with")
    elif crf._extraction.function is not None:
        problem = message("patterns, or features that sentences hold"), message("a function that makes features")
    if problem is not None:
        raise InputError("model: expected {}, for Wapiti knows no others, got {}", problem[0], problem[1])
    return p


def _check_features(names: list[str], letter: str, part: str) -> None:
    for name in names:
        if name[:1] not in (letter, "*") or len(name.split()) != 1:
            raise InputError(
                "model: expected {} whose names begin with {} or * and have no blanks, for Wapiti tells "
                "features apart by that, got {!r:.60}; train with a template, or with such names",
                part,
                letter,
                name,
            )


def _weights_by_key(
    p: Parameters, states: list[str], edges: list[str], numbers: dict[str, int], bigram: str | None
) -> tuple[Keys, Float64Array]:
    """Return the keys of the weights, and the weights."""
    s, L = p.structure, len(p.labels)
    of_states = np.array([numbers[name] for name in states], np.int64)
    of_edges = np.array([numbers[name] for name in edges], np.int64)
    state_rows = np.repeat(of_states, np.diff(s.state_offsets))
    edge_rows = np.repeat(of_edges, np.diff(s.edge_offsets))
    plain_row = numbers[bigram or BIGRAM] if len(s.transitions) else -1
    keep = edge_rows != plain_row
    _check_copy(p, ~keep)
    plain = np.full(len(s.transitions), plain_row)
    pairs = [(keys[:, 0].astype(np.int64) * L + keys[:, 1]) for keys in (s.transitions, s.edge_pairs[keep])]
    observations = np.concatenate([state_rows, plain, edge_rows[keep]])
    places = np.concatenate([s.state_labels.astype(np.int64), *pairs])
    of_pair = np.arange(len(places)) >= len(state_rows)
    weights = np.concatenate([p.part("states"), p.part("transitions"), p.part("edges")[keep]]).astype(np.float64)
    return (observations, places, of_pair), weights


def _check_copy(p: Parameters, entries: BoolArray) -> None:
    """Check that an edge attribute by the name of the plain transitions, for other patterns, has their weights."""
    matrix = np.zeros((len(p.labels), len(p.labels)))
    matrix[tuple(p.structure.edge_pairs[entries].T)] = p.part("edges")[entries]
    if entries.any() and not np.array_equal(matrix, p.matrix()):
        raise InputError(
            "model: expected one weight for each pair of labels under one name, for Wapiti counts equal names as one, "
            "got two; leave out the second of the patterns that are the same"
        )
