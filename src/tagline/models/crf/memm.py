"""`MEMM` and `MaxEnt`: a CRF's features and settings, with each token normalised by itself.

    CRF      p(y | x) = exp(Σ_n s_n(y_(n−1), y_n)) / Z(x)              one normaliser for the whole sentence
    MEMM     p(y | x) = Π_n exp(s_n(y_(n−1), y_n)) / N_n(y_(n−1))      one for each token and label before it
    MaxEnt   p(y | x) = Π_n exp(s_n(y_n)) / N_n                        one for each token; labels do not see each other

They are trained with the label before as the sentences have it (McCallum, Freitag & Pereira 2000), so that a pass needs
no forward–backward. Answers come from the same chains as a CRF's (`tagline.features.local_scores`).
"""

from __future__ import annotations

from typing import ClassVar

from tagline.models.crf.estimator import CRF
from tagline.models.crf.settings import MEMM_CLASHES, UNCHAINED_CLASHES
from tagline.models.crf.tagger import MaxEntTagger, MEMMTagger


class MEMM(MEMMTagger, CRF):
    """A maximum-entropy Markov model: p(y_n | y_(n−1), x) from features, and the product over the sentence.

    Arguments are those of `CRF`; ``algorithm`` is not one of ap, pa and arow. The objective is the same with the MEMM's
    own p(y | x): Σ over tokens of −log p(y_n | y_(n−1), x), plus c1·|w|₁ + c2·|w|².

    - With a tag scheme, each normaliser runs over the labels that may stand there: after the label before, at the
      start, at the end.
    - A label that is not known in training is summed over: −log of the probability of all labellings that fit.
    - Known labels and other constraints of an answer condition the product: p(y | x, what is known), renormalised over
      the whole sentence, not token by token.

    A label with few likely successors passes its probability on whatever it sees there (label bias); a CRF does not.

    >>> X = [[{"word": "Anna"}, {"word": "sings"}], [{"word": "Bob"}, {"word": "sings"}]]
    >>> MEMM(c2=0.1).fit(X, [["N", "V"], ["N", "V"]]).predict([[{"word": "Bob"}, {"word": "runs"}]])
    [['N', 'V']]
    """

    local: ClassVar[bool] = True
    clashes = MEMM_CLASHES


class MaxEnt(MaxEntTagger, CRF):
    """A maximum-entropy classifier of tokens: each label from the features of its token alone.

    Arguments are those of `CRF`; `all_possible_transitions` is not used, B lines of a template are left out. The
    objective is Σ over tokens of −log p(y_n | x), plus c1·|w|₁ + c2·|w|². It is logistic regression with a CRF's
    features and files.

    With a tag scheme, tokens are learned one by one all the same; the rules hold in answers: p(y | x, y is legal).

    >>> X = [[{"word": "Anna"}, {"word": "sings"}], [{"word": "Bob"}, {"word": "sings"}]]
    >>> MaxEnt(c2=0.1).fit(X, [["N", "V"], ["N", "V"]]).predict([[{"word": "Bob"}, {"word": "sings"}]])
    [['N', 'V']]
    """

    local: ClassVar[bool] = True
    chained: ClassVar[bool] = False
    clashes = UNCHAINED_CLASHES
