"""The engine on PyTorch tensors: a `TensorChain` on any device in, answers with gradients out.

`types` holds the chain, `operators` and `queries` the questions; `dispatch` chooses who answers: `native` (the
compiled core), `fused` (Triton, in `kernels`, launched as `recipes` say) or `batched` (plain PyTorch, with
`conditionals` built on it). `masked` asks `fused` about padded batches as they lie in memory.
"""

try:
    import torch  # noqa: F401
except ImportError as error:
    from tagline.errors import MissingPackageError

    raise MissingPackageError("tagline.chain.tensors", "torch", "pip install 'tagline[torch]'", error) from None

from tagline.chain.tensors.dispatch import tensor_engine, use_tensor_engine, using_tensor_engine
from tagline.chain.tensors.operators import log_likelihood, log_partition, marginals, viterbi
from tagline.chain.tensors.queries import entropy, k_best, sample, span_probability
from tagline.chain.tensors.types import TensorChain, path_score

__all__ = [
    "TensorChain",
    "entropy",
    "k_best",
    "log_likelihood",
    "log_partition",
    "marginals",
    "path_score",
    "sample",
    "span_probability",
    "tensor_engine",
    "use_tensor_engine",
    "using_tensor_engine",
    "viterbi",
]
