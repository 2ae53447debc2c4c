"""How fast is the CRF layer? `tagline.nn.CRF` against pytorch-crf and torch-struct, on the CPU or on a GPU.

A padded batch ``[B, T, L]`` with lengths drawn from T/2 to T and random scores. loss+gradient is what a training step
calls: ``crf.loss(emissions, tags, mask).backward()``, gradients of emissions and parameters included. decode ends in
lists on the CPU (what pytorch-crf returns) and in tensors on a GPU. On a GPU each is measured as called, up to the end
of its work, beside an `nn.Linear` from 128 features to the labels, forwards and backwards; and replayed from a CUDA
graph, once with the mask, once with the lengths instead of it. Then a small network with the layer on top, and each
alone, with and without `torch.compile`.

Losses, gradients and paths are compared first, with each other and with plain PyTorch in float64; no time is printed
where they disagree. Medians are reported. On the CPU both sides take turns, with one thread and with all; the bars are
for CPU seconds of one thread. (With more, PyTorch's threads wait for each other in every operation: on a busy machine
pytorch-crf takes many times as long.)

    python benchmarks/layer.py                  CPU
    python benchmarks/layer.py --device cuda    the sizes for a GPU; needs PyTorch and Triton, no compiled core
"""

from __future__ import annotations

import argparse
import copy
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from instructions import hold_rivals
from torch import Tensor, nn

import tagline
from tagline.nn import CRF, using_tensor_engine

CPU_SIZES = ((32, 64, 9), (32, 128, 22))
GPU_SIZES = ((32, 128, 9), (64, 512, 32), (256, 128, 128), (8, 8192, 32), (1024, 128, 9), (4096, 128, 17))
CPU_BARS = {"loss+gradient": 20.0, "decode": 50.0}
GPU_BARS = {  # of a graph, by the mask
    "loss+gradient": (0.08, 0.18, 0.35, 0.8, 0.14, 0.6),
    "decode": (0.05, 0.15, 0.4, 0.8, 0.06, 0.2),
}
LINEAR_BAR = 1.5  # times an nn.Linear that the loss may take as called, at the first size
CALL_BARS = {"loss+gradient": 0.3, "decode": 0.2}  # ms besides the graph's, and for the loss an nn.Linear's
CALLS = 100  # of which the median counts, where each is waited for
FEATURES = 128
MARGINAL_BAR = 1e-6
RIVAL_SECONDS = 8.0  # for all calls of a rival at one size, on a GPU
CPU_SECONDS, CPU_SAMPLE = 8.0, 0.02  # for both sides at one work; for a sample
FEWEST_SAMPLES, MOST_SAMPLES = 3, 25


@dataclass(frozen=True, eq=False)
class Batch:
    """Scores, tags and mask, and the layer whose parameters the rivals share."""

    crf: CRF
    emissions: Tensor
    tags: Tensor
    mask: Tensor
    lengths: Tensor

    def fresh(self) -> Batch:
        """Return the same batch with leaves that no stream has seen, as capturing `backward` in a graph asks for."""
        emissions = self.emissions.detach().clone().requires_grad_()
        return replace(self, crf=copy.deepcopy(self.crf), emissions=emissions)

    def step(self, **counts: Tensor) -> Tensor:
        """Compute the loss and its gradients, which are left on emissions and parameters."""
        self.emissions.grad = None
        self.crf.zero_grad(set_to_none=True)
        loss = self.crf.loss(self.emissions, self.tags, **counts)
        loss.backward()
        return loss


def make(B: int, T: int, L: int, device: torch.device) -> Batch:
    """Draw a batch."""
    torch.manual_seed(B + T + L)
    lengths = torch.randint(T // 2, T + 1, (B,), device=device)
    lengths[0] = T  # torch-struct asks for one that is full
    mask = torch.arange(T, device=device) < lengths[:, None]
    emissions = torch.randn(B, T, L, device=device).mul_(2).requires_grad_()
    tags = torch.randint(0, L, (B, T), device=device)
    crf = CRF(L).to(device)
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_()
    return Batch(crf, emissions, tags, mask, lengths)


def pytorch_crf(batch: Batch) -> Any:
    """The rival with the same parameters; None where it is not installed."""
    try:
        import torchcrf
    except ImportError:
        return None
    rival = torchcrf.CRF(batch.crf.num_tags, batch_first=True).to(batch.emissions.device)
    rival.load_state_dict(batch.crf.state_dict())
    return rival


def torch_struct_step(batch: Batch) -> Callable[[], object] | None:
    """log Z and its gradient by torch-struct; None where it is not installed."""
    try:
        import torch_struct
    except ImportError:
        return None
    crf, emissions = batch.crf, batch.emissions.detach().requires_grad_()

    def step() -> object:
        edges = emissions[:, 1:, :, None] + crf.transitions.detach().T  # [B, T - 1, next, previous]
        first = emissions[:, 0, None, :] + crf.start_transitions.detach()
        edges = torch.cat([edges[:, :1] + first[:, None], edges[:, 1:]], 1)
        torch_struct.LinearChainCRF(edges, lengths=batch.lengths).partition.sum().backward()
        return emissions.grad

    return step


def compare(batch: Batch, rival: Any) -> list[str]:
    """Return what disagrees."""
    wrong = []
    loss = batch.step(mask=batch.mask).detach()
    gradients = [batch.emissions.grad.clone(), batch.crf.transitions.grad.clone()]
    again = batch.step(mask=batch.mask).detach()
    same = torch.equal(loss, again) and torch.equal(gradients[0], batch.emissions.grad)
    if not (same and torch.equal(gradients[1], batch.crf.transitions.grad)):
        wrong.append("two runs differ in their bits")
    by_lengths = batch.step(lengths=batch.lengths).detach()
    if not torch.allclose(loss, by_lengths, rtol=1e-6):
        wrong.append(f"loss by mask {loss:.6f}, by lengths {by_lengths:.6f}")
    with torch.no_grad():
        error = marginal_error(batch)
        if error > MARGINAL_BAR:
            wrong.append(f"marginals are off by {error:.1e}")
        _, scores = batch.crf.decode(batch.emissions, batch.mask, pad_tag=0)
        with using_tensor_engine("batched"):
            _, best = batch.crf.decode(batch.emissions, batch.mask, pad_tag=0)
        if not torch.allclose(scores, best, rtol=1e-5):
            wrong.append("decoding finds another best score")
    if rival is None:
        return wrong
    precise = copy.deepcopy(rival).double()  # in float32 its gradients are off by a tenth at 8,192 steps
    scores = batch.emissions.detach().double().requires_grad_()
    theirs = -precise(scores, batch.tags, batch.mask, reduction="mean")
    theirs.backward()
    if not torch.allclose(loss.double(), theirs.detach(), rtol=1e-6):
        wrong.append(f"loss {loss:.6f}, pytorch-crf {theirs:.6f}")
    if not torch.allclose(gradients[0].double(), scores.grad, atol=1e-6):
        wrong.append("gradients of the emissions differ from pytorch-crf's")
    return wrong


def waits(batch: Batch) -> list[str]:
    """Return which calls wait for a GPU; they must not."""
    waiting = []
    torch.cuda.set_sync_debug_mode("error")
    for counts in ({"mask": batch.mask}, {"lengths": batch.lengths}):
        try:
            batch.step(**counts)
            batch.crf.decode(batch.emissions.detach(), pad_tag=0, **counts)
        except RuntimeError as error:
            waiting.append(f"by {next(iter(counts))}: {str(error).splitlines()[0]}")
    torch.cuda.set_sync_debug_mode("default")
    return waiting


@torch.no_grad()  # where gradients are recorded plain PyTorch answers, and would be compared with itself
def marginal_error(batch: Batch) -> float:
    """The worst marginal against plain PyTorch in float64."""
    nodes = batch.crf.marginals(batch.emissions, batch.mask)
    with using_tensor_engine("batched"):
        exact = batch.crf.marginals(batch.emissions.double(), batch.mask)
    return float((nodes - exact).abs().max())


def seconds(call: Callable[[], object], budget: float) -> float:
    """The median time of a call on a GPU."""
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    once = time.perf_counter() - begin
    each = max(1, min(200, int(0.02 / max(once, 1e-9))))
    least = 3 if once < 2.0 else 1
    rounds = max(least, min(25, int(budget / max(once * each, 1e-9))))
    return statistics.median(_sample(call, each) for _ in range(rounds))


def latency(call: Callable[[], object]) -> float:
    """The median time of a call on a GPU from its beginning to the end of its work."""
    return latencies([call], 1)[0]


def latencies(calls: list[Callable[[], object]], rounds: int) -> list[float]:
    """What `latency` says of each call, where they take turns."""
    taken: list[list[float]] = [[] for _ in calls]
    for call in calls:
        for _ in range(10):
            call()
    for _ in range(rounds):
        for times, call in zip(taken, calls, strict=True):
            for _ in range(CALLS // rounds):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                call()
                torch.cuda.synchronize()
                times.append(time.perf_counter() - begin)
    return [statistics.median(times) for times in taken]


def linear_step(B: int, T: int, L: int, device: torch.device) -> Callable[[], object]:
    """The step of an `nn.Linear` to the labels: what any layer costs."""
    linear = nn.Linear(FEATURES, L).to(device)
    inputs = torch.randn(B, T, FEATURES, device=device, requires_grad=True)

    def step() -> None:
        inputs.grad = None
        linear.zero_grad(set_to_none=True)
        linear(inputs).sum().backward()

    return step


def _sample(call: Callable[[], object], calls: int) -> float:
    begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begun.record()
    for _ in range(calls):
        call()
    ended.record()
    torch.cuda.synchronize()
    return float(begun.elapsed_time(ended)) / 1e3 / calls


def graphed(call: Callable[[], object]) -> Callable[[], object]:
    """Capture a call in a CUDA graph, on the stream that it was warmed up on."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        call()
    return graph.replay


@dataclass(frozen=True)
class Turns:
    """Median CPU and wall milliseconds of a call of ours and of the rival's, by so many samples each."""

    ours: tuple[float, float]
    theirs: tuple[float, float]
    samples: int

    def cells(self, clock: int) -> list[str]:
        """The milliseconds by the CPU's clock (0) or the wall's (1), and how many times as long the rival takes."""
        ours, theirs = self.ours[clock], self.theirs[clock]
        return [f"{ours:.3f}", f"{theirs:.2f}", f"{theirs / ours:.1f}×"]


def take_turns(calls: tuple[Callable[[], object], ...], threads: int) -> Turns:
    """Time our call and the rival's, where there is one, in turn and with so many threads."""
    import timing  # which needs more packages than a GPU does

    timing.set_threads(threads)
    repeats = [max(1, round(CPU_SAMPLE / _clocked(call, 2)[1])) for call in calls]
    samples: list[list[tuple[float, float]]] = [[] for _ in calls]
    end = time.perf_counter() + CPU_SECONDS
    while len(samples[0]) < FEWEST_SAMPLES or (len(samples[0]) < MOST_SAMPLES and time.perf_counter() < end):
        for taken, call, count in zip(samples, calls, repeats, strict=True):
            timing.settle()
            call()
            taken.append(_clocked(call, count))
    ours, *theirs = [(1e3 * _median(taken, 0), 1e3 * _median(taken, 1)) for taken in samples]
    return Turns(ours, theirs[0] if theirs else (float("nan"), float("nan")), len(samples[0]))


def _clocked(call: Callable[[], object], count: int) -> tuple[float, float]:
    begin = time.process_time(), time.perf_counter()
    for _ in range(count):
        call()
    return (time.process_time() - begin[0]) / count, (time.perf_counter() - begin[1]) / count


def _median(samples: list[tuple[float, float]], clock: int) -> float:
    return statistics.median(taken[clock] for taken in samples)


def on_cpu(sizes: tuple[tuple[int, int, int], ...], rivals: bool, threads: int) -> bool:
    """Print the table of the CPU; return whether the bars are met."""
    device, met = torch.device("cpu"), True
    print(
        "| B, T, L | work | CPU ms of 1 thread | pytorch-crf | ratio | bar "
        f"| wall ms of {threads} threads | pytorch-crf | ratio | samples |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    for size in sizes:
        batch = make(*size, device)
        rival = pytorch_crf(batch) if rivals else None
        if wrong := compare(batch, rival):
            print(f"{size}: no times, {'; '.join(wrong)}")
            return False
        for work, calls in _works(batch, rival).items():
            alone, together = (take_turns(calls, count) for count in (1, threads))
            met &= not alone.theirs[0] / alone.ours[0] < CPU_BARS[work]
            cells = [*alone.cells(0), f"≥ {CPU_BARS[work]:.0f}×", *together.cells(1)]
            samples = f"{alone.samples}, {together.samples}"
            print(f"| {', '.join(map(str, size))} | {work} | {' | '.join(cells)} | {samples} |", flush=True)
    return met


def _works(batch: Batch, rival: Any) -> dict[str, tuple[Callable[[], object], ...]]:
    """What is measured on the CPU: our call, and the rival's where there is one."""

    def step() -> None:
        batch.emissions.grad = None
        rival.zero_grad()
        (-rival(batch.emissions, batch.tags, batch.mask, reduction="mean")).backward()

    works: dict[str, tuple[Callable[[], object], ...]] = {
        "loss+gradient": (lambda: batch.step(mask=batch.mask), step),
        "decode": (
            lambda: batch.crf.decode(batch.emissions, batch.mask),
            lambda: rival.decode(batch.emissions, batch.mask),
        ),
    }
    return works if rival is not None else {work: calls[:1] for work, calls in works.items()}


def on_gpu(sizes: tuple[tuple[int, int, int], ...], rivals: bool) -> bool:
    """Print the table of the GPU; return whether the bars are met."""
    device, met = torch.device("cuda"), True
    print(
        "| B, T, L | work | Linear ms | as called ms | bar | graph ms | bar | graph, lengths ms | pytorch-crf ms "
        "| torch-struct ms | worst marginal | peak MB |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for place, size in enumerate(sizes):
        batch = make(*size, device)
        rival = pytorch_crf(batch) if rivals else None
        if wrong := compare(batch, rival) + waits(batch):
            print(f"{size}: no times, {'; '.join(wrong)}")
            met = False
            continue
        error = marginal_error(batch)
        works: dict[str, tuple[Callable[..., object], Callable[[], object] | None, Callable[[], object] | None]] = {
            "loss+gradient": (
                Batch.step,
                None
                if rival is None
                else lambda batch=batch, rival=rival: (
                    -rival(batch.emissions, batch.tags, batch.mask, reduction="mean")
                ).backward(),
                torch_struct_step(batch) if rivals else None,
            ),
            "decode": (
                lambda own, **counts: own.crf.decode(own.emissions.detach(), pad_tag=0, **counts),
                None if rival is None else lambda batch=batch, rival=rival: rival.decode(batch.emissions, batch.mask),
                None,
            ),
        }
        floor = latency(linear_step(*size, device)) * 1e3
        for work, (ours, other, third) in works.items():
            torch.cuda.reset_peak_memory_stats()
            called = latency(lambda ours=ours, own=batch: ours(own, mask=own.mask)) * 1e3
            peak = torch.cuda.max_memory_allocated() / 2**20
            masked, bare = batch.fresh(), batch.fresh()
            graph = seconds(graphed(lambda ours=ours, own=masked: ours(own, mask=own.mask)), 2.0) * 1e3
            short = seconds(graphed(lambda ours=ours, own=bare: ours(own, lengths=own.lengths)), 2.0) * 1e3
            most = CALL_BARS[work] + graph + (floor if work == "loss+gradient" else 0.0)
            if work == "loss+gradient" and size == GPU_SIZES[0]:
                most = LINEAR_BAR * floor
            bar = GPU_BARS[work][place]
            met &= called <= most and graph <= bar
            peers = [_rival_ms(call) for call in (other, third)]
            print(
                f"| {', '.join(map(str, size))} | {work} | {floor:.3f} | {called:.3f} | {most:.3f} | {graph:.3f} "
                f"| {bar} | {short:.3f} | {peers[0]} | {peers[1]} | {error:.1e} | {peak:.0f} |",
                flush=True,
            )
    return met


def on_compiler(size: tuple[int, int, int]) -> bool:
    """Print a step of a small network with the layer on top, and of each alone; return whether nothing warned.

    Eager and compiled calls take turns.
    """
    device, (B, T, L) = torch.device("cuda"), size
    batch = make(*size, device)
    inputs = torch.randn(B, T, FEATURES, device=device)
    layers = (nn.Linear(FEATURES, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, L))
    network = nn.Sequential(*layers).to(device)
    works: dict[str, tuple[Callable[[Tensor], Tensor], Tensor]] = {
        "network": (lambda x: network(x).sum(), inputs),
        "network + CRF": (lambda x: batch.crf.loss(network(x), batch.tags, batch.mask), inputs),
        "CRF": (lambda x: batch.crf.loss(x, batch.tags, batch.mask), batch.emissions),
        "Linear": (lambda x: layers[0](x).sum(), inputs),
    }
    print(
        "\n| B, T, L | work | eager ms | torch.compile ms | reduce-overhead ms | warnings |\n|---|---|---|---|---|---|"
    )
    quiet = True
    for work, (call, x) in works.items():

        def step(call: Callable[[Tensor], Tensor], x: Tensor = x) -> None:
            x.grad = None
            network.zero_grad(set_to_none=True)
            batch.crf.zero_grad(set_to_none=True)
            torch.compiler.cudagraph_mark_step_begin()
            call(x).backward()

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", message="TensorFloat32")  # PyTorch's advice for any matrix product
            torch._dynamo.reset()
            modes = [torch.compile(call, mode=mode, fullgraph=True) for mode in ("default", "reduce-overhead")]
            cells = latencies([lambda step=step, way=way: step(way) for way in (call, *modes)], 4)
        ours = [warning for warning in told if not issubclass(warning.category, DeprecationWarning)]
        quiet &= not ours
        names = "; ".join(str(warning.message)[:60] for warning in ours) or "none"
        print(
            f"| {', '.join(map(str, size))} | {work} | "
            + " | ".join(f"{cell * 1e3:.3f}" for cell in cells)
            + f" | {names} |",
            flush=True,
        )
    return quiet


def _rival_ms(call: Callable[[], object] | None) -> str:
    if call is None:
        return "–"
    try:
        return f"{seconds(call, RIVAL_SECONDS / 8) * 1e3:.1f}"
    except torch.OutOfMemoryError:
        return "out of memory"


def versions(device: torch.device) -> str:
    """Name what was measured, on what."""
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.processor() or platform.machine()
    packages = [
        f"Python {platform.python_version()}",
        f"torch {torch.__version__}",
        f"{torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}",
    ]
    for package in ("triton", "torchcrf", "torch_struct"):
        try:
            packages.append(f"{package} {getattr(__import__(package), '__version__', '')}".strip())
        except ImportError:
            continue
    return f"{name}; {', '.join(packages)}; {time.strftime('%Y-%m-%d')}"


def main() -> int:
    """Measure, print, and tell by the exit status whether the bars are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--quick", action="store_true", help="only the first size")
    parser.add_argument("--no-rivals", action="store_true", help="leave the rivals out")
    parser.add_argument("--threads", type=int, help="on the CPU, for the wall clock; all by default")
    options = parser.parse_args()
    device = torch.device(options.device)
    print(versions(device) + "\n")
    if device.type == "cuda":
        met = on_gpu(GPU_SIZES[:1] if options.quick else GPU_SIZES, not options.no_rivals)
        for size in GPU_SIZES[:1] if options.quick else GPU_SIZES[:2]:
            met &= on_compiler(size)
    else:
        threads = options.threads or tagline.threads()
        met = on_cpu(CPU_SIZES[:1] if options.quick else CPU_SIZES, not options.no_rivals, threads)
    return 0 if met else 1


if __name__ == "__main__":
    hold_rivals()
    sys.exit(main())
