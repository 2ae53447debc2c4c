"""The classes of CRF++'s Python module, ``CRFPP.Tagger`` and ``CRFPP.Model``, over a model file of CRF++.

Options come as one string, as for crf_test: ``Tagger("-m model -v 3 -n2")``. Where CRF++ would crash, at a token or a
label that is not there, an `IndexError` is raised; where it throws, a `RuntimeError`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, overload

import numpy as np

from tagline.chain import backward, forward, k_best, log_partition, viterbi
from tagline.errors import TaglineError
from tagline.interop.crfpp.arguments import parse
from tagline.interop.crfpp.column_file import BYTES, ColumnSentences, split_lines
from tagline.interop.crfpp.commands import TEST
from tagline.interop.crfpp.opening import open_scoring
from tagline.interop.crfpp.output import Wish, write_chain
from tagline.messages import message
from tagline.types import Chain, Float64Array, IntArray

MORE = 16  # labellings that `next` looks up at once, at first


class Model:
    """A model that several taggers share.

    Arguments:
        arg: options, of which ``-m`` names the file.

    >>> import tempfile
    >>> import tagline
    >>> from tagline.interop import crfpp
    >>> from tagline.interop.formats import write_model
    >>> crf = tagline.CRF("U00:%x[0,0]", c2=0.1).fit([["Anna", "sings"]], [["N", "V"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(crf, f"{folder}/model", "crfpp")
    ...     tagger = crfpp.Model(f"-m {folder}/model").createTagger()
    >>> tagger.ysize()
    2
    """

    def __init__(self, arg: str) -> None:
        try:
            given = parse(TEST, arg.split())
            self._scoring = open_scoring(given)
            self._wish = Wish(given.whole("nbest", 0), given.whole("verbose", 0))
        except (TaglineError, OSError) as error:
            raise RuntimeError(str(error)) from None

    def createTagger(self) -> Tagger:
        """Return a tagger over this model."""
        tagger = Tagger.__new__(Tagger)
        tagger._open(self)
        return tagger

    def getTemplate(self) -> str:
        """Return the lines of the template."""
        return "".join(f"{_text(line.decode(BYTES))}\n" for line in self._scoring.model.template)

    def what(self) -> str:
        """Return the last error; errors are raised here, so there is none."""
        return ""


class _Parsed:
    """The answers about one sentence, each found when it is asked for."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.labels: IntArray = viterbi(chain).labels
        self.rank = 0

    @cached_property
    def log_z(self) -> float:
        return float(log_partition(self.chain)[0])

    @cached_property
    def alpha(self) -> Float64Array:
        return forward(self.chain)

    @cached_property
    def beta(self) -> Float64Array:
        """CRF++'s β has the token's own score in it."""
        return np.asarray(backward(self.chain) + self.chain.emissions)

    @cached_property
    def best(self) -> Float64Array:
        """The score of the best beginning that ends in each label, ``[T, L]``."""
        out = np.array(self.chain.emissions, np.float64)
        for t in range(1, len(out)):
            out[t] += (out[t - 1][:, None] + self.transitions(t)).max(axis=0)
        return out

    def transitions(self, t: int) -> Float64Array:
        """The scores that lead into token t."""
        return np.asarray(self.chain.transitions[t] if self.chain.per_position else self.chain.transitions)

    def score(self) -> float:
        """Of the labelling of now."""
        labels = self.labels
        nodes = self.chain.emissions[np.arange(len(labels)), labels].sum()
        pairs = (self.transitions(t)[labels[t - 1], labels[t]] for t in range(1, len(labels)))
        return float(nodes + sum(pairs))

    def advance(self) -> bool:
        """Go to the next best labelling; the first time, to the best."""
        known = self._ranked
        if self.rank >= len(known) and len(known) == self._asked:
            self._asked *= 4
            known = self._ranked = k_best(self.chain, self._asked)[0].labels
        if self.rank >= len(known):
            return False
        self.labels = known[self.rank]
        self.rank += 1
        return True

    _asked = MORE

    @cached_property
    def _ranked(self) -> IntArray:
        return k_best(self.chain, self._asked)[0].labels


class Tagger:
    """Labels a sentence that is added token by token, or a text of sentences.

    Arguments:
        arg: options as for crf_test: ``-m`` the model, ``-v`` and ``-n`` what to tell, ``-c`` the cost factor.

    >>> import tempfile
    >>> import tagline
    >>> from tagline.interop import crfpp
    >>> from tagline.interop.formats import write_model
    >>> crf = tagline.CRF("U00:%x[0,0]", c2=0.1).fit([["Anna", "sings"]], [["N", "V"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(crf, f"{folder}/model", "crfpp")
    ...     tagger = crfpp.Tagger(f"-m {folder}/model")
    >>> tagger.add("Anna"), tagger.add("sings"), tagger.parse()
    (True, True, True)
    >>> [tagger.y2(i) for i in range(tagger.size())]
    ['N', 'V']
    """

    _answers: _Parsed | None

    def __init__(self, arg: str) -> None:
        self._open(Model(arg))

    def _open(self, model: Model) -> None:
        self._scoring, self._wish = model._scoring, model._wish
        self.clear()

    def set_model(self, model: Model) -> bool:
        """Use another model from now on."""
        self._open(model)
        return True

    # The sentence.

    def add(self, line: str) -> bool:
        """Add a token: its columns, with blanks or tabs between them."""
        (row,) = split_lines([_bytes(line)]).rows or [[]]
        if len(row) < self.xsize():
            return False
        self._rows.append(row)
        self._answers = None  # they are of a shorter sentence
        return True

    def clear(self) -> bool:
        """Forget the sentence."""
        self._rows: list[list[str]] = []
        self._penalties: dict[tuple[int, int], float] = {}
        self._answers = None
        return True

    def empty(self) -> bool:
        """Say whether no token was added."""
        return not self._rows

    @overload
    def parse(self) -> bool: ...
    @overload
    def parse(self, text: str) -> str: ...
    def parse(self, text: str | None = None) -> bool | str:
        """Label the sentence that was added; or the first sentence of a text, and return it as crf_test writes it."""
        if text is None:
            self._answers = self._answered() if self._rows else None
            return True
        self.clear()
        sentences = split_lines(_bytes(text).split("\n"))
        if any(len(row) < self.xsize() for row in sentences.rows):
            raise RuntimeError(message("expected {} columns or more in each line, got fewer", self.xsize()))
        self._rows = sentences.rows[: sentences.lengths[0]] if sentences.lengths else []
        self.parse()
        return self.toString() if self._rows else ""

    def toString(self) -> str:
        """Return the sentence with its labels as crf_test writes it."""
        return _text("".join(write_chain(self._parsed().chain, self._rows, self._scoring.labels, self._wish)))

    def _answered(self) -> _Parsed:
        corpus = ColumnSentences(self._rows, [len(self._rows)], "<tagger>").corpus(self.xsize())
        chain = self._scoring.chain(corpus)
        if self._penalties:
            emissions = np.array(chain.emissions)
            for (i, j), penalty in self._penalties.items():
                if i < len(emissions):
                    emissions[i, j] += penalty
            chain = Chain(emissions, chain.transitions, chain.start, chain.end, chain.offsets)
        return _Parsed(chain)

    def next(self) -> bool:
        """Go to the next best labelling, the best one first; False where there is none."""
        return self._parsed().advance()

    # What is known of it.

    def size(self) -> int:
        """Return how many tokens there are."""
        return len(self._rows)

    def xsize(self) -> int:
        """Return how many columns the model looks at."""
        return self._scoring.model.xsize

    def ysize(self) -> int:
        """Return how many labels there are."""
        return len(self._scoring.labels)

    def dsize(self) -> int:
        """Return how many weights there are."""
        return len(self._scoring.model.weights)

    def x(self, i: int, j: int) -> str:
        """Return column j of token i."""
        return _text(self._rows[_index(i, self.size())][_index(j, len(self._rows[i]))])

    def y(self, i: int) -> int:
        """Return the number of the label of token i."""
        return int(self._parsed().labels[_index(i, self.size())])

    result = y

    def answer(self, i: int) -> int:
        """Return the right label of token i, which is known in training only: 0."""
        _index(i, self.size())
        return 0

    def y2(self, i: int) -> str:
        """Return the label of token i."""
        return self.yname(self.y(i))

    def yname(self, i: int) -> str:
        """Return the label of a number."""
        return _text(self._scoring.labels[_index(i, self.ysize())])

    # Scores and probabilities.

    def prob(self, *place: int) -> float:
        """Return the probability of the labelling; of the label of token i; or of label j at token i."""
        answers = self._parsed()
        if not place:
            return float(np.exp(answers.score() - answers.log_z))
        i, j = place if len(place) == 2 else (place[0], self.y(place[0]))
        both = self.alpha(i, j) + self.beta(i, j) - self.emission_cost(i, j)
        return float(np.exp(both - answers.log_z))

    def Z(self) -> float:
        """Return log Z."""
        return self._parsed().log_z

    def alpha(self, i: int, j: int) -> float:
        """Return log α of label j at token i."""
        return self._at(lambda answers: answers.alpha, i, j)

    def beta(self, i: int, j: int) -> float:
        """Return log β of label j at token i, with the score of that label there."""
        return self._at(lambda answers: answers.beta, i, j)

    def emission_cost(self, i: int, j: int) -> float:
        """Return the score of label j at token i."""
        return self._at(lambda answers: np.asarray(answers.chain.emissions), i, j)

    def best_cost(self, i: int, j: int) -> float:
        """Return the score of the best beginning that gives label j to token i."""
        return self._at(lambda answers: answers.best, i, j)

    def next_transition_cost(self, i: int, j: int, k: int) -> float:
        """Return the score of label k at token i + 1 after label j at token i."""
        return self._between(i + 1, j, k)

    def prev_transition_cost(self, i: int, j: int, k: int) -> float:
        """Return the score of label j at token i after label k at token i − 1."""
        return self._between(i, k, j)

    def _at(self, table: Callable[[_Parsed], Any], i: int, j: int) -> float:
        return float(table(self._parsed())[_index(i, self.size()), _index(j, self.ysize())])

    def _between(self, t: int, before: int, label: int) -> float:
        if not 1 <= t < self.size():
            raise IndexError(message("token {}: expected 1 to {}, which have a token before them", t, self.size() - 1))
        L = self.ysize()
        return float(self._parsed().transitions(t)[_index(before, L), _index(label, L)])

    def _parsed(self) -> _Parsed:
        if self._answers is None:
            raise RuntimeError(message("expected a sentence that was parsed, got none; call add, then parse"))
        return self._answers

    # Settings.

    def set_penalty(self, i: int, j: int, penalty: float) -> None:
        """Add to the score of label j at token i, from the next `parse` on."""
        self._penalties[_index(i, self.size()), _index(j, self.ysize())] = float(penalty)

    def penalty(self, i: int, j: int) -> float:
        """Return what is added to the score of label j at token i."""
        return self._penalties.get((i, j), 0.0)

    def set_vlevel(self, level: int) -> None:
        """Set what `toString` tells, as ``-v`` does."""
        self._wish = Wish(self._wish.nbest, level)

    def vlevel(self) -> int:
        """Return the level of detail."""
        return self._wish.verbose

    def set_nbest(self, nbest: int) -> None:
        """Set how many labellings `toString` lists, as ``-n`` does."""
        self._wish = Wish(nbest, self._wish.verbose)

    def nbest(self) -> int:
        """Return how many labellings are listed."""
        return self._wish.nbest

    def set_cost_factor(self, factor: float) -> None:
        """Multiply all scores, as ``-c`` does; a factor that is not positive is passed over."""
        if factor > 0:
            self._scoring.cost_factor = float(factor)

    def cost_factor(self) -> float:
        """Return what scores are multiplied by."""
        return self._scoring.cost_factor

    def what(self) -> str:
        """Return the last error; errors are raised here, so there is none."""
        return ""


def _index(number: int, size: int) -> int:
    if not 0 <= number < size:
        raise IndexError(message("expected a number from 0 to {}, got {}", size - 1, number))
    return number


def _bytes(text: str) -> str:
    """Text as CRF++ sees it: a character a byte of its UTF-8."""
    return text.encode(errors="surrogateescape").decode(BYTES)


def _text(bytes_as_text: str) -> str:
    return bytes_as_text.encode(BYTES).decode(errors="surrogateescape")
