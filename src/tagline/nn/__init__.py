"""PyTorch modules: the CRF layer for your own networks, and its losses."""

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError(f"tagline.nn needs PyTorch ({error}); install it with: pip install 'tagline[torch]'") from None

from tagline.chain.tensor_dispatch import tensor_engine, use_tensor_engine, using_tensor_engine
from tagline.nn import losses
from tagline.nn.answers import Decoded, Ranked
from tagline.nn.crf import CRF

__all__ = ["CRF", "Decoded", "Ranked", "losses", "tensor_engine", "use_tensor_engine", "using_tensor_engine"]
