"""`tagline wapiti`: outputs to the byte, against the definition and the real program; training to the same optimum."""

from __future__ import annotations

import io
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline.cli.foreign import run as run_foreign
from tagline.errors import InputError, StorageError
from tagline.interop.formats import read_model as read_any
from tagline.interop.wapiti import commands
from tagline.interop.wapiti.dump import read_dump
from tagline.interop.wapiti.text import read_model
from tagline.training.auto import STOCHASTIC_PASSES
from tests.interop.wapiti.models import (
    LABELS,
    MODEL,
    SENTENCES,
    WEIGHTS,
    labellings,
    local_probability,
    posteriors,
    score,
    token_score,
)
from tests.interop.wapiti.program import needs_wapiti, wapiti

PATTERNS = '*\nU:w=%x[ 0,0]\nu:p=%m[0,0,"^.?.?"]/%x[-1,1]\nu:s=%m[0,0,"\\\\u?\\\\u$"]!\nb:t=%t[0,0,"\\\\d"]  # digits\n'
TRAIN = """The D O
Müller N B
sings V O

In P O
Rome N B
IN P I
1996 C O
, X O

Anna N B
A. N I
goes V O
"""


class _Input:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]):  # type: ignore[no-untyped-def]
    """Run our command in this process; return what it wrote to standard output and to standard error."""

    def go(*arguments: object, text: bytes = b"") -> tuple[bytes, str]:
        monkeypatch.setattr(sys, "stdin", _Input(text))
        capfdbinary.readouterr()
        assert commands.main([*map(str, arguments)]) == 0
        output, errors = capfdbinary.readouterr()
        return output, errors.decode()

    return go


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model").write_bytes(MODEL)
    return tmp_path / "model"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "patterns").write_text(PATTERNS, encoding="utf-8")
    (tmp_path / "train").write_text(TRAIN, encoding="utf-8")
    return tmp_path


def lines_of(sentences: list[list[str]]) -> bytes:
    return "\n\n".join("\n".join(words) for words in sentences).encode() + b"\n"


# --- label ----------------------------------------------------------------------------------------------------------


def test_labels_and_scores_are_those_of_the_definition(run, model: Path) -> None:  # type: ignore[no-untyped-def]
    output, errors = run("label", "-m", model, "-s", "-n", 2, text=lines_of(SENTENCES))
    expected = ""
    for words in SENTENCES:
        for rank, (labels, total) in enumerate(itertools.islice(labellings(words).items(), 2)):
            expected += f"# {rank} {total:f}\n"
            for token, (word, label) in enumerate(zip(words, labels, strict=True)):
                expected += f"{word}\t{label}\t{label}/{score(words, labels, token):f}\n"
            expected += "\n"
    assert output.decode() == expected
    assert errors == "* Load model\n* Label sequences\n* Done\n"


@pytest.mark.parametrize("options", ["-s", "-s -p"])
def test_an_memm_has_products_of_probabilities(run, model: Path, options: str) -> None:  # type: ignore[no-untyped-def]
    model.write_bytes(MODEL.replace(b"#mdl#2#", b"#mdl#1#"))
    output, _ = run("label", "-m", model, *options.split(), "-n", 2, text=lines_of(SENTENCES))
    expected = ""
    for words in SENTENCES:
        rows = {
            labels: [local_probability(words, labels, token) for token in range(len(words))]
            for labels in labellings(words)
        }
        ranked = sorted(rows.items(), key=lambda row: -np.prod(row[1]))
        for rank, (labels, probabilities) in enumerate(ranked[:2]):
            expected += f"# {rank} {np.prod(probabilities):f}\n"
            for word, label, probability in zip(words, labels, probabilities, strict=True):
                expected += f"{word}\t{label}\t{label}/{probability:f}\n"
            expected += "\n"
    assert output.decode() == expected
    first, _ = run("label", "-m", model, "-l", text=lines_of(SENTENCES))
    best, _ = run("label", "-m", model, "-l", "-s", text=lines_of(SENTENCES))
    assert first.split() == [line.split(b"\t")[0] for line in best.splitlines() if b"/" in line]


def written(labels: list[int], values: list[float], joined: Any) -> str:
    rows = [f"{LABELS[y]}\t{LABELS[y]}/{value:f}" for y, value in zip(labels, values, strict=True)]
    return "\n".join([f"# 0 {joined(values):f}", *rows, "", ""])


def test_a_maxent_model_labels_tokens_one_by_one(run, model: Path) -> None:  # type: ignore[no-untyped-def]
    """The weights of pairs that its file may have do not count."""
    model.write_bytes(MODEL.replace(b"#mdl#2#", b"#mdl#0#"))
    output, _ = run("label", "-m", model, "-s", "-l", text=lines_of(SENTENCES))
    probabilities, _ = run("label", "-m", model, "-s", "-p", "-l", text=lines_of(SENTENCES))
    expected = expected_probabilities = ""
    for words in SENTENCES:
        rows = [[token_score(words, (label,) * len(words), t) for label in LABELS] for t in range(len(words))]
        chances = [np.exp(row) / np.exp(row).sum() for row in rows]
        best = [int(np.argmax(row)) for row in rows]
        expected += written(best, [row[y] for y, row in zip(best, rows, strict=True)], sum)
        expected_probabilities += written(best, [row[y] for y, row in zip(best, chances, strict=True)], np.prod)
    assert output.decode() == expected
    assert probabilities.decode() == expected_probabilities


def test_posteriors_are_those_of_the_definition(run, model: Path) -> None:  # type: ignore[no-untyped-def]
    output, _ = run("l", "-m", model, "-s", "-p", "-l", text=lines_of(SENTENCES))
    expected = ""
    for words in SENTENCES:
        best = [max(row, key=row.__getitem__) for row in posteriors(words)]
        probabilities = [row[label] for row, label in zip(posteriors(words), best, strict=True)]
        expected += f"# 0 {np.prod(probabilities):f}\n"
        for label, probability in zip(best, probabilities, strict=True):
            expected += f"{label}\t{label}/{probability:f}\n"
        expected += "\n"
    assert output.decode() == expected


def test_force_keeps_known_labels(run, model: Path) -> None:  # type: ignore[no-untyped-def]
    output, _ = run("label", "-m", model, "--force", "-l", text=b"Anna O\nsings ?\n\nsings NAME\n")
    best = next(labels for labels in labellings(["Anna", "sings"]) if labels[0] == "O")
    assert output.decode() == "\n".join(best) + "\n\nNAME\n\n"


def test_check_reports_errors(run, model: Path) -> None:  # type: ignore[no-untyped-def]
    output, errors = run("label", "-m", model, "-c", text=b"Anna NAME\nsings VERB\n\nsings O\n\nx NEW\n")
    assert output == b"Anna NAME\tNAME\nsings VERB\tVERB\n\nsings O\tVERB\n\nx NEW\tO\n\n"
    assert errors.split("* Label sequences\n")[1] == (
        "    Nb sequences  : 3\n    Token error   : 25.00%\n    Sequence error: 33.33%\n* Per label statistics\n"
        "    NAME    Pr=1.00  Rc=1.00  F1=1.00\n    O       Pr=-nan  Rc=0.00  F1=-nan\n"
        "    VERB    Pr=0.50  Rc=1.00  F1=0.67\n* Done\n"
    )


def test_fewer_labellings_than_asked_for(run, model: Path) -> None:  # type: ignore[no-untyped-def]
    output, errors = run("label", "-m", model, "-n", 5, text=b"Anna\n")
    assert output.count(b"\n\n") == 3
    assert "note: 1 sentences have fewer than 5 labellings" in errors


OPTIONS = ["", "-s", "-p", "-s -p", "-n 2", "-n 3 -s", "-n 3 -s -p", "-l", "-l -s", "-c", "-c -s", "-c -p -n 2"]


@needs_wapiti
@pytest.mark.parametrize(
    ("type", "options"),
    [
        (type, options)
        for type in ("crf", "memm", "maxent")
        for options in (*OPTIONS, "--force -s", "--force -s -p")
        if type != "maxent" or "-n" not in options  # tokens that are alike have labellings of equal scores there
    ],
)
def test_output_is_that_of_wapiti(run, files: Path, options: str, type: str) -> None:  # type: ignore[no-untyped-def]
    wapiti("train", "-T", type, "-p", files / "patterns", "-1", 0.05, "-2", 0.02, files / "train", files / "m")
    data = "\n\n  In P O\r\nÄrzte\tN  Z \n1A N I\n \t\n\nAnna N B\nab N O\nxAa V B\n7 V O".encode()
    theirs, their_words = wapiti("label", *options.split(), "-m", files / "m", text=data)
    ours, our_words = run("label", *options.split(), "-m", files / "m", text=data)
    assert ours == theirs
    assert our_words == their_words


@needs_wapiti
def test_bytes_that_are_no_utf8(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    """Latin-1, of which both know nothing, with expressions that look at single bytes."""
    (files / "p").write_bytes(b'*\nu:%x[0,0]\nu:%m[0,0,"\\\\A"]\nu:%t[0,0,"^...$"]\nu:%m[1,0,"^.?.?"]\n')
    (files / "t").write_bytes("né A\nça B\nêtre A\n\nÄrzte B\nn\xc3 A\n".encode("latin-1"))
    wapiti("train", "-p", files / "p", "-1", 0.01, files / "t", files / "m")
    data = "né A\nmüde B\n\nça A\n".encode("latin-1")
    assert (
        run("label", "-s", "-p", "-m", files / "m", text=data)[0]
        == wapiti("label", "-s", "-p", "-m", files / "m", text=data)[0]
    )
    run("train", "-p", files / "p", "-1", 0.01, files / "t", files / "ours")
    assert set(read_model((files / "ours").read_bytes()).observations) == set(
        read_model((files / "m").read_bytes()).observations
    )


def test_sentences_are_answered_as_they_arrive(model: Path) -> None:
    code = "import sys; from tagline.cli.foreign import run; sys.exit(run('wapiti', sys.argv[1:]))"
    command = [sys.executable, "-c", code, "label", "-l", "-m", str(model)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Anna\nsings\n\n")
        process.stdin.flush()
        assert [process.stdout.readline() for _ in range(3)] == [b"NAME\n", b"VERB\n", b"\n"]
        process.stdin.close()
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("data", "place"),
    [(b"Anna\n\0\n", r"^<stdin>:2: ")],
)
def test_bad_data_is_named(run, model: Path, data: bytes, place: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=place):
        run("label", "-m", model, text=data)


def test_missing_columns_are_named(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    (files / "p").write_text("u%x[0,2]\n", encoding="utf-8")
    with pytest.raises(InputError, match="train:1: "):
        run("train", "-p", files / "p", files / "train", files / "m")
    with pytest.raises(InputError, match="train:1: "):
        run("train", files / "train", files / "m")
    with pytest.raises(InputError, match=r"^<stdin>: "):
        run("train", "-p", files / "patterns")


# --- dump and update ------------------------------------------------------------------------------------------------


def test_dump_and_update(run, model: Path) -> None:  # type: ignore[no-untyped-def]
    text, _ = run("dump", "-p", 6, model)
    weights = {(name, before, label): weight for _, name, before, label, weight in read_dump(text, "dump")}
    assert weights == WEIGHTS
    everything, _ = run("d", "--all", model)
    assert everything.count(b"\n") == read_model(MODEL).offsets[-1] + 8
    changed, _ = run("update", "-m", model, text=b"u:w=Anna # NAME 0\n\nb:p=never\tO\tNAME\t1e-1\n")
    again, _ = run("dump", text=changed)
    weights = {(name, before, label): weight for _, name, before, label, weight in read_dump(again, "dump")}
    expected = {**WEIGHTS, ("b:p=never", "O", "NAME"): 0.1}
    del expected["u:w=Anna", None, "NAME"]
    assert weights == expected


@pytest.mark.parametrize(
    ("patch", "place"),
    [
        (b"u:w=Anna # NAME\n", r"^<stdin>:1: .*b'u:w=Anna # NAME'"),
        (b"\nu:w=Bob # NAME 1\n", r"^<stdin>:2: "),
        (b"u:w=Anna # X 1\n", r"^<stdin>:1: .*'X'"),
        (b"u:w=Anna O NAME 1\n", r"^<stdin>:1: "),
        (b"b:p=anna # NAME 1\n", r"^<stdin>:1: "),
        (b"u:w=Anna # NAME one\n", r"^<stdin>:1: "),
        (b"u:w=Anna # NAME nan\n", r"^<stdin>:1: "),
    ],
)
def test_bad_patches_are_named(run, model: Path, patch: bytes, place: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=place):
        run("update", "-m", model, text=patch)


@needs_wapiti
@pytest.mark.parametrize("options", ["", "-p 9", "--all", "-p 0"])
def test_dump_is_that_of_wapiti(run, model: Path, options: str) -> None:  # type: ignore[no-untyped-def]
    assert run("dump", *options.split(), model)[0] == wapiti("dump", *options.split(), model)[0]


@needs_wapiti
@pytest.mark.parametrize("options", ["", "-c"])
@pytest.mark.parametrize("type", [b"0", b"1", b"2"])
def test_update_is_that_of_wapiti(run, model: Path, options: str, type: bytes) -> None:  # type: ignore[no-untyped-def]
    model.write_bytes(MODEL.replace(b"#mdl#2#", b"#mdl#%b#" % type))
    patch = b"u:w=Anna # NAME 0\n\n\nb:p=never\tO\tNAME\t-1e-1\n"
    arguments = ["update", *options.split(), "-m", model]
    assert run(*arguments, text=patch) == wapiti(*arguments, text=patch)


# --- train ----------------------------------------------------------------------------------------------------------


@needs_wapiti
@pytest.mark.parametrize("penalties", [("0", "0.5"), ("0.2", "0.01")])
@pytest.mark.parametrize(
    ("type", "algorithm"), [("crf", "l-bfgs"), ("crf", "rprop"), ("memm", "l-bfgs"), ("maxent", "l-bfgs")]
)
def test_training_finds_the_optimum_of_wapiti(  # type: ignore[no-untyped-def]
    run, files: Path, penalties: tuple[str, str], type: str, algorithm: str
) -> None:
    rest = [
        "-T",
        type,
        "-1",
        penalties[0],
        "-2",
        penalties[1],
        "-e",
        "0",
        "-w",
        "0",
        "-p",
        files / "patterns",
        files / "train",
    ]
    wapiti("train", "-i", 500, *rest, files / "theirs")
    _, errors = run("train", "-a", algorithm, *rest, files / "ours")
    theirs, ours = (
        {
            (name, before, label): weight
            for _, name, before, label, weight in read_dump(run("dump", "-p", 9, files / path)[0], path)
        }
        for path in ("theirs", "ours")
    )
    # Weights of observations that go together are not unique under l1: what the models say is.
    data = TRAIN.replace(" B\n", "\n").replace(" I\n", "\n").replace(" O\n", "\n").encode()
    outputs = [run("label", "-s", "-p", "-m", files / path, text=data)[0].decode() for path in ("theirs", "ours")]
    found = [[float(line.rsplit("/", 1)[1]) for line in output.splitlines() if "\t" in line] for output in outputs]
    np.testing.assert_allclose(found[0], found[1], atol=2e-3)
    assert f"* Train the model with {algorithm} (Tagline:" in errors
    if penalties[0] == "0":
        assert theirs.keys() >= ours.keys()
        np.testing.assert_allclose([ours[key] for key in ours], [theirs[key] for key in ours], atol=2e-3)
    assert (
        wapiti("label", "-l", "-m", files / "ours", text=data)[0]
        == run("label", "-l", "-m", files / "ours", text=data)[0]
    )


@needs_wapiti
@pytest.mark.parametrize("type", ["crf", "memm", "maxent"])
def test_a_full_model_has_the_observations_of_wapiti(run, files: Path, type: str) -> None:  # type: ignore[no-untyped-def]
    arguments = ["-T", type, "-p", files / "patterns", files / "train"]
    _, their_words = wapiti("train", *arguments, files / "theirs")
    _, our_words = run("train", *arguments, files / "ours")
    theirs, ours = (read_model((files / path).read_bytes()) for path in ("theirs", "ours"))
    assert set(theirs.observations) == set(ours.observations)
    assert theirs.labels == ours.labels
    assert theirs.patterns == ours.patterns
    assert our_words.split("* Train")[0] == their_words.split("* Train")[0]


def test_iterations_windows_and_compaction(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    rest = ["-p", files / "patterns", files / "train", files / "m"]
    _, errors = run("train", "-i", 2, "-w", 0, *rest)
    assert errors.count("obj=") == 2
    assert "stopped: max_iterations" in errors
    _, errors = run("train", "-w", 3, "-e", 100, *rest)
    assert errors.count("obj=") == STOCHASTIC_PASSES + 3  # stochastic passes come first, and do not count
    assert "stopped: the error rate changed by less than 100 in 3 passes" in errors
    _, errors = run("train", "-w", 0, "-o", 4, "-e", 0.5, "-1", 1, *rest)
    assert "stopped: the objective changed by less than 0.5 of it in 4 passes" in errors
    full = read_model((files / "m").read_bytes())
    _, errors = run("train", "-c", "-w", 0, "-o", 4, "-e", 0.5, "-1", 1, *rest)
    small = read_model((files / "m").read_bytes())
    assert len(small.observations) < len(full.observations)
    assert f"{len(full.observations) - len(small.observations):8d} observations removed" in errors
    assert small.weights.tolist() == full.weights.tolist()


def test_a_development_set_is_what_errors_are_counted_on(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    (files / "dev").write_text("Rome N O\nNew N I\n", encoding="utf-8")
    _, errors = run("train", "-d", files / "dev", "-p", files / "patterns", files / "train", files / "m")
    assert "    nb devel:    1\n" in errors
    assert "err=100.00%/100.00%" in errors.splitlines()[-5] or "err=50.00%/100.00%" in errors.splitlines()[-5]


def test_training_goes_on_from_a_model(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    rest = ["-p", files / "patterns", "-1", 0.2, "-2", 0.01, "-w", 0, "-e", 0, "-c", files / "train", files / "first"]
    _, errors = run("train", *rest)
    first = read_model((files / "first").read_bytes())
    _, errors = run("train", "-m", files / "first", "-i", 1, *rest[2:-1], files / "second")
    second = read_model((files / "second").read_bytes())
    assert set(second.observations) <= set(first.observations)  # no patterns were given: there are no new ones
    assert "* Resync the model" in errors
    assert "stopped: converged" in errors
    assert "obj=" not in errors  # it begins where the first one ended
    assert second.weights.tolist() == first.weights.tolist()
    (files / "more").write_text("u:new=%x[1,0]\n", encoding="utf-8")
    run("train", "-m", files / "first", "-p", files / "more", files / "train", files / "third")
    third = read_model((files / "third").read_bytes())
    assert third.patterns == (*first.patterns, "u:new=%x[1,0]")
    assert {name for name in third.observations if name.startswith("u:new=")}
    (files / "other").write_text("The D NEW\n", encoding="utf-8")
    with pytest.raises(InputError, match="other:1: "):
        run("train", "-m", files / "first", files / "other", files / "m")


@pytest.mark.parametrize(("type", "estimator"), [("memm", tagline.MEMM), ("maxent", tagline.MaxEnt)])
def test_local_models_are_those_of_the_estimators(run, files: Path, type: str, estimator: Any) -> None:  # type: ignore[no-untyped-def]
    """The objective of `MEMM` and `MaxEnt`, reached from the command line; the type of a model is kept with -m."""
    rest = ["-p", files / "patterns", "-1", 0, "-2", 0.4, "-w", 0, "-e", 0, files / "train"]
    run("train", "-T", type, *rest, files / "m")
    model = read_any(files / "m")
    assert type == model.kind
    corpus = tagline.readers.read_columns(files / "train")
    template = tagline.Template.read(files / "patterns", "wapiti")
    pairs = {"all_possible_transitions": True} if type == "memm" else {}
    same = estimator(
        template,
        c2=0.2,
        scheme=None,
        start_end=False,
        algorithm="auto:epsilon=1e-6,delta=0",
        all_possible_states=True,
        **pairs,
    )
    same.fit(corpus)
    found, expected = (
        np.array([[row[y] for y in "OBI"] for s in m.predict_marginals(corpus) for row in s]) for m in (model, same)
    )
    np.testing.assert_allclose(found, expected, atol=1e-3)
    run("train", "-m", files / "m", "-i", 1, files / "train", files / "again")
    assert read_model((files / "again").read_bytes()).type == type


def test_words_as_observations(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "t").write_text("u:a * X\nu:b b:c Y\n\nu:b X\n", encoding="utf-8")
    run("train", "-1", 0, "-2", 0.1, tmp_path / "t", tmp_path / "m")
    model = read_model((tmp_path / "m").read_bytes())
    assert (set(model.observations), model.labels, model.patterns) == ({"u:a", "u:b", "*", "b:c"}, ("X", "Y"), ())
    assert run("label", "-l", "-m", tmp_path / "m", text=b"u:a *\nu:b b:c\n")[0] == b"X\nY\n\n"


def test_a_signal_stops_training_and_saves(files: Path) -> None:
    rows = "\n\n".join("\n".join(f"w{(7 * n + k) % 97} T L{(n * k) % 5}" for k in range(20)) for n in range(300))
    (files / "long").write_text(rows, encoding="utf-8")
    code = "import sys; from tagline.cli.foreign import run; sys.exit(run('wapiti', sys.argv[1:]))"
    rest = ["-p", str(files / "patterns"), "-e", "0", "-w", "0", "-1", "0", "-2", "1e-9", str(files / "long")]
    command = [sys.executable, "-c", code, "train", *rest, str(files / "m")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "TAGLINE_THREADS": "1"}) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if b"[   3]" in line:
                process.send_signal(signal.SIGTERM)
                break
        rest_of_words = process.stderr.read().decode()
        assert process.wait(60) == 0
    assert "stopped: interrupted" in rest_of_words
    assert read_model((files / "m").read_bytes()).labels == ("L0", "L1", "L2", "L3", "L4")


# --- the command line -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ("", r"^mode: .*''"),
        ("lable", r"^mode: .*'lable'"),
        ("train -q", r"^train: .*--me"),
        ("train -i", r"^-i: "),
        ("train -i x", r"^-i: .*'x'"),
        ("train -1 nan", r"^-1: "),
        ("train --rho1 -1", r"^--rho1: "),
        ("train a b c", r"^train: .*3 files: a b c"),
        ("train --me", r"^train: .*--me"),
        ("train -T x", r"^--type: "),
        ("train -a x", r"^--algo: "),
        ("train --rstate f", r"^train: .*states"),
        ("train --sstate f", r"^train: "),
        ("train --clip", r"^train: .*--clip"),
        ("label", r"^label: "),
        ("label -m m -c --force", r"^label: .*--check"),
        ("label -m m -n 0", r"^--nbest: "),
        ("update", r"^update: "),
    ],
)
def test_bad_command_lines_are_named(arguments: str, place: str) -> None:
    with pytest.raises(InputError, match=place):
        commands.main(arguments.split())


def test_help_version_lists_and_exit_codes(run, model: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:  # type: ignore[no-untyped-def]
    assert "-1 | --rho1 NUMBER" in run("--help")[1]
    assert "Wapiti v1.5.0" in run("--version")[1]
    assert "rprop+" in run("train", "-a", "list")[1]
    assert "memm" in run("train", "-T", "list")[1]
    assert run_foreign("wapiti", ["label", "-m", str(model) + ".no"]) == 1
    assert run_foreign("wapiti", ["label"]) == 1
    assert b"wapiti: label: expected a model" in capfdbinary.readouterr().err
    with pytest.raises(StorageError, match=r"^<stdin>: "):
        run("dump", text=b"nothing")


def test_switches_that_change_nothing_are_named(run, files: Path) -> None:  # type: ignore[no-untyped-def]
    arguments = [
        "-s",
        "-j",
        8,
        "--maxls",
        9,
        "--cutoff",
        "-i",
        1,
        "-p",
        files / "patterns",
        files / "train",
        files / "m",
    ]
    _, errors = run("train", *arguments)
    assert [line.split()[1] for line in errors.splitlines() if line.startswith("note:")] == [
        "--jobsize",
        "--sparse",
        "--maxls",
        "--cutoff",
    ]


def test_labels_of_the_fixture_are_all_used() -> None:
    assert {label for words in SENTENCES for label in next(iter(labellings(words)))} == set(LABELS)
