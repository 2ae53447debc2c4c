"""PyTorch modules: vectors or scores of tokens in, losses, labels and probabilities out.

`CRF` is the layer for your own networks, `SemiCRF` the one over segments, `losses` are objectives; encoders (`bilstm`,
`transformer`) and `heads` make up the networks of `tagline.models`. Everything is answered by `tagline.chain.tensors`.
"""

from tagline import compiled

try:
    compiled.let_torch_wait()
    import torch  # noqa: F401
except ImportError as error:
    from tagline.errors import MissingPackageError

    raise MissingPackageError("tagline.nn", "torch", "pip install 'tagline[torch]'", error) from None

from tagline.chain.tensors import tensor_engine, use_tensor_engine, using_tensor_engine
from tagline.nn import losses
from tagline.nn.crf import CRF
from tagline.nn.decoded import Decoded, Ranked
from tagline.nn.semicrf import SemiCRF

__all__ = ["CRF", "Decoded", "Ranked", "SemiCRF", "losses", "tensor_engine", "use_tensor_engine", "using_tensor_engine"]
