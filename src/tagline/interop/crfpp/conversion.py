"""CRF++'s model to ours and back: a template with the weights of its feature strings.

Ours to theirs works for what CRF++ can say: a template of its own kind, named attributes, no rules of a tag scheme, no
weights at the ends. A weight that our model does not have is 0 there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError, StorageError
from tagline.features.templates.template import Template
from tagline.interop.crfpp.model import CRFPPModel, as_float64
from tagline.interop.crfpp.templates import bigram_of, template_of, without_returns
from tagline.messages import message
from tagline.models.crf.assembly import NONE_2, NONE_3, FeatureWeights, crf_of_weights
from tagline.models.crf.estimator import CRF
from tagline.models.crf.parameters import Parameters
from tagline.types import Float64Array, FloatArray, IntArray

REASON = "converted from CRF++"
_SEPARATORS = "\0\n\t "


def crf_of(model: CRFPPModel, source: str) -> CRF:
    """Make our model of one of CRF++: the same labels, n-best labellings and probabilities."""
    labels = _decoded(model.labels, source)
    template = template_of(_decoded(model.template, source), model.xsize, source)
    keys = without_returns(_decoded(model.keys, source), source)
    L, is_edge = len(labels), model.is_edge
    bigram = bigram_of(template)
    transitions, edge_names, edges = NONE_2, list[str](), NONE_3
    if bigram in keys:
        transitions = _nonzero(_rows(model, [keys.index(bigram)], L * L).reshape(L, L))
    if template.has_edges:
        chosen = np.flatnonzero(is_edge)
        edge_names = [keys[k] for k in chosen.tolist()]
        edges = _nonzero(_rows(model, chosen, L * L).reshape(-1, L, L))
    chosen = np.flatnonzero(~is_edge)
    states = _nonzero(_rows(model, chosen, L))
    names = [keys[k] for k in chosen.tolist()]
    try:
        return crf_of_weights(
            labels, names, states, transitions, way=template, edge_names=edge_names, edges=edges, reason=REASON
        )
    except InputError as error:
        raise StorageError("{}: {}", source, error) from None


def model_of(crf: CRF) -> CRFPPModel:
    """Make CRF++'s model of ours, or say why there is none."""
    template, p = _check(crf), crf.parameters_
    L, s = len(p.labels), p.structure
    blocks: dict[bytes, Float64Array] = {}
    assert p.states is not None
    for name, row in zip(p.states, _dense(s.state_offsets, s.state_labels, p.part("states"), L), strict=True):
        blocks[name.encode()] = row
    if p.edges is not None:
        pairs = s.edge_pairs[:, 0].astype(np.int64) * L + s.edge_pairs[:, 1]
        for name, row in zip(p.edges, _dense(s.edge_offsets, pairs, p.part("edges"), L * L), strict=True):
            blocks[name.encode()] = row
    if len(s.transitions):
        _add_bigram(blocks, template, p)
    keys = tuple(sorted(blocks))
    sizes = [len(blocks[key]) for key in keys]
    ids = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    if sum(sizes) >= 2**31:
        raise InputError("model: expected weights that 31 bits count, as CRF++ does, got {}", sum(sizes))
    weights = np.concatenate([blocks[key] for key in keys]) if keys else np.empty(0)
    lines = [line.text.encode() for line in (*template.states, *(line for line in template.lines if line.is_edge))]
    labels = tuple(label.encode() for label in p.labels)
    return CRFPPModel(labels, tuple(lines), keys, ids.astype(np.int32), weights, max(1, template.num_columns))


def _decoded(texts: Iterable[bytes], source: str) -> list[str]:
    try:
        return [text.decode() for text in texts]
    except UnicodeDecodeError as error:
        raise StorageError(
            "{}: expected labels, template and features in UTF-8, got {!r}; convert its text model "
            "(crf_learn -t, then iconv), or use tagline crf_test, which takes any encoding",
            source,
            error.object[:40],
        ) from None


def _rows(model: CRFPPModel, chosen: Sequence[int] | IntArray, width: int) -> Float64Array:
    if not len(chosen):
        return np.empty((0, width))
    return as_float64(model.rows(model.ids[np.asarray(chosen, np.int64)], width))


def _nonzero(table: Float64Array) -> FeatureWeights:
    places = np.nonzero(table)
    return FeatureWeights(np.stack(places, axis=1), table[places])


def _dense(offsets: IntArray, columns: NDArray[np.integer], weights: FloatArray, width: int) -> Float64Array:
    """Weights in compressed rows as a table, 0 where there is none."""
    table = np.zeros((len(offsets) - 1, width))
    table[np.repeat(np.arange(len(table)), np.diff(offsets)), columns] = weights
    return table


def _add_bigram(blocks: dict[bytes, Float64Array], template: Template, p: Parameters) -> None:
    """Add the weights of plain transitions, under the text of the B line that asks for them."""
    bigram = bigram_of(template)
    if bigram is None:
        raise InputError("model: expected a B line for its transitions, got a template without one")
    weights = p.matrix().reshape(-1)
    if not np.array_equal(blocks.setdefault(bigram.encode(), weights), weights):
        raise InputError("model: expected the line {!r} of its template once, got it twice; leave one out", bigram)


def _check(crf: CRF) -> Template:
    """Return the template of a model that CRF++ can hold; say what it cannot hold of another."""
    p, extraction = crf._fitted(), crf._extraction
    template = extraction.template
    if template is None:
        raise _refused(message("features of a template"), message("those of a program, or of the sentences themselves"))
    if crf._first is not None:
        raise _refused(message("one stage"), message("two; train with stages=1"))
    if template.dialect != "crfpp":
        raise _refused(message("a template of its own"), message("patterns of Wapiti; train with a template of CRF++"))
    if not template.is_crfpp:
        line = next(line for line in template.lines if not all(macro.is_crfpp for macro in line.macros))
        raise _refused(message("a template of CRF++"), message("an extension in {!r}", line.text))
    if p.states is None:
        raise _refused(message("names of attributes"), message("hashed ones (hash_bits)"))
    if extraction.dictionary is not None:
        raise _refused(message("no dictionary"), message("one"))
    if p.scheme is not None:
        raise _refused(message("no rules of a tag scheme"), message("those of {}; train with scheme=None", p.scheme))
    if p.part("start").any() or p.part("end").any():
        raise _refused(message("no weights at the ends of sentences"), message("some; train with start_end=False"))
    if p.order == 2:
        raise _refused(message("no label triples"), message("a model of order 2; train with order=1"))
    for label in p.labels:
        if not label or any(sign in label for sign in _SEPARATORS):
            raise _refused(message("labels without blanks"), repr(label))
    for name in (*p.states, *(p.edges or ())):
        if "\0" in name or "\n" in name:
            raise _refused(message("features without line breaks"), repr(name)[:60])
    return template


def _refused(expected: str, got: str) -> InputError:
    return InputError("model: expected {}, as CRF++ has it, got {}", expected, got)
