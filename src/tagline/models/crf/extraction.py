"""How a feature CRF gets its features: by a template, by a Python function, or ready-made by the caller.

Each way takes the sentences that `fit` and `predict` are given and leaves numbered attributes. A template reads tokens
and further columns; a function turns one sentence into a list with the features of each token; without either the
sentences are lists of features already, as sklearn-crfsuite takes them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tagline.checks import check_whole, shown_value
from tagline.errors import InputError
from tagline.features.attributes import Expanded
from tagline.features.documents import document_numbers
from tagline.features.expansion import MOST_HASH_BITS, expand
from tagline.features.items import items_to_features
from tagline.features.knowledge import Knowledge
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.features.lexicons.gazetteers import COLUMN
from tagline.features.mentions import mention_columns, resolved
from tagline.features.templates.sets import load_set, sets
from tagline.features.templates.template import Template
from tagline.features.vectors import add_vectors
from tagline.features.vocabulary import Vocabulary
from tagline.messages import message
from tagline.models.sentences import tokens_as_corpus
from tagline.readers.adapters import corpus_of
from tagline.readers.corpus import TAG, Corpus

FeatureFunction: TypeAlias = Callable[[Any], Sequence[Any]]
Way: TypeAlias = str | Path | Template | FeatureFunction | None
Vocabularies: TypeAlias = tuple[Vocabulary | None, Vocabulary | None]

MOST_COUNT = 2**62  # no attribute occurs so often


class Extraction:
    """One way to features, the same in training and in tagging.

    Arguments:
        way: a `Template`, the name of a ready-made set, the path or the text of a template; a function
            sentence → features of each token; None where sentences are features already.
        hash_bits: number attributes by their hash instead of keeping names.
        dictionary: whose matches are one more column for the template, where its priority is "feature"; with the other
            priorities they bind decoding or fill what it leaves.
        knowledge: clusters, vectors and other mentions for the template, which gets lines for them where it has none.

    Attributes:
        template: as it is written; None without one.
        looking: the same with columns in the place of other mentions, which `documented` adds to sentences.
    """

    def __init__(
        self,
        way: Way,
        hash_bits: int | None = None,
        dictionary: Dictionary | None = None,
        knowledge: Knowledge | None = None,
    ) -> None:
        check_whole(
            "hash_bits",
            hash_bits,
            1,
            MOST_HASH_BITS,
            optional=True,
            wanted=message("1 to {}", MOST_HASH_BITS),
        )
        if dictionary is not None and not isinstance(dictionary, Dictionary):
            raise InputError("dictionary: expected a Dictionary or None, got {}", shown_value(dictionary))
        self.template, self.looking = as_template(way), None
        self.knowledge = Knowledge() if knowledge is None else knowledge
        if self.template is not None:
            self.template = self.knowledge.informed(self.template)
            if self.knowledge.vectors is not None and hash_bits is not None:
                raise InputError("hash_bits: expected None beside vectors, got {}", hash_bits)
            self.looking = resolved(self.template, max(1, self.template.num_columns))
        elif self.knowledge:
            raise InputError(
                "clusters, vectors, mentions: expected a template beside them, got features of another kind"
            )
        self.function = way if callable(way) else None
        self.hash_bits = None if hash_bits is None else int(hash_bits)
        self.dictionary = dictionary
        if dictionary is not None and dictionary.priority == "feature" and self.template is None:
            raise InputError("dictionary: expected a template to add a column for, got features of another kind")
        if dictionary is not None and way is None:
            raise InputError(
                "dictionary: expected sentences of tokens, by a template or a function, got ready features"
            )

    @property
    def way(self) -> Way:
        """The template or the function, None without either."""
        return self.template or self.function

    def build(self, X: Any, edges: Any = None, min_frequency: float = 0) -> Expanded:
        """Number the attributes of sentences and keep their names."""
        self.refuse_edges(edges)
        if self.looking is not None:
            least = min(max(1, math.ceil(min_frequency)), MOST_COUNT)
            corpus = self.corpus(X)
            expanded = expand(self.looking, corpus, min_frequency=least, hash_bits=self.hash_bits)
            return self._with_vectors(expanded, corpus)
        items, edge_items = self._items(X, edges)
        return items_to_features(items, edge_items, min_frequency=float(min_frequency), hash_bits=self.hash_bits)

    def look_up(self, X: Any, vocabularies: Vocabularies, edges: Any = None) -> Expanded:
        """Number the attributes that are known; the others are left out."""
        if self.looking is not None:
            known = None if self.hash_bits else (vocabularies[0], vocabularies[1])
            corpus = self.corpus(X, known=True)
            expanded = expand(self.looking, corpus, known, hash_bits=self.hash_bits)  # type: ignore[arg-type]
            return self._with_vectors(expanded, corpus, known=True)
        items, edge_items = self._items(X, edges)
        if self.hash_bits:
            return items_to_features(items, edge_items, hash_bits=self.hash_bits)
        if edges is None:
            vocabularies = (vocabularies[0], None)
        return items_to_features(items, edge_items, vocabularies)

    def _with_vectors(self, expanded: Expanded, corpus: Corpus, known: bool = False) -> Expanded:
        vectors = self.knowledge.vectors
        if self.looking is None or vectors is None:
            return expanded
        return add_vectors(expanded, self.looking.vector_lines, vectors, corpus, known)

    def refuse_edges(self, edges: Any) -> None:
        """Raise where edge attributes are given beside a template, which has its own."""
        if edges is not None and self.looking is not None:
            raise InputError(
                "edges: a template makes edge attributes itself, by its B lines; give edges beside features of your "
                "own alone"
            )

    def refuse_mentions(self, what: str) -> None:
        """Raise where the template looks at other mentions of words, and documents are not known."""
        if self.template is not None and self.template.num_mentions:
            raise InputError(
                "features: expected a template without mention1 … mention9 for {}, got one with them", what
            )

    def documented(self, X: Any, documents: Any = None, *, known: bool = False) -> Any:
        """Return sentences with what their documents have at other mentions; as they are where the template asks not.

        Arguments:
            documents: as for `tagline.features.documents.document_numbers`.
            known: as for `corpus`.
        """
        template = self.template
        if template is None or not template.num_mentions:
            return X
        corpus = self.corpus(X, known=known)
        template.check_columns([name for name in corpus.names if name != TAG])
        width, numbers = max(1, template.num_columns), document_numbers(corpus, documents)
        return mention_columns(corpus, template, width, numbers)

    def corpus(self, X: Any, *, known: bool = False) -> Corpus:
        """Sentences of tokens as a corpus, with the dictionary's column; that of `learn_dictionary` stays.

        Arguments:
            known: whether the model has learned before, and the template's last column is that of the dictionary.
                Columns that it does not look at may follow.
        """
        corpus = tokens_as_corpus(X, 1 if self.template is None else self.template.num_columns)
        if self.dictionary is None or self.dictionary.priority != "feature" or COLUMN in corpus.columns:
            return corpus
        columns = [name for name in corpus.names if name != TAG]
        looked_at = len(columns) + 1 if self.template is None else self.template.num_columns
        if known and 1 < looked_at <= len(columns):
            columns = columns[: looked_at - 1]
        place = len(columns)
        if looked_at <= place and len(corpus):
            raise InputError(
                "dictionary: expected a template line for column {0}, its matches, got none; add for instance "
                "U90:%x[0,{0}]",
                place,
            )
        return with_matches(corpus, self.dictionary, columns)

    def _items(self, X: Any, edges: Any) -> tuple[Any, Any]:
        if X is None:
            raise InputError("X: expected a list of sentences, got None")
        corpus = corpus_of(X)
        if self.function is None:
            if corpus is not None:
                raise InputError(
                    "features: expected a template or a function for sentences of tokens, got None; pass "
                    "features= one of {}, a template, or a function sentence → features",
                    ", ".join(sets()),
                )
            return X, edges
        items = []
        for b, sentence in enumerate(X if corpus is None else corpus):
            made, size = self.function(sentence), len(sentence)
            if not isinstance(made, Iterable):
                raise InputError(
                    "sentence {}: expected features of {} tokens from {}, got {}",
                    b,
                    size,
                    _name(self.function),
                    shown_value(made),
                )
            features = list(made)
            if len(features) != size:
                raise InputError(
                    "sentence {}: expected features of {} tokens from {}, got {}",
                    b,
                    size,
                    _name(self.function),
                    len(features),
                )
            items.append(features)
        return items, edges


def with_matches(corpus: Corpus, dictionary: Dictionary, before: Sequence[str]) -> Corpus:
    """Return a corpus with the matches of a dictionary behind these columns; those that it has already are moved."""
    matches = corpus.columns[COLUMN] if COLUMN in corpus.columns else dictionary.column(corpus)
    columns = {name: corpus.columns[name] for name in before} | {COLUMN: matches}
    return corpus.with_columns(columns | {name: column for name, column in corpus.columns.items() if name != COLUMN})


def as_template(way: Way) -> Template | None:
    """Return the template that a name, a path or a text stands for; None for functions and None."""
    if way is None or isinstance(way, Template) or callable(way):
        return way if isinstance(way, Template) else None
    if isinstance(way, Path):
        return Template.read(way)
    if not isinstance(way, str):
        raise InputError(
            "features: expected a template, a name, a path, a function or None, got {}", type(way).__name__
        )
    if way in sets():
        return load_set(way)
    if "\n" in way or "%" in way:
        return Template.parse(way)
    with contextlib.suppress(OSError):  # a name that is too long for a file
        if Path(way).is_file():
            return Template.read(way)
    raise InputError(
        "features: expected one of {}, the path of a template or its text, got {}; there is no such file",
        ", ".join(sets()),
        shown_value(way),
    )


def looks_at_mentions(crf: Any) -> bool:
    """Say whether the settings of a CRF make it look at other mentions of words."""
    template = as_template(crf.features)
    return template is not None and (crf.mentions > 0 or template.num_mentions > 0)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", function))
