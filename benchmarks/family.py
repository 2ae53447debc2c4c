"""Which kind of model for me? Every kind on the same three corpora: F1, training, tagging speed, size of the file.

    python benchmarks/family.py                              what the machine can: networks are trained on a GPU alone
    python benchmarks/family.py --networks                   … or on the CPU; hours
    python benchmarks/family.py --only hmm words --corpora conll2003
    python benchmarks/family.py --on cuda --results DIR      the networks' part, on a machine with a GPU
    python benchmarks/family.py --on                         measure nothing, lay out the table of --results
    python benchmarks/family.py --sentences 200              a smoke test, with training sentences alone

Each measure runs in a process of its own. What it gives is kept in --results, one file a corpus and device, so that a
table can be put together from runs on two machines. Where networks are not trained, their speed and size are those of
a network as it begins: neither depends on the weights.

F1 is that of spans by the strict rule of the tag scheme; networks have the mean and the deviation of their seeds. Spans
that break the scheme come from models that know no rules. The strict rule leaves these out, conlleval's, in brackets,
repairs them.
Training: CPU seconds of one thread; for networks the wall clock of the first seed, alone on the GPU. Tagging: tokens a
second of a corpus that was read before, in batches, by CPU seconds of one thread, and by the wall clock on a GPU, as
medians of five samples; networks on the CPU tag the first 400 sentences alone. Reading files and imports never count.

Corpora are those of TAGLINE_DATA, or of ../shared/data; encoders are folders (--encoders): minilm is all-MiniLM-L6-v2,
m3e is m3e-small.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from feature_crf.bench import say
from feature_crf.tables import markdown
from taggers import ROWS, TASKS, Work, measure, missing

Part = dict[str, Any]
Parts = dict[tuple[str, str, str], Part]
"""What was measured, by corpus, device and row."""

DEVICES = ("cpu", "cuda")
THREADS = ("TAGLINE_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
HEAD = ["model", "training", "tagging, tokens/s, 1 thread", "… on the GPU", "file, MB"]
BUSY_CORES = 0.1


def has_gpu() -> bool:
    """Whether PyTorch is there and sees a GPU."""
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


# Measuring.


def works_of(options: argparse.Namespace) -> Iterator[Work]:
    """What to measure: on the CPU all rows, on a GPU the networks."""
    for device in options.on:
        for corpus in options.corpora:
            for row in options.only:
                network = ROWS[row].network
                if missing(row) or (device == "cuda" and not network):
                    continue
                train = not network or device == "cuda" or options.networks
                yield Work(row, corpus, device, options.seeds[0], train, True, options.sentences, str(options.encoders))


def run_all(works: Sequence[Work], seeds: Sequence[int], jobs: int, folder: Path) -> bool:
    """Measure everything; first the further seeds, side by side, then each first seed alone. False where one fails."""
    further = [
        replace(work, seed=seed, speed=False)
        for work in works
        for seed in seeds[1:]
        if work.train and ROWS[work.row].network
    ]
    good = True
    with ThreadPoolExecutor(jobs) as pool:
        for work, part in zip(further, pool.map(child, further), strict=True):
            good &= keep(folder, work, part)
    for work in works:
        good &= keep(folder, work, child(work))
    return good


def child(work: Work) -> Part | None:
    """Measure in a process of its own, on one thread; None where that fails."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, __file__, "--work", json.dumps(asdict(work))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    name = f"{work.row}, {work.corpus}, {work.device}, seed {work.seed}"
    if done.returncode:
        say(f"{name}: failed: {(done.stderr.strip() or f'exit status {done.returncode}').splitlines()[-1]}")
        return None
    result = done.stdout.splitlines()[-1]
    say(f"{name}: {result}")
    part: Part = json.loads(result)
    return part


def keep(folder: Path, work: Work, part: Part | None) -> bool:
    """Put what was measured into its file; the seeds of a network come together there."""
    if part is None:
        return False
    path = folder / f"{work.corpus}-{work.device}.json"
    parts: dict[str, Part] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    before = parts.get(work.row, {}) if ROWS[work.row].network else {}
    merged = {**before, **part}
    if "f1" in before or "f1" in part:
        merged["f1"] = {**before.get("f1", {}), **part.get("f1", {})}
    if not work.speed and "training" in before:
        merged["training"] = before["training"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**parts, work.row: merged}, indent=1) + "\n", encoding="utf-8")
    return True


# The table.


def parts_of(folder: Path) -> Parts:
    """Read everything that was measured."""
    parts: Parts = {}
    for corpus in TASKS:
        for device in DEVICES:
            path = folder / f"{corpus}-{device}.json"
            if path.is_file():
                rows = json.loads(path.read_text(encoding="utf-8"))
                parts |= {(corpus, device, row): part for row, part in rows.items()}
    return parts


def table_of(parts: Parts) -> str:
    """Lay out the table: a line a model, F1 in a column a corpus, the rest for one corpus after the other."""
    lines = []
    for row, facts in ROWS.items():
        columns = [[parts.get((corpus, device, row), {}) for corpus in TASKS] for device in DEVICES]
        if reason := missing(row) if not any(any(column) for column in columns) else "":
            lines.append([facts.title, reason, *[""] * (len(TASKS) + len(HEAD) - 2)])
            continue
        on_cpu, on_gpu = columns
        trained = [gpu if "f1" in gpu else cpu for cpu, gpu in zip(on_cpu, on_gpu, strict=True)]
        gpu_trained = any("training" in part for part in on_gpu)
        clock = 1 if facts.network else 0
        training = joined(seconds(part["training"][clock]) if "training" in part else "" for part in trained)
        lines.append(
            [
                facts.title,
                *(f1_of(part.get("f1", {})) for part in trained),
                training + (" (GPU)" if gpu_trained else ""),
                joined(rate(part["tagging"][0]) if "tagging" in part else "" for part in on_cpu),
                joined(rate(part["tagging"][1]) if "tagging" in part else "" for part in on_gpu),
                joined(
                    f"{(cpu or gpu)['bytes'] / 1e6:.2g}" if cpu or gpu else ""
                    for cpu, gpu in zip(*columns, strict=True)
                ),
            ]
        )
    return markdown([HEAD[0], *(f"{corpus}, F1" for corpus in TASKS), *HEAD[1:]], lines)


def f1_of(by_seed: dict[str, dict[str, float]]) -> str:
    """F1 by the strict rule, in percent, then in brackets by conlleval's where that is another; means of the seeds."""
    if not by_seed:
        return ""
    strict, conlleval = (
        mean_of([100 * scores[rule] for scores in by_seed.values()]) for rule in ("strict", "conlleval")
    )
    return strict if strict == conlleval else f"{strict} ({conlleval.partition(' ')[0]})"


def mean_of(scores: list[float]) -> str:
    """The mean, and the deviation where there are several."""
    return f"{statistics.mean(scores):.2f}" + (f" ± {statistics.stdev(scores):.2f}" if len(scores) > 1 else "")


def joined(texts: Iterable[str]) -> str:
    """The numbers of the corpora, in their order; a dash where there is none, nothing where there are none at all."""
    numbers = list(texts)
    return " / ".join(number or "–" for number in numbers) if any(numbers) else ""


def seconds(value: float) -> str:
    """Write seconds with two digits.

    >>> seconds(0.0843), seconds(5.23), seconds(72.8)
    ('0.084 s', '5.2 s', '73 s')
    """
    return f"{value:.2g} s" if value < 9.95 else f"{value:.0f} s"


def rate(value: float) -> str:
    """Write tokens a second with two digits or three.

    >>> rate(12_340_000), rate(345_600), rate(1_234)
    ('12 M', '346 k', '1.2 k')
    """
    for size, letter in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.2g}{letter}" if value < 100 * size else f"{value / size:.0f}{letter}"
    return f"{value:.0f}"


def notes_of(parts: Parts) -> str:
    """Name the machines, and how busy others kept them at most."""
    lines = []
    for device in DEVICES:
        here = {key: part for key, part in parts.items() if key[1] == device}
        lines += [f"On {device}: {machine}" for machine in sorted({part["on"] for part in here.values()})]
        busy = max((part["neighbours"] for part in here.values()), default=0.0)
        if busy > BUSY_CORES:
            lines[-1] += f"; other processes took up to {busy:.1f} cores"
    return "\n\n".join(lines)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=ROWS, default=list(ROWS), help="rows of the table")
    parser.add_argument("--corpora", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--on", nargs="*", choices=DEVICES, help="where to measure (default: cpu, and cuda if there)")
    parser.add_argument("--networks", action="store_true", help="train networks on the CPU, too")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of networks")
    parser.add_argument("--jobs", type=int, default=1, help="processes for the seeds after the first, which is timed")
    parser.add_argument("--encoders", type=Path, default=Path("encoders"), help="a folder with minilm/ and m3e/")
    parser.add_argument("--results", type=Path, default=Path("build/family"), help="a folder for what was measured")
    parser.add_argument("--sentences", type=int, default=0, help="a smoke test with so many, kept apart")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and return the exit status."""
    options = parse(arguments)
    if options.work:
        print("\n" + json.dumps(measure(Work(**json.loads(options.work)))))
        return 0
    if options.on is None:
        options.on = [device for device in DEVICES if device == "cpu" or has_gpu()]
    if options.sentences:
        options.results /= "smoke"
    good = run_all(list(works_of(options)), options.seeds, options.jobs, options.results)
    parts = parts_of(options.results)
    print(f"{table_of(parts)}\n\n{notes_of(parts)}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
