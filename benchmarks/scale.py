"""Ray on this machine: how much faster two workers tag than one.

    python benchmarks/scale.py tagging [--files 24] [--sentences 6000] [--rounds 3]

Every round tags all files with one worker and with two, in turns; the answers are compared with those of one process
first. A rate is that of the files behind the first one of each worker, for the processes of Ray take seconds to start;
what the whole run takes is told, too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import tagline
from tagline.cli.sharding import TagWork, digest_of
from tagline.cli.tagging import Questions, Source, load_tagger, tag_stream
from tagline.datasets import make_entities
from tagline.readers import write_columns
from tagline.scale.cluster import Cluster, connected
from tagline.scale.tagging import TaggingShard, run_shards


def make_files(folder: Path, files: int, sentences: int) -> tuple[Path, list[Path]]:
    """Write a model and files to tag, all of one size."""
    model = folder / "model.tagline"
    tagline.CRF("english_ner", scheme="IOB2", max_iterations=30).fit(make_entities(2000, language="en")).save(model)
    corpus = make_entities(sentences, language="en", split="test")
    paths = [folder / f"part{number:03}.txt" for number in range(files)]
    for path in paths:
        write_columns(corpus, path)
    return model, paths


def tag_once(cluster: Cluster, model: Path, paths: list[Path], workers: int, truth: bytes) -> tuple[float, float]:
    """Tag all files; return files a second behind the first ones, and seconds in all."""
    work = TagWork(str(model), digest_of(str(model)), Questions("columns"), Source("columns"))
    with tempfile.TemporaryDirectory() as folder:
        shards = [TaggingShard.of(str(path), os.path.join(folder, path.name)) for path in paths]
        begun, ends = time.perf_counter(), []
        for outcome in run_shards(cluster, shards, work, workers):
            assert not outcome.error, outcome.error
            ends.append(time.perf_counter())
        assert all(Path(shard.target).read_bytes() == truth for shard in shards), "the answers differ"
    return (len(ends) - workers) / (ends[-1] - ends[workers - 1]), ends[-1] - begun


def tagging(files: int, sentences: int, rounds: int) -> None:
    """Print the rates of one worker and of two."""
    with tempfile.TemporaryDirectory() as folder, connected(cpus=2, store_bytes=200_000_000) as cluster:
        model, paths = make_files(Path(folder), files, sentences)
        truth = "".join(tag_stream(load_tagger(model), [paths[0]], Questions("columns"), Source("columns"))).encode()
        rates: dict[int, list[float]] = {1: [], 2: []}
        for number in range(rounds):
            for workers, samples in rates.items():
                rate, seconds = tag_once(cluster, model, paths, workers, truth)
                samples.append(rate)
                print(
                    f"round {number + 1}: {workers} worker{'s' * (workers > 1)}, {rate * sentences:,.0f} sentences a "
                    f"second, {seconds:.1f} s in all, load {os.getloadavg()[0]:.1f}"
                )
        one, two = statistics.median(rates[1]), statistics.median(rates[2])
        print(f"{files} files of {sentences:,} sentences, medians of {rounds}:")
        print(f"1 worker {one * sentences:,.0f}, 2 workers {two * sentences:,.0f} sentences a second: {two / one:.2f}×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    options = commands.add_parser("tagging", help="two workers against one")
    options.add_argument("--files", type=int, default=24)
    options.add_argument("--sentences", type=int, default=6000)
    options.add_argument("--rounds", type=int, default=3)
    asked = vars(parser.parse_args())
    asked.pop("command")
    tagging(**asked)


if __name__ == "__main__":
    main()
