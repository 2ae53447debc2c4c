"""NLTK's `TnT` over `tagline.TrigramTagger`: trigrams of tags, endings for unknown words; its search is exact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tagline.errors import InputError
from tagline.interop.nltk.tag.api import TaggedSentence, TaggerI, check_sentences, check_tokens, untagged
from tagline.models.trigram.estimator import TrigramTagger

SENTENCE_ENDS = (".", "!", "?", ";")
UNTRAINED = "Unk"


class TnT(TaggerI):  # type: ignore[misc]
    """A trigram tagger after Brants (2000).

    Arguments:
        unk: a tagger for words that training does not have; left out, their endings decide.
        Trained: whether `unk` is trained already; otherwise the first `train` trains it, too.
        N: the width of NLTK's beam. It has no effect, for every path is looked at.
        C: tell words with a capital from others in the context, too.

    `known` and `unknown` count the words that were tagged.

    >>> tagger = TnT()
    >>> tagger.train([[("the", "D"), ("dog", "N"), ("runs", "V")], [("a", "D"), ("cat", "N"), ("sits", "V")]])
    >>> tagger.tag(["the", "cat", "runs"])
    [('the', 'D'), ('cat', 'N'), ('runs', 'V')]
    """

    def __init__(self, unk: Any = None, Trained: bool = False, N: int = 1000, C: bool = False) -> None:
        if isinstance(N, bool) or not isinstance(N, int) or N < 1:
            raise InputError("N: expected a whole number of at least 1, got {!r}", N)
        self._unk = unk
        self._unk_trained = Trained
        self._capitals = C
        self._vocabulary: set[str] = set()
        self.model: TrigramTagger | None = None
        """What was learned; with it come probabilities, the best k and files."""
        self.known = self.unknown = 0

    def train(self, data: Iterable[TaggedSentence]) -> None:
        """Learn from tagged sentences; what was learned before is forgotten."""
        pairs = [untagged(sentence, f"data, sentence {number}") for number, sentence in enumerate(data)]
        if self._unk is not None and not self._unk_trained:
            self._unk.train([list(zip(*pair, strict=True)) for pair in pairs])
        self._unk_trained = True
        pairs = [(tokens, tags) for tokens, tags in pairs if tokens]
        self._vocabulary = {token for tokens, _ in pairs for token in tokens}
        self.model = TrigramTagger(capitals=self._capitals).fit(*map(list, zip(*pairs, strict=True))) if pairs else None

    def tag(self, tokens: Sequence[str], segment: bool = False) -> TaggedSentence:
        """Return the tokens of a sentence with their tags; with `segment`, of several that ``. ! ? ;`` end."""
        check_tokens(tokens)
        return [pair for sentence in self.tag_sents(_cut(tokens) if segment else [tokens]) for pair in sentence]

    def tagdata(self, data: Iterable[Sequence[str]], segment: bool = False) -> list[TaggedSentence]:
        """Tag each of several sentences."""
        check_sentences("tagdata", data)
        return [self.tag(tokens, segment) for tokens in data] if segment else self.tag_sents(data)

    def tag_sents(self, sentences: Iterable[Sequence[str]]) -> list[TaggedSentence]:
        """Tag each of several sentences."""
        check_sentences("tag_sents", sentences)
        rows = [list(tokens) for tokens in sentences]
        tags = self._predict([tokens for tokens in rows if tokens])
        return [list(zip(tokens, next(tags), strict=True)) if tokens else [] for tokens in rows]

    def _predict(self, rows: list[list[str]]) -> Iterator[list[str]]:
        """Return the tags of sentences that have tokens; those of words that `unk` tags are given."""
        given = [[self._given(token) for token in tokens] for tokens in rows]
        if self.model is None or not rows:
            return iter([[tag or UNTRAINED for tag in tags] for tags in given])
        labels = set(self.model.labels_)
        known = [[tag if tag in labels else None for tag in tags] for tags in given]
        found = self.model.predict(rows, known=known if self._unk is not None else None)
        return iter(
            [[one or other for one, other in zip(*pair, strict=True)] for pair in zip(given, found, strict=True)]
        )

    def _given(self, token: str) -> str | None:
        """Count a word, and ask the tagger of unknown words for its tag where there is one."""
        if token in self._vocabulary:
            self.known += 1
            return None
        self.unknown += 1
        if self._unk is None:
            return None
        tagged = list(self._unk.tag([token]))
        if len(tagged) != 1:
            raise InputError("unk: expected one tag for {!r}; it returned {} tags for 1 word", token, len(tagged))
        return str(tagged[0][1])


def _cut(tokens: Sequence[str]) -> list[list[str]]:
    """Part tokens behind each mark that ends a sentence."""
    sentences: list[list[str]] = [[]]
    for token in tokens:
        sentences[-1].append(token)
        if token in SENTENCE_ENDS:
            sentences.append([])
    return sentences
