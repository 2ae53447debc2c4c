"""pytorch-crf's interface to the letter, on Tagline's engine: change the import, keep the code and the checkpoints.

    from tagline.interop.torchcrf import CRF          # was: from torchcrf import CRF

`layer` has the module, `scripted` what it runs under `torch.jit.script`. What differs: docs/migrate/pytorch-crf.md.
"""

from tagline import compiled

try:
    compiled.let_torch_wait()
    import torch  # noqa: F401
except ImportError as error:
    from tagline.errors import MissingPackageError

    raise MissingPackageError("tagline.interop.torchcrf", "torch", "pip install 'tagline[torch]'", error) from None

from tagline.interop.torchcrf.layer import CRF

__all__ = ["CRF"]
