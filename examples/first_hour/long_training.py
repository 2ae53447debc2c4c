"""Watching a long training: a callback, a log, a checkpoint, and going on where a run was stopped.

Run with ``python examples/first_hour/long_training.py``.
"""

import json
import tempfile
from pathlib import Path

import tagline
from tagline.datasets import make_entities

train, dev = make_entities(300), make_entities(60, seed=1, split="test")


def stop_early(state: tagline.TrainingState) -> bool:
    """Called after each pass; True stops."""
    if state.pass_ in (1, 5):
        print(f"pass {state.pass_}  objective {state.objective:.1f}  dev {state.dev_score:.3f}")
    return state.pass_ == 5


settings = {"c2": 0.1, "max_iterations": 12}
whole = tagline.CRF("chinese_ner", **settings).fit(train, X_dev=dev)
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    files = {"checkpoint": folder / "run.checkpoint", "log": folder / "log.jsonl", "save_every": 0}
    tagline.CRF("chinese_ner", **settings, callbacks=[stop_early]).fit(train, X_dev=dev, **files)
    resumed = tagline.CRF("chinese_ner", **settings).fit(train, X_dev=dev, **files, resume=True)
    log = [json.loads(line) for line in files["log"].read_text().splitlines()]
    resumed.plot_training(folder / "curve.png")
    print(f"{len(log)} lines in the log, a curve of {(folder / 'curve.png').stat().st_size // 1000} kB")
print("the same weights:", bool((resumed.parameters_.weights == whole.parameters_.weights).all()))
