"""The trigram tagger: `estimator.TrigramTagger`.

In: sentences of words and labels. Out: counts of trigrams, and candidate labels of words and endings. `parameters` and
`counts` are what is learned, from which the core answers; `chains` gives them as chains over pairs of states.
"""
