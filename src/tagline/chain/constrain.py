"""The one door for hard constraints: a chain in, the same chain with −∞ where something is forbidden out.

No engine function has a mask argument, so a constraint holds alike in training, decoding, marginals and samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.chain.checks import as_label_set, check_chain
from tagline.checks import as_array, check_whole, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.readers.rules import Rules
from tagline.types import BoolArray, Chain, LabelSet, place_of, sealed


def constrain(
    chain: Chain,
    *,
    rules: Rules | None = None,
    transitions: ArrayLike | None = None,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    allowed: ArrayLike | Mapping[int, LabelSet] | Sequence[LabelSet | None] | None = None,
    known: ArrayLike | None = None,
) -> Chain:
    """Return a chain in which everything that is not allowed scores −∞.

    Arguments:
        rules: of a tag scheme, from `tagline.readers.schemes.legal`: transitions, start and end at once.
        transitions: booleans ``[L, L]`` as ``[previous, next]`` (or ``[N, L, L]`` on a chain with transitions for
            each position), True where a label may follow another.
        start, end: booleans ``[L]``, True where a label may begin or end a sentence.
        allowed: the labels that each token may take: booleans ``[N, L]``; or a mapping from a token's index to a
            label or a set of labels; or a list with one entry a token, None where every label may stand.
        known: labels ``[N]``, negative where unknown.

    >>> import numpy as np
    >>> from tagline.chain import viterbi
    >>> free = Chain(np.zeros((3, 2)), np.zeros((2, 2)))
    >>> viterbi(constrain(free, known=[-1, 1, -1], transitions=[[True, True], [False, True]])).labels.tolist()
    [0, 1, 1]
    """
    check_chain(chain)
    if rules is not None and not isinstance(rules, Rules):
        raise InputError("rules: expected those of tagline.readers.schemes.legal, got {}", shown_value(rules))
    if rules is not None:
        chain = constrain(chain, transitions=rules.transitions, start=rules.start, end=rules.end)
    L = chain.num_labels
    emissions = chain.emissions
    if allowed is not None:
        emissions = _forbid(emissions, _allowed_rows(chain, allowed))
    if known is not None:
        emissions = _forbid(emissions, _known_rows(chain, known))
    pairs = chain.transitions
    if transitions is not None:
        pairs = _forbid(pairs, _rules("transitions", transitions, (L, L), chain.transitions.shape))
    first = chain.start if start is None else _forbid(chain.start, _rules("start", start, (L,)))
    last = chain.end if end is None else _forbid(chain.end, _rules("end", end, (L,)))
    return Chain(emissions, pairs, first, last, chain.offsets)


def _forbid(scores: NDArray[Any], allowed: BoolArray) -> NDArray[Any]:
    return sealed(np.where(allowed, scores, scores.dtype.type(-np.inf)))


def _rules(name: str, rules: ArrayLike, *shapes: tuple[int, ...]) -> BoolArray:
    allowed = as_array(name, rules)
    if allowed.shape not in shapes:
        wanted = message(" or ").join(str(list(shape)) for shape in dict.fromkeys(shapes))
        raise InputError("{}: expected booleans of shape {}, got shape {}", name, wanted, list(allowed.shape))
    if allowed.dtype != np.bool_:
        raise InputError(
            "{}: expected booleans (True = allowed), got dtype {}; use rules > 0 or the like", name, allowed.dtype
        )
    return allowed


def _allowed_rows(chain: Chain, allowed: Any) -> BoolArray:
    N, L = chain.emissions.shape
    if isinstance(allowed, np.ndarray):
        return _rules("allowed", allowed, (N, L))
    rows = np.ones((N, L), np.bool_)
    for n, labels in _entries(allowed, N):
        check_whole("allowed", n, 0, N - 1, wanted=message("tokens from 0 to {}", N - 1))
        if labels is not None:
            rows[n] = as_label_set(f"allowed[{n}]", L, labels)
    return rows


def _entries(allowed: Any, num_tokens: int) -> Iterable[tuple[Any, Any]]:
    if isinstance(allowed, Mapping):
        return allowed.items()
    if not isinstance(allowed, Sequence) or isinstance(allowed, str):
        raise InputError("allowed: expected an array, a mapping or a list of label sets, got {}", shown_value(allowed))
    if len(allowed) != num_tokens:
        raise InputError(
            "allowed: expected {} entries, one a token (None = every label), got {}", num_tokens, len(allowed)
        )
    return enumerate(allowed)


def _known_rows(chain: Chain, known: ArrayLike) -> BoolArray:
    N, L = chain.emissions.shape
    labels = as_array("known", known)
    if labels.shape != (N,) or (labels.size and labels.dtype.kind not in "iu"):
        raise InputError(
            "known: expected integers of shape [{}], negative where unknown, got {} {}",
            N,
            labels.dtype,
            list(labels.shape),
        )
    labels = labels.astype(np.int64) if not N else labels
    wrong = np.flatnonzero(labels >= L)
    if len(wrong):
        place = f"known[{wrong[0]}]{place_of(chain.offsets, int(wrong[0]))}"
        raise InputError("{}: expected labels up to {}, got {}", place, L - 1, labels[wrong[0]])
    return np.asarray((labels < 0)[:, None] | (labels[:, None] == np.arange(L)), np.bool_)
