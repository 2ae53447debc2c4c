"""Everything that is computed about one sentence: scores, sums, maxima, probabilities. For the page that plays them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagline import chain as engine
from tagline.messages import message
from tagline.serving.answers import known_labels, prepare
from tagline.serving.problems import ProblemError
from tagline.serving.requests import TrellisRequest
from tagline.serving.shelf import ServedModel
from tagline.types import Chain

MOST_CELLS = 200_000  # numbers of a table of pairs
LEAST = 0.001  # probability of a pair that is told


def trellis(served: ServedModel, request: TrellisRequest, most: int) -> dict[str, Any]:
    """Return the tables of one sentence of a request."""
    prepared = prepare(served, [request], most)
    known = known_labels(served, [request], prepared)
    B = len(prepared.offsets) - 1
    if request.sentence >= B:
        detail = message(
            "sentence: expected a number below {}, the sentences of the request, got {}", B, request.sentence
        )
        raise ProblemError(422, detail, field="sentence")
    first, last = prepared.offsets[request.sentence : request.sentence + 2].tolist()
    chain = _chain_of(served, prepared.X, known, request.sentence)
    T, L = chain.emissions.shape
    if last - first != T or len(served.labels) != L:
        raise ProblemError(
            422,
            message("model: a {} model has no table of tokens and labels", served.model.kind),
            field="model",
        )
    if T * L * L > MOST_CELLS:
        detail = message("expected a sentence of up to {} tokens for {} labels, got {}", MOST_CELLS // (L * L), L, T)
        raise ProblemError(413, message("{}; send a shorter one", detail))
    tokens: list[dict[str, Any]] = [{"text": word} for word in prepared.words[first:last]]
    if prepared.texts:
        places = prepared.bounds[request.sentence, 0] + prepared.places[first:last]
        for token, (start, end) in zip(tokens, places.tolist(), strict=True):
            token.update(start=start, end=end)
    return {"model": served.name, "labels": served.labels, "tokens": tokens, **tables(chain)}


def _chain_of(served: ServedModel, X: Any, known: Any, sentence: int) -> Chain:
    done = 0
    for chain in served.model.chains(X, **({} if known is None else {"known": known})):
        if type(chain) is not Chain:  # over pairs of labels
            raise ProblemError(
                422, message("model: a {} model has no table of labels", served.model.kind), field="model"
            )
        if sentence < done + chain.num_sentences:
            first, last = chain.offsets[sentence - done : sentence - done + 2]
            transitions = chain.transitions[first:last] if chain.per_position else chain.transitions
            return Chain(chain.emissions[first:last], transitions, start=chain.start, end=chain.end)
        done += chain.num_sentences
    raise ProblemError(422, message("text: expected a sentence with tokens, got none"), field="text")


def tables(chain: Chain) -> dict[str, Any]:
    """Return all tables of a chain with one sentence as plain lists; −∞ becomes None when they are written."""
    answer = engine.marginals(chain, edges=True)
    assert answer.edges is not None
    ranked = engine.k_best(chain, 2)[0]
    table = engine.viterbi_table(chain)
    edges = [
        {"t": t, "from": i, "to": j, "p": float(answer.edges[t, i, j])}
        for t, i, j in np.argwhere(answer.edges >= LEAST).tolist()
    ]
    second = len(ranked.labels) > 1
    return {
        "emissions": chain.emissions.tolist(),
        "transitions": chain.transitions.tolist(),
        "start": chain.start.tolist(),
        "end": chain.end.tolist(),
        "log_alpha": engine.forward(chain).tolist(),
        "log_beta": engine.backward(chain).tolist(),
        "log_z": float(answer.log_z[0]),
        "viterbi": table.scores.tolist(),
        "back": table.back.tolist(),
        "nodes": answer.nodes.tolist(),
        "edges": edges,
        "best": ranked.labels[0].tolist(),
        "probability": float(ranked.probabilities[0]),
        "runner_up": ranked.labels[1].tolist() if second else None,
        "runner_up_probability": float(ranked.probabilities[1]) if second else None,
    }
