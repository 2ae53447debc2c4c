"""The engine: scores on chains in (`tagline.types.Chain`), labels, probabilities and gradients out.

`dispatch` says which backend runs: `naive`, the definition in NumPy, or `native`, the compiled core; `constrain`
forbids, `differences` checks gradients. The same for PyTorch tensors is in `tagline.chain.tensors`, which nothing here
imports.
"""

from tagline.chain.constrain import constrain
from tagline.chain.differences import GradientCheck, check_gradients
from tagline.chain.dispatch import (
    ENGINES,
    backward,
    engine,
    entropy,
    expected_counts,
    forward,
    gradients,
    k_best,
    log_partition,
    marginals,
    max_marginal,
    sample,
    sample_paths,
    score,
    span_probability,
    use_engine,
    using_engine,
    viterbi,
    viterbi_table,
)
from tagline.chain.lists import label_lists

__all__ = [
    "ENGINES",
    "GradientCheck",
    "backward",
    "check_gradients",
    "constrain",
    "engine",
    "entropy",
    "expected_counts",
    "forward",
    "gradients",
    "k_best",
    "label_lists",
    "log_partition",
    "marginals",
    "max_marginal",
    "sample",
    "sample_paths",
    "score",
    "span_probability",
    "use_engine",
    "using_engine",
    "viterbi",
    "viterbi_table",
]
