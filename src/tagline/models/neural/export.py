"""A network as a folder that runs without Tagline and PyTorch: ONNX, and a program over onnxruntime and NumPy.

model.onnx          numbers of a batch in, labels out: the network, the transitions it decodes with, the decoding
labels.json         their names, by number
export.json         the kind of network, the packages that the program needs, settings of the coder
vocabulary.json     of a BiLSTM: words and characters, by number
tokenizer.json      of a transformer
run.py, encode.py   the program, from `runners`: tags in, and how words become numbers
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path as FilePath
from typing import Any

from tagline import __version__, writing
from tagline.checks import as_whole
from tagline.errors import InputError, TaglineError
from tagline.models.files import Exported
from tagline.models.neural.network import Network
from tagline.nn.exported import export_tagger
from tagline.readers.sources import checked_path
from tagline.storage import Path

FORMAT = "tagline export"
OLDEST = 18  # of ONNX's operators: the exporter's own, which it does not translate further back
SETTINGS, MODEL, LABELS = "export.json", "model.onnx", "labels.json"
FILES = (SETTINGS, MODEL, f"{MODEL}.data", LABELS, "vocabulary.json", "tokenizer.json", "run.py", "encode.py")
RUNNERS = FilePath(__file__).parent / "runners"

# What the program must label as the model does, before the folder is handed out.
TRIED = (
    ["Anna", "Smith", "lives", "in", "Rome", "."],
    ["F-16", "ÀÉÎÕÜ", "北京", "12:30", "McDonald's", "[SEP]", "😀"],
    ["Internationalisation"],
)


def export_network(
    network: Network,
    kind: str,
    folder: Path,
    predict: Callable[[Any], Any],
    *,
    opset: int | None = None,
    force: bool = False,
) -> Exported:
    """Write a network; see `NeuralTagger.export`.

    Arguments:
        predict: what the program must agree with.
    """
    if opset is not None and as_whole("opset", opset, 1) < OLDEST:
        raise InputError("opset: expected {} or newer, got {}", OLDEST, opset)
    place = checked_path(folder)
    mix = _check_place(place, force)
    coder = network.coder.exported()
    settings = {
        "format": FORMAT,
        "version": __version__,
        "kind": kind,
        "scheme": network.scheme,
        "needs": ["onnxruntime", "numpy", *coder.needs],
        **coder.settings,
    }
    texts = {
        SETTINGS: json.dumps(settings, ensure_ascii=False, indent=1),
        LABELS: json.dumps(network.labels, ensure_ascii=False),
        **coder.files,
        "run.py": (RUNNERS / "run.py").read_text(encoding="utf-8"),
        "encode.py": (RUNNERS / f"{coder.program}.py").read_text(encoding="utf-8"),
    }
    with writing.new_folder(place, mix=mix) as new:
        export_tagger(network.tagger, os.path.join(new, MODEL), opset)
        for name, text in texts.items():
            FilePath(new, name).write_text(text, encoding="utf-8", newline="\n")
        checked = all(find_spec(package) for package in settings["needs"])
        if checked:
            _try_out(new, predict)
        files = {name: os.path.getsize(os.path.join(new, name)) for name in sorted(os.listdir(new))}
    return Exported(place, files, tuple(settings["needs"]), checked)


def _check_place(place: str, force: bool) -> bool:
    """Refuse a place where something else lies; say whether other files are to stay beside the new ones."""
    if not os.path.exists(place):
        if not os.path.isdir(parent := os.path.dirname(os.path.realpath(place))):
            raise InputError("{}: expected a place in a folder that is there, got none; make {} first", place, parent)
        return False
    if not os.path.isdir(place):
        raise InputError("{}: expected a folder to write to, got a file; name another one", place)
    if others := sorted({*os.listdir(place)} - {*FILES, "__pycache__"}):
        if not force:
            raise InputError(
                "{}: expected a new or empty folder, or an earlier export, got one with {}; name "
                "another one, or write beside what is there with --force (force=True)",
                place,
                others[0],
            )
        return True
    if os.listdir(place) and not force and not _is_export(os.path.join(place, SETTINGS)):
        raise InputError(
            "{}: expected an earlier export, got files of the same names; name another folder, or replace "
            "them with --force (force=True)",
            place,
        )
    return False


def _is_export(path: str) -> bool:
    try:
        with open(path, encoding="utf-8") as stream:
            settings = json.load(stream)
    except (OSError, ValueError):
        return False
    return isinstance(settings, dict) and settings.get("format") == FORMAT


def _try_out(folder: str, predict: Callable[[Any], Any]) -> None:
    """Run the program of a folder on a few sentences, and compare its labels with those of the model."""
    lines = "\n\n".join("\n".join(words) for words in TRIED)
    done = subprocess.run(
        [sys.executable, "-B", os.path.join(folder, "run.py")], input=lines, capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise TaglineError("export: expected a program that runs, got: {}; nothing was written", said)
    tagged = [block.split("\n") for block in done.stdout.strip("\n").split("\n\n")]
    labels = [[line.rpartition("\t")[2] for line in block] for block in tagged]
    for words, ours, theirs in zip(TRIED, predict([*TRIED]), labels, strict=True):
        if ours != theirs:
            raise TaglineError(
                "export: expected the labels {} for {!r}, got {} from onnxruntime; nothing was "
                "written; another version of torch or onnxruntime may do better",
                " ".join(ours),
                " ".join(words),
                " ".join(theirs),
            )
