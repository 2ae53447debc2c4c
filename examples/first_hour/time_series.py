"""Time series, for those who come from hmmlearn: hidden states of real numbers, and how many there are.

Run with ``python examples/first_hour/time_series.py``.
"""

from itertools import permutations

import numpy as np

import tagline

rng = np.random.default_rng(0)
states = np.repeat([0, 1, 0, 2, 1, 2], 60)
series = np.array([[0.0, 0.0], [4.0, 1.0], [-3.0, 2.0]])[states] + rng.normal(scale=0.7, size=(len(states), 2))

try:
    tagline.HMM(n_states=3).fit(series)
except tagline.InputError as error:
    print(error)

found = tagline.HMM(emission="gaussian", random_state=0).select(series, states=range(1, 6), criterion="bic")
print(found)
model = found.best_
print(model.means_.round(1).tolist(), model.transmat_.shape)
print(f"log-likelihood {model.score(series):.1f}")
guessed = np.asarray(model.predict(series)).ravel()
agree = max(np.mean(np.array(order)[guessed] == states) for order in permutations(range(3)))
print(f"{100 * agree:.0f} % of the hidden states found")
