"""Attributes that occur at the same tokens share one weight while a likelihood is trained.

Among m such attributes the data cannot tell: only the sum of their weights counts, and a penalty is least where all
have the same weight w. With one weight u = √m·w and the value √m in their place, the likelihood and c2·|w|² are the
same, and so is every step of L-BFGS; c1·m·|w| is c1·√m·|u|. Dense models of rare words have a third to two thirds fewer
weights so. (Not for online rules, whose steps are not such sums.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagline.features.attributes import Attributes
from tagline.types import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Shared:
    """Attributes in groups.

    Attributes:
        attributes: of each token, by the number of the group, once each, with the value √m.
        group_of: ``[A]``, the group of each attribute.
        sizes: ``[G]``, how many attributes a group has.
    """

    attributes: Attributes
    group_of: IntArray
    sizes: IntArray


def shared(attributes: Attributes, num_attributes: int) -> Shared:
    """Group attributes that have the same occurrences.

    A token that has an attribute twice counts twice. Occurrences are compared by their number, the first of them and
    the sum of a random number a token: attributes with other occurrences would have to agree in 53 random bits.

    >>> rows = Attributes(np.array([0, 3, 5]), np.array([0, 1, 2, 1, 3], np.int32))  # tokens {0, 1, 2} and {1, 3}
    >>> together = shared(rows, 4)
    >>> together.group_of.tolist(), together.sizes.tolist(), together.attributes.ids.tolist()
    ([0, 1, 0, 2], [2, 1, 1], [0, 1, 1, 2])
    """
    tokens = np.repeat(np.arange(attributes.num_tokens), np.diff(attributes.offsets))  # [M]
    ids = attributes.ids
    marks = np.random.default_rng(0).random(attributes.num_tokens)
    sums = np.bincount(ids, marks[tokens], num_attributes)  # in the order of the tokens: equal sets, equal bits
    counts = np.bincount(ids, minlength=num_attributes)
    first = np.zeros(num_attributes, np.int64)
    first[ids[::-1]] = tokens[::-1]
    order = np.lexsort((first, counts, sums))
    fresh = np.ones(num_attributes, np.bool_)
    fresh[1:] = False
    for keys in (sums, counts, first):
        fresh[1:] |= np.diff(keys[order]) != 0
    group_of = np.empty(num_attributes, np.int64)
    group_of[order] = np.cumsum(fresh) - 1
    leaders = order[fresh] if num_attributes else order  # lexsort is stable: the smallest number of its group
    by_number = np.argsort(leaders)
    group_of = np.argsort(by_number)[group_of] if num_attributes else group_of
    leads = np.zeros(num_attributes, np.bool_)
    leads[leaders] = True
    chosen = leads[ids]
    kept = np.concatenate([[0], np.cumsum(chosen)])
    groups = group_of[ids[chosen]].astype(np.int32)
    sizes = np.bincount(group_of, minlength=len(leaders))
    values = np.sqrt(sizes).astype(np.float32)[groups]
    return Shared(Attributes(kept[attributes.offsets], groups, values), group_of, sizes)


def spread(weights: Float64Array, together: Shared) -> Float64Array:
    """Return the weights of the attributes ``[A, width]`` from those of the groups ``[G, width]``."""
    return np.asarray((weights / np.sqrt(together.sizes)[:, None])[together.group_of])
