"""Hidden Markov models: `estimator.HMM`.

In: sentences of symbols or numbers, and what is known of their states. Out: π, A and B, whose logarithms are chains.
`observations` and `states` → `lessons` → `counting` or `baum_welch` → `parameters`; `conversion` makes a CRF of them.
"""
