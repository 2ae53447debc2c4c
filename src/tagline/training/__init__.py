"""Objectives and how to descend them: knows objectives, not models.

`monitor` watches and stops; `lbfgs`, `owlqn` and `gd` minimise an objective with penalties (`objective`), on the walk
they share (`walk`, `curvature`, `line_search`); `iis` scales iteratively; `likelihood` is the feature CRF's objective;
`em` has the expected counts of HMMs and climbs by them.
"""
