"""`tagline export`: what it writes and says, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime", reason="pip install onnx onnxscript onnxruntime")
pytest.importorskip("onnxscript", reason="pip install onnx onnxscript onnxruntime")

from tagline import CRF  # noqa: E402
from tagline.models.neural import export as exporting  # noqa: E402
from tests.models.neural.cases import bilstm, people  # noqa: E402

from .commands import line_of, tagline  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    bilstm().save(tmp_path / "m.tagline")
    return tmp_path / "m.tagline"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Graphs in no time; nothing is tried."""
    monkeypatch.setattr(exporting, "export_tagger", lambda tagger, path, opset: Path(path).write_bytes(b"graph"))
    monkeypatch.setattr(exporting, "_try_out", lambda folder, predict: None)
    return monkeypatch


def test_it_says_what_it_has_written(stub: Any, model: Path, tmp_path: Path) -> None:
    done = tagline("export", model, "-o", tmp_path / "out")
    assert (done.code, done.out) == (0, "")
    assert done.err == (
        f"wrote {tmp_path / 'out'}: encode.py, export.json, labels.json, model.onnx, run.py, vocabulary.json\n"
        "run.py gives the tags of the model on a few sentences; it needs onnxruntime, numpy: pip install onnxruntime "
        "numpy\n"
        f"python {tmp_path / 'out' / 'run.py'} < words.txt\n"
    )
    assert tagline("export", model, "-o", tmp_path / "out").code == 0, "an earlier export is replaced"
    stub.setattr(exporting, "find_spec", lambda name: None)
    assert "\nrun.py was not tried; it needs" in tagline("export", model, "-o", tmp_path / "out").err


def test_what_it_refuses(stub: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    message = line_of(tagline("export", model, "-o", tmp_path / "mine"))
    assert message.startswith(f"{tmp_path / 'mine'}: ")
    assert "--force" in message
    assert tagline("export", model, "-o", tmp_path / "mine", "--force").code == 0
    assert (tmp_path / "mine" / "notes.txt").exists()
    assert line_of(tagline("export", model, "-o", tmp_path / "x", "--opset", 9)).startswith("--opset: ")
    assert "m.tagline is also read, as MODEL" in line_of(tagline("export", model, "-o", model))
    message = line_of(tagline("export", model, "-o", tmp_path / "no" / "place"))
    assert str(tmp_path / "no") in message
    assert tagline("export", model).code == 2


def test_a_feature_crf_needs_no_export(tmp_path: Path) -> None:
    CRF("U:%x[0,0]\n").fit(*people()).save(tmp_path / "crf.tagline")
    message = line_of(tagline("export", tmp_path / "crf.tagline", "-o", tmp_path / "out"))
    assert message.startswith(f"{tmp_path / 'crf.tagline'}: expected a model of kind bilstm or transformer, ")
    assert ", got crf; " in message
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_program_tags_as_the_command_does(model: Path, tmp_path: Path) -> None:
    text = "\n\n".join("\n".join(words) for words in people(9, 30)[0]) + "\n\n"
    command = [sys.executable, "-m", "tagline", "export", str(model), "-o", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 3, "nothing of PyTorch's own"
    program = [sys.executable, str(tmp_path / "out" / "run.py")]
    tagged = subprocess.run(program, input=text, capture_output=True, encoding="utf-8", check=True).stdout
    assert tagged == tagline("tag", "-m", model, input=text).out
