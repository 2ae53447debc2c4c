"""tagline train: from a file to a model, what is said on the way, and what is refused before any work is done."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

import tagline as package
from tagline.cli.training import train_file
from tagline.models.crf.estimator import CRF
from tagline.models.registry import kind_named
from tagline.readers import read_columns
from tagline.training.iteration import Step

from .commands import line_of, tagline


def test_the_model_is_the_one_that_python_trains(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.tagline"
    done = tagline("train", folder / "train.txt", "-o", path, "--template", "english_ner", "--max-iterations", 12)
    assert done.code == 0
    assert done.out == ""
    model = CRF("english_ner", scheme="auto", max_iterations=12).fit(read_columns(folder / "train.txt"))
    dev = read_columns(folder / "dev.txt")
    loaded = package.load(path)
    assert loaded.predict(dev) == model.predict(dev)
    np.testing.assert_allclose(
        np.concatenate(loaded.marginal_arrays(dev)), np.concatenate(model.marginal_arrays(dev)), atol=1e-5
    )


@pytest.mark.parametrize("kind", ["memm", "maxent", "crf"])
def test_kinds_with_features(kind: str, folder: Path, tmp_path: Path) -> None:
    path, dev = tmp_path / "m.tagline", read_columns(folder / "dev.txt")
    done = tagline("train", folder / "train.txt", "-o", path, "--model", kind, "--tolerance", 0.001)
    assert done.code == 0
    assert "converged: the objective is proven to be within" in done.err
    model = getattr(package, {"memm": "MEMM", "maxent": "MaxEnt", "crf": "CRF"}[kind])
    ours = model("english_ner", scheme="auto", tolerance=0.001).fit(read_columns(folder / "train.txt"))
    loaded = package.load(path)
    assert type(loaded) is model
    assert loaded.predict(dev) == ours.predict(dev)
    assert "the objective is proven to be within 0." in tagline("inspect", path).out
    assert tagline("explain", "-m", path, "Anna Smith lives in Rome.").code == 0
    assert tagline("tag", "-m", path, folder / "dev.txt", "--spans").code == 0


def test_a_tolerance_of_nothing_to_prove(folder: Path, tmp_path: Path) -> None:
    done = tagline("train", folder / "train.txt", "-o", tmp_path / "m", "--tolerance", 0.001, "--c2", 0)
    assert done.code != 0
    assert "tolerance: " in done.err


def test_what_is_said(folder: Path, tmp_path: Path) -> None:
    done = tagline("train", folder / "train.txt", "-o", tmp_path / "m", "--dev", folder / "dev.txt", "--patience", 3)
    for words in (
        "learning from 150 sentences, ",
        "template english_ner: the tags mark spans of words; --template names another",
        "pass 1  objective ",
        "the dev score no longer rises; pass ",
        "9 labels (IOB2), ",
        "precision  recall      F1    gold\nDATE  ",
        f"saved {tmp_path / 'm'} (",
        f"tagline tag -m {tmp_path / 'm'} FILE",
    ):
        assert words in done.err
    assert "\x1b" not in done.err
    assert "--dev FILE" not in done.err


def test_quiet_and_json(folder: Path, tmp_path: Path) -> None:
    done = tagline(
        "train", folder / "train.txt", "-o", tmp_path / "m", "--dev", folder / "dev.txt", "-q", "--json",
        "-a", "sgd:passes=4", "--patience", 0,
    )  # fmt: skip
    assert done.err == ""
    facts = json.loads(done.out)
    assert facts["sentences"] == 150
    assert facts["template"] == "english_ner.txt"
    assert facts["scheme"] == "IOB2"
    assert facts["training"]["passes"] == 4
    assert facts["training"]["reason"] == "passes"
    assert facts["bytes"] == (tmp_path / "m").stat().st_size
    assert facts["interrupted"] is False
    dev = read_columns(folder / "dev.txt")
    scores = package.evaluation.evaluate(dev, package.load(tmp_path / "m").predict(dev))
    assert facts["dev"]["spans"]["overall"]["f1"] == scores.spans.f1
    assert 1 <= facts["best_pass"] <= 4


def test_verbose_has_a_line_for_each_pass(folder: Path, tmp_path: Path) -> None:
    done = tagline("train", folder / "train.txt", "-o", tmp_path / "m", "-v", "-a", "lbfgs", "--max-iterations", 7)
    assert sum("  objective " in line and "evaluations" in line for line in done.err.splitlines()) == 7
    assert "--max-iterations is reached, before it had converged" in done.err


def test_settings_arrive(folder: Path, tmp_path: Path) -> None:
    words = ["train", folder / "train.txt", "-o", tmp_path / "m", "-q", "--max-iterations", 2, "--start-end"]
    done = tagline(*words, "--c1", 0.5, "--c2", 0.25, "--seed", 3, "--hash-bits", 12, "--scheme", "none")
    assert done.code == 0
    model = package.load(tmp_path / "m")
    assert (model.c1, model.c2, model.random_state, model.hash_bits, model.scheme) == (0.5, 0.25, 3, 12, None)
    assert model.parameters_.structure.start
    assert len(model.parameters_.structure.transitions) > 0
    assert tuple(model.callbacks) == ()


def test_illegal_tags_are_repaired_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("Anna B-PER\nBo I-PER\nsings O\n\nin O\nRome I-LOC\nTown I-LOC\n\nRome B-LOC\nis O\n\n" * 3)
    words = ["train", path, "-o", tmp_path / "m", "--max-iterations", 2, "--scheme", "IOB2"]
    repaired = tagline(*words)
    assert "repaired 3 of 9 sentences with tags that IOB2 forbids" in repaired.err
    error = tagline(*words, "--on-illegal", "error", "-q")
    assert f"{path}:5: " in line_of(error)
    dropped = tagline(
        "train", path, "-o", tmp_path / "m", "--max-iterations", 2, "--on-illegal", "drop", "--scheme", "IOB2"
    )
    assert "dropped 3 of 9 sentences" in dropped.err


def test_a_template_of_ones_own(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("U0:%x[0,0]\nU0:%x[0,0]\nB\n")
    done = tagline(
        "train", folder / "train.txt", "-o", tmp_path / "m", "--template", tmp_path / "t", "--max-iterations", 2
    )
    assert f"template {tmp_path / 't'}\n" in done.err
    assert f'{tmp_path / "t"}:2: "U0:%x[0,0]" is also line 1' in done.err
    assert package.load(tmp_path / "m").features.text == "U0:%x[0,0]\nU0:%x[0,0]\nB\n"


def test_packed_and_recoded_files(folder: Path, tmp_path: Path) -> None:
    text = (folder / "train.txt").read_text(encoding="utf-8")
    (tmp_path / "train.gz").write_bytes(gzip.compress(text.encode("gb18030")))
    same = ["-q", "--max-iterations", 2]
    assert tagline("train", tmp_path / "train.gz", "-o", tmp_path / "a", "--encoding", "gb18030", *same).code == 0
    assert tagline("train", "-", "-o", tmp_path / "b", *same, input=text).code == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_broken_sentences_are_skipped_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("Anna B-PER\nsings\n\nRome B-LOC\ncalls O\n\n")
    done = tagline("train", path, "-o", tmp_path / "m", "--lenient", "--max-iterations", 1)
    assert f"skipped 1 broken sentences; the first: {path}:2: " in done.err
    assert tagline("train", path, "-o", tmp_path / "m", "--lenient", "--max-iterations", 1, "-q").err == ""
    words = ["train", path, "-o", tmp_path / "cached", "--lenient", "--max-iterations", 1, "-q", "--cache", tmp_path]
    assert tagline(*words).code == 0
    assert (tmp_path / "cached").read_bytes() == (tmp_path / "m").read_bytes()


def test_the_cache_gives_the_same_model_and_is_used_again(folder: Path, tmp_path: Path) -> None:
    words = ["train", folder / "train.txt", "--max-iterations", 5]
    tagline(*words, "-o", tmp_path / "plain", "-q")
    first = tagline(*words, "-o", tmp_path / "cached", "--cache", tmp_path / "new" / "cache")
    assert first.code == 0, first.err
    assert "compiled before" not in first.err
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "cached").read_bytes()
    again = tagline(*words, "-o", tmp_path / "cached", "--cache", tmp_path / "new" / "cache")
    assert "compiled before" in again.err
    changed = tmp_path / "train.txt"
    changed.write_bytes((folder / "train.txt").read_bytes())
    tagline("train", changed, "-o", tmp_path / "m", "-q", "--max-iterations", 1, "--cache", tmp_path / "new" / "cache")
    status = changed.stat()
    os.utime(changed, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    tagline("train", changed, "-o", tmp_path / "m", "-q", "--max-iterations", 1, "--cache", tmp_path / "new" / "cache")
    assert len(list((tmp_path / "new" / "cache").iterdir())) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--algorithm newton", "--algorithm: expected one of auto, lbfgs, owlqn, sgd, "),
        ("--c2 -1", "--c2: expected a number of 0 or more, got -1.0"),
        ("--c1 nan", "--c1: expected a number of 0 or more, got nan"),
        ("--hash-bits 99", "--hash-bits: expected a whole number from 1 to 30, or None, got 99"),
        ("--seed -1", "--seed: expected a whole number of 0 or more, or None, got -1"),
        ("--patience 3", "--patience: expected --dev FILE, whose score it waits for, got none"),
        ("--max-iterations -1", "--max-iterations: expected a whole number of 0 or more, or None, got -1"),
        ("--scheme FOO", "scheme: expected one of IO, IOB1"),
        ("--on-illegal no", "--on-illegal: expected one of error, repair, drop, got 'no'"),
        ("--label-weights x", "--label-weights: expected balanced or LABEL=NUMBER,…, got 'x'"),
        ("--threads 0", "--threads: expected 1 to 1024, got 0"),
        ("--cache x --min-frequency 2", "--cache, --min-frequency: expected one of them, got both"),
        ("--cache x --stages 2", "--cache, --stages: expected one of them, got both"),
        ("--cache x --clusters y", "--cache, --clusters: expected one of them, got both"),
        ("--cache x --vectors y", "--cache, --vectors: expected one of them, got both"),
        ("--template nowhere", "template: expected a file, or one of chinese_ner, chunking, english_ner, pos, "),
        ("--format xml", "format: expected one of columns, jsonl, conllu, text, words, got 'xml'"),
        ("--format text", "expected sentences with tags, got raw text; use columns or JSON lines"),
        ("--encoding klingon", "encoding: expected a name that Python knows, got 'klingon'"),
        ("--tag-column 9", "--tag-column: expected a number from 1 to 1 or a name among tag, got '9'"),
        ("--tag-column 0", "--tag-column: expected a number from 1 to 1 or a name among tag, got '0'"),
        ("--dev nowhere", "nowhere: expected a file, got none of that name"),
    ],
)
def test_wrong_options_are_named_before_anything_is_written(
    folder: Path, tmp_path: Path, words: str, message: str
) -> None:
    path = tmp_path / "m"
    done = tagline("train", folder / "train.txt", "-o", path, *words.split())
    assert message in line_of(done)
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "sentences"),
        ("\n\n", "sentences"),
        ("a\nb\n", "token"),
        ("a O\nb\n", ":2: "),
        (b"\xff\xfe O\n", ":1: "),
        (b"a\0b O\n", ":1: "),
    ],
)
def test_broken_files_are_named(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    line = line_of(tagline("train", path, "-o", tmp_path / "m"))
    assert line.startswith(str(path))
    assert message in line


def test_templates_that_do_not_fit(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("U0:%x[0,3]\n")
    line = line_of(tagline("train", folder / "train.txt", "-o", tmp_path / "m", "-t", tmp_path / "t"))
    assert line.startswith(f"{tmp_path / 't'}:1: ")
    (tmp_path / "t").write_text("hello\n")
    assert ":1: " in line_of(tagline("train", folder / "train.txt", "-o", tmp_path / "m", "-t", tmp_path / "t"))
    line = line_of(tagline("train", folder / "two.txt", "-o", tmp_path / "m", "--dev", folder / "dev.txt"))
    assert line.startswith("chunking.txt:14: "), "the dev set has too few columns"


def test_places_that_cannot_be_written_are_found_before_training(folder: Path, tmp_path: Path) -> None:
    """The training file is not there: the place is tried first."""
    for path, where in (
        (tmp_path, str(tmp_path)),
        (tmp_path / "no" / "m", str(tmp_path / "no")),
        (Path("/proc/m"), "/proc/m"),
    ):
        line = line_of(tagline("train", tmp_path / "nowhere.txt", "-o", path))
        assert line.startswith("--output: ")
        assert where in line
    assert list(tmp_path.iterdir()) == []
    assert "nowhere.txt: " in line_of(tagline("train", "nowhere.txt", "-o", tmp_path / "m"))


def test_interrupted_training_is_saved(folder: Path, tmp_path: Path) -> None:
    """Ctrl-C after the third pass."""

    class Impatient:
        def say(self, text: str) -> None: ...
        def stage(self, text: str) -> None: ...
        def finish(self) -> None: ...
        def passed(self, done) -> None:
            if done.number == 3:
                raise KeyboardInterrupt

    done = train_file(str(folder / "train.txt"), str(tmp_path / "m"), tell=Impatient())
    assert done.interrupted
    assert len(done.model.training_log_) == 3
    assert package.load(tmp_path / "m").predict([["Rome"]]) == done.model.predict([["Rome"]])


def test_nothing_learned_leaves_the_old_model_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "m").write_text("precious")
    done = tagline("train", folder / "train.txt", "-o", tmp_path / "m", "--max-seconds", 0, "-q")
    assert "--max-seconds: " in line_of(done)
    assert (tmp_path / "m").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_the_first_of_the_best_passes_is_the_one_that_is_kept() -> None:
    log = [Step(n, 1.0, dev_score=score, seconds=float(n)) for n, score in enumerate((0.5, 0.8, 0.8, 0.7), 1)]
    model = CRF(patience=2)
    model.training_log_ = log
    assert model.best_pass_ is model.kept_pass_ is log[1]
    model.patience = None
    assert model.kept_pass_ is None, "the last weights are kept"


def test_label_weights() -> None:
    read = kind_named("crf").options["label_weights"].read
    assert read(None) is None
    assert read("balanced") == "balanced"
    assert read("B-A=B=2") == {"B-A=B": 2.0}


def test_one_label_alone_teaches_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("Rome N\n")
    line = line_of(tagline("train", tmp_path / "train.txt", "-o", tmp_path / "m"))
    assert "train.txt: " in line


def test_a_run_goes_on_from_its_checkpoint(folder: Path, tmp_path: Path) -> None:
    words = ("train", folder / "train.txt", "-q", "-a", "lbfgs", "--log", tmp_path / "log")
    assert tagline(*words, "-o", tmp_path / "whole", "--max-iterations", 9).code == 0
    kept = ("--checkpoint", tmp_path / "state", "--save-every", 0)
    assert tagline(*words, *kept, "-o", tmp_path / "half", "--max-iterations", 4).code == 0
    again = ("train", folder / "train.txt", "-a", "lbfgs", *kept, "--resume", "-o", tmp_path / "again")
    done = tagline(*again, "--max-iterations", 9)
    assert f"going on from {tmp_path / 'state'}" in done.err
    models = [package.load(tmp_path / name) for name in ("whole", "again", "half")]
    weights = [np.asarray(model.parameters_.weights).tobytes() for model in models]  # type: ignore[attr-defined]
    assert weights[0] == weights[1] != weights[2]
    events = [json.loads(line)["event"] for line in (tmp_path / "log").read_text().splitlines()]
    assert events == ["start", *["pass"] * 9, "end", "start", *["pass"] * 4, "end"]
    other = tagline(*again, "--c2", 3)
    assert other.code == 1
    assert f"{tmp_path / 'state'}: " in other.err
    assert "c2 " in other.err


def test_files_of_a_run_are_checked_first(folder: Path, tmp_path: Path) -> None:
    for words, message in (
        (("--resume",), "--resume: "),
        (("--save-every", 3), "--save-every: "),
        (("--log", tmp_path / "none" / "log"), "--log: "),
        (("--checkpoint", folder / "train.txt"), "--checkpoint: "),
    ):
        for kind in ("crf", "hmm"):
            done = tagline("train", folder / "train.txt", "-o", tmp_path / "m", "--model", kind, *words)
            assert done.code == 1
            assert message in done.err
    done = tagline("train", folder / "train.txt", "-o", tmp_path / "m", "--model", "hmm", "--log", tmp_path / "log")
    assert done.code == 0
    events = [json.loads(line)["event"] for line in (tmp_path / "log").read_text().splitlines()]
    assert events == ["start", "pass", "end"]


def test_ctrl_c_while_the_dev_set_is_scored(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was learned is saved, and nobody says that it was not."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tagline.models.recipes.Recipe.score", stop)
    words = ("train", folder / "train.txt", "--dev", folder / "dev.txt", "-o", tmp_path / "m", "--max-iterations", 2)
    done = tagline(*words)
    assert done.code == 0
    assert "interrupted while the dev set was scored; the model is saved without its scores" in done.err
    assert package.load(tmp_path / "m").labels_
