"""The trigram tagger: `estimator.TrigramTagger`.

In: sentences of words and labels. Out: counts of trigrams, candidate labels of words and endings, which the core answers
from. `parameters` and `counts` are what is learned; `chains` gives them as chains over pairs; `file` is the layout.
"""
