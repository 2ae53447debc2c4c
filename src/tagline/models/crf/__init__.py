"""The feature CRF: `estimator.CRF`; with its features, but normalised at each token, `memm.MEMM` and `memm.MaxEnt`.

In: sentences (words for a template, or features of each token) and labels. Out: attributes with weights, which make
sentences into chains. `extraction` → `fitting` → `parameters` → `chains`; `file`, `inspection` and
`explaining` look at what was learned.
"""
