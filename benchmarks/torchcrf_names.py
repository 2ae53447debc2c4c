"""How fast is pytorch-crf's interface on Tagline? `tagline.interop.torchcrf` against pytorch-crf, on the CPU.

    OMP_NUM_THREADS=1 TAGLINE_THREADS=1 python benchmarks/torchcrf_names.py

A padded batch ``[B, T, L]`` with lengths drawn from T/2 to T and random scores; both sides have the same parameters and
take turns, 15 samples each. CPU time of one thread, medians; losses and paths are compared first.
(`benchmarks/layer.py` measures `tagline.nn.CRF`, also on GPUs.)
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import timing
import torch
import torchcrf
from torch import Tensor

from tagline.interop.torchcrf import CRF

SIZES = ((32, 128, 9), (16, 64, 22))
SAMPLES = 15


def batch(B: int, T: int, L: int) -> tuple[Tensor, Tensor, Tensor]:
    """Emissions, tags and a mask, sequence first."""
    lengths = torch.randint(T // 2, T + 1, (B,))
    return torch.randn(T, B, L), torch.randint(0, L, (T, B)), torch.arange(T)[:, None] < lengths


def step(crf: Any, emissions: Tensor, tags: Tensor, mask: Tensor) -> float:
    """Loss and gradient."""
    scores = emissions.clone().requires_grad_()
    loss = -crf(scores, tags, mask, reduction="mean")
    loss.backward()
    return float(loss)


def medians(work: Callable[[Any], object], sides: tuple[Any, Any]) -> list[float]:
    """CPU seconds of both sides, which take turns."""
    samples: list[list[float]] = [[], []]
    for _ in range(SAMPLES):
        for side, crf in enumerate(sides):
            begun = time.process_time()
            work(crf)
            samples[side].append(time.process_time() - begun)
    return [statistics.median(side) for side in samples]


def main() -> None:
    """Compare, measure, print."""
    warnings.simplefilter("ignore")  # pytorch-crf's uint8 masks
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"{timing.machine()}; {timing.versions(['torch', 'pytorch-crf'])}; one thread")
    for size in SIZES:
        emissions, tags, mask = batch(*size)
        theirs, ours = torchcrf.CRF(size[2]), CRF(size[2])
        ours.load_state_dict(theirs.state_dict())
        works = {
            "loss + gradient": lambda crf, e=emissions, t=tags, m=mask: step(crf, e, t, m),
            "decode": lambda crf, e=emissions, m=mask: crf.decode(e, m),
            "_compute_normalizer": lambda crf, e=emissions, m=mask: crf._compute_normalizer(e, m),
        }
        loss, other = (works["loss + gradient"](crf) for crf in (ours, theirs))
        if abs(loss - other) > 1e-4 * abs(other) or works["decode"](ours) != works["decode"](theirs):
            sys.exit(f"{size}: the layers disagree, no times")
        for name, work in works.items():
            mine, yours = medians(work, (ours, theirs))
            print(
                f"{size!s:<16} {name:<20} {1e3 * mine:7.2f} ms, pytorch-crf {1e3 * yours:7.2f} ms, "
                f"{yours / mine:.0f}× as fast"
            )


if __name__ == "__main__":
    main()
