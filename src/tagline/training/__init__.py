"""Objectives and how to descend them: knows objectives, not models.

`choices` declares them with their settings, `algorithms` runs them. `lbfgs`, `owlqn` and `gradient_descent` minimise an
objective with penalties (`objective`) on the walk that they share (`walk`, `curvature`, `line_search`);
`stochastic_descent` takes a few sentences a step; `auto` does both in turn. The algorithms of `online/` learn from
mistakes. `iterative_scaling` solves
for each weight on its own (`scaling_sums`). `likelihood` is the feature CRF's objective. `expectation_maximisation`
climbs by the expected counts of HMMs (`expectations`); `neural/` trains networks. Each of them is an iterator of steps
(`iteration`), and one `run` drives them all, with the callbacks, checkpoints, log and progress of `running/`.
"""

from tagline.training.choices import (
    AROW,
    IIS,
    LBFGS,
    OWLQN,
    SGD,
    Auto,
    AveragedPerceptron,
    GradientDescent,
    PassiveAggressive,
)

__all__ = [
    "AROW",
    "IIS",
    "LBFGS",
    "OWLQN",
    "SGD",
    "Auto",
    "AveragedPerceptron",
    "GradientDescent",
    "PassiveAggressive",
]
