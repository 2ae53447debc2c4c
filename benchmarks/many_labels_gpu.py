"""Many labels on a GPU: 300 beside 128, and BIOES over 100 types, of which 25 % of the pairs are legal.

    python benchmarks/many_labels_gpu.py [--rounds 5]

Needs PyTorch, Triton and a GPU, no compiled core. Random scores in float32; every answer is compared with plain PyTorch
in float64 first, and with a second run to the bit; no time is printed where they differ. Milliseconds of a call as made
from Python, the median of some samples of ten calls; loss + gradient is that of all scores.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import torch
from torch import Tensor

import tagline
from tagline.chain import tensors
from tagline.chain.tensors import TensorChain
from tagline.readers.rules import legal

SIZES = ((32, 64, 128, ""), (32, 64, 300, ""), (32, 64, 401, "BIOES"), (256, 64, 300, ""))
LOG_BAR, GRADIENT_BAR, LABEL_BAR = 1e-3, 2e-3, 1e-4  # nats; counts; the share of labels that ties may change


def scores(B: int, T: int, L: int, scheme: str) -> tuple[Tensor, ...]:
    """Emissions, transitions, start, end."""
    generator = torch.Generator().manual_seed(0)
    parts = [torch.randn(shape, generator=generator) for shape in ((B * T, L), (L, L), (L,), (L,))]
    if scheme:
        names = sorted(["O", *(f"{prefix}-T{number:03}" for number in range((L - 1) // 4) for prefix in "BIES")])
        parts[1][~torch.from_numpy(legal(names, scheme).transitions)] = -torch.inf
    return tuple(parts)


def chain_of(parts: tuple[Tensor, ...], B: int, T: int, dtype: torch.dtype) -> TensorChain:
    """The scores on the GPU, as leaves that ask for gradients."""
    e, *others = (part.to("cuda", dtype).requires_grad_() for part in parts)
    rows, lengths = torch.arange(B, device="cuda") * T, torch.full((B,), T, device="cuda")
    return TensorChain(e, rows, lengths, T, *others)


def step(c: TensorChain, labels: Tensor) -> list[Tensor]:
    """log p of the labels, and its gradients."""
    value = tensors.log_likelihood(c, labels)
    return [value.detach(), *torch.autograd.grad(value.sum(), c.scores)]


def differences(c: TensorChain, exact: TensorChain, labels: Tensor) -> Iterator[str]:
    """What the kernels answer otherwise than plain PyTorch in float64, or than a moment ago."""
    with tensors.using_tensor_engine("batched"):
        truth, best = step(exact, labels), tensors.viterbi(exact)[0]
    ours, again = step(c, labels), step(c, labels)
    names = ("log p", "emissions", "transitions", "start", "end")
    for name, mine, theirs in zip(names, ours, truth, strict=True):
        far = float((mine.double() - theirs).abs().max())
        if not far <= (LOG_BAR if name == "log p" else GRADIENT_BAR):
            yield f"{name} by {far:.2g}"
    if any(not torch.equal(one, other) for one, other in zip(ours, again, strict=True)):
        yield "two runs"
    if (share := float((labels != best).float().mean())) > LABEL_BAR:
        yield f"{share:.2%} of the best labels"


def seconds(call: Callable[[], Any], rounds: int) -> float:
    """Seconds of a call."""
    samples = []
    for _ in range(rounds + 1):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(10):
            call()
        torch.cuda.synchronize()
        samples.append((time.perf_counter() - begin) / 10)
    return median(samples[1:])


def main() -> int:
    """Compare, measure and print; 1 where answers differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="samples of each measure (default 5)")
    rounds, good, first = parser.parse_args().rounds, True, None
    print(f"tagline {tagline.__version__}, torch {torch.__version__}, {torch.cuda.get_device_name()}\n")
    print(
        "| B, T, L | loss + gradient, ms | decode, ms | times the first row | times its flops |\n|---|---|---|---|---|"
    )
    for B, T, L, scheme in SIZES:
        parts = scores(B, T, L, scheme)
        c = chain_of(parts, B, T, torch.float32)
        labels = tensors.viterbi(c)[0]
        if wrong := list(differences(c, chain_of(parts, B, T, torch.float64), labels)):
            print(f"({B}, {T}, {L}) {scheme}: differs in {', '.join(wrong)}")
            good = False
            continue
        taken = 1e3 * seconds(lambda c=c, labels=labels: step(c, labels), rounds)
        decoding = 1e3 * seconds(lambda c=c: tensors.viterbi(c), rounds)
        first = first or (taken, B * T * L * L)
        ratios = f"{taken / first[0]:.2f} | {B * T * L * L / first[1]:.2f}"
        print(f"| {B}, {T}, {L} {scheme} | {taken:.3f} | {decoding:.3f} | {ratios} |", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
