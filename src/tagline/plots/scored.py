"""One sentence with its scores and names: what the pictures of the engine are drawn from.

A chain has numbers only; a model scores a sentence and has names for its labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagline.checks import check_whole, is_listing, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.cutting import cut_for
from tagline.readers.corpus import Corpus, Sentence
from tagline.readers.raw_text import corpus_of_texts
from tagline.types import Chain, IntArray

MOST_PAIRS = 16_000_000  # numbers of the table of pairs: 128 MB


@dataclass(frozen=True, eq=False)
class Scored:
    """A chain of one sentence, its T tokens and L labels.

    Attributes:
        label_of: the label that each label of the chain stands for; themselves where the chain is over labels.
        places: where each token stands in the text, where a text was given; else None.
    """

    chain: Chain
    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    label_of: IntArray
    places: tuple[tuple[int, int], ...] | None = None

    @property
    def over_labels(self) -> bool:
        """Whether the labels of the chain are the labels of the model, and not pairs of them."""
        return type(self.chain) is Chain


def scored(source: Any, sentence: Any, known: Any, tokens: Any, labels: Any) -> Scored:
    """Score what the caller of a picture has.

    Arguments:
        source: a chain, a model, or (model, sentence).
        sentence: of a model, one as for `predict` or a text; of a chain of several, the number of one.
        known: what is known of the labels of a model's sentence.
        tokens, labels: names, where the source has none or others are wanted.
    """
    if isinstance(source, tuple) and len(source) == 2 and sentence is None:
        source, sentence = source
    if isinstance(source, Chain):
        if known is not None:
            raise InputError("known: expected None beside a chain; chain.constrain(chain, known=…) fixes labels")
        chain, words, names, places = _sentence_of(source, sentence), None, None, None
    elif hasattr(source, "chains"):
        chain, words, places = _chain_of(source, sentence, known)
        names = [str(label) for label in source.labels_]
    else:
        raise InputError("expected a Chain, or a model and a sentence, got {}", shown_value(source))
    T = chain.num_tokens
    label_of = np.asarray(getattr(chain, "labels", np.arange(chain.num_labels)), np.int64)
    L = len(names) if names is not None else chain.num_labels
    if T * chain.num_labels**2 > MOST_PAIRS:
        most = MOST_PAIRS // chain.num_labels**2
        raise InputError("expected a sentence of up to {:,} tokens for {} labels, got {:,}", most, chain.num_labels, T)
    return Scored(
        chain,
        _names("tokens", tokens, words or [str(t) for t in range(T)], T),
        _names("labels", labels, names or [str(label) for label in range(L)], L),
        label_of,
        places,
    )


def _sentence_of(chain: Chain, number: Any) -> Chain:
    """One sentence of a chain, as a chain of its own."""
    B = chain.num_sentences
    if number is None:
        if B != 1:
            raise InputError("expected a chain of one sentence, got {}; name one of them by number: sentence=0", B)
        return chain
    check_whole("sentence", number, 0, B - 1, wanted=message("a number below {}, as there are sentences", B))
    first, last = chain.offsets[number : number + 2]
    transitions = chain.transitions[first:last] if chain.per_position else chain.transitions
    return Chain(chain.emissions[first:last], transitions, chain.start, chain.end)


def _chain_of(model: Any, sentence: Any, known: Any) -> tuple[Chain, list[str], Any]:
    """Score one sentence; return its tokens beside it, and their places where it is a text."""
    if sentence is None:
        raise InputError("sentence: expected a sentence or a text beside a model, got None")
    X: Any = [sentence]
    places = None
    if isinstance(sentence, str):
        X = corpus_of_texts([sentence], cut_for(model))
        places = tuple((start, end) for start, end in X.token_spans.tolist())
    elif isinstance(sentence, Sentence):
        X = Corpus.from_sentences([sentence])
    elif not is_listing(sentence):
        raise InputError("sentence: expected a text, a list of tokens or a Sentence, got {}", shown_value(sentence))
    words = X.tokens[0] if isinstance(X, Corpus) else [_word(t, token) for t, token in enumerate(sentence)]
    chains = list(model.chains(X, **({} if known is None else {"known": [known]})))
    if not chains:  # nothing to score
        L = len(model.labels_)
        return Chain(np.empty((0, L)), np.zeros((L, L))), [], places
    return _sentence_of(chains[0], None), list(words), places


def _word(t: int, token: Any) -> str:
    """What a token is called: its word, its number where it is a set of features, its values where it has numbers."""
    if isinstance(token, str):
        return token
    if isinstance(token, tuple) and token and isinstance(token[0], str):
        return token[0]
    if isinstance(token, Mapping):
        return str(t)
    values = np.asarray(token)
    if values.dtype.kind in "iuf":
        return " ".join(f"{value:.4g}" for value in values.ravel().tolist())
    return str(t)


def _names(what: str, given: Any, own: Sequence[str], count: int) -> tuple[str, ...]:
    if given is None:
        return tuple(own)
    if not is_listing(given):
        raise InputError("{}: expected a list of {} names, got {}", what, count, shown_value(given))
    names = tuple(str(name) for name in given)
    if len(names) != count:
        raise InputError("{}: expected {} names, got {}", what, count, len(names))
    return names
