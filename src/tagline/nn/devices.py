"""Where networks can run: the GPU of this machine."""

from __future__ import annotations


def gpu_name() -> str | None:
    """Return the name of the GPU that PyTorch would use; None where there is none."""
    import torch  # asked for now, so that one that has broken since is noticed

    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else None
