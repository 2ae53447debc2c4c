"""crf_learn and crf_test: arguments, output and models as CRF++'s programs have them."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.interop.crfpp import binary_model
from tagline.interop.crfpp.arguments import parse
from tagline.interop.crfpp.commands import LEARN, TEST, learn, test
from tests.interop.crfpp.peers import FIXTURES, TEMPLATES, files, needs_crfpp, ours, theirs

crf_learn, crf_test = learn, test
del test  # pytest would take it for one


def learned(folder: Path, *options: Any, template: str = TEMPLATES["plain"], seed: int = 1, **kind: Any) -> list[bytes]:
    """Train with both programs; the models are ``theirs`` and ``ours``. Return the logs."""
    paths = files(folder, template, seed, **kind)
    log = theirs("crf_learn", *options, *paths[:2], folder / "theirs")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert crf_learn([*options, str(paths[0]), str(paths[1]), str(folder / "ours")]) == 0
    return [log, printed.getvalue().encode()]


def iterations(log: bytes) -> list[dict[str, float]]:
    return [
        {name: float(value) for name, value in re.findall(r"(\w+)=([-\d.]+)", line)}
        for line in log.decode().split("\n")
        if line.startswith("iter=")
    ]


# crf_test


@pytest.mark.parametrize("options", [["-v2", "-n3"]])
def test_output_of_the_fixture(options: list[str], capfdbinary: Any) -> None:
    assert crf_test([*options, "-m", str(FIXTURES / "model"), str(FIXTURES / "test.txt")]) == 0
    assert capfdbinary.readouterr().out == (FIXTURES / "output.txt").read_bytes()


@needs_crfpp
@pytest.mark.parametrize("signs", ["ab", "你好 　"], ids=["letters", "wide blanks"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_output_to_the_byte(tmp_path: Path, name: str, signs: str, capfdbinary: Any) -> None:
    template, train, test = files(tmp_path, TEMPLATES[name], signs=signs.replace(" ", ""))
    theirs("crf_learn", "-m12", template, train, tmp_path / "m")
    for options in ([], ["-v1"], ["-v2", "-c0.3"], ["-v3"], ["-n1"]):
        expected = theirs("crf_test", *options, "-m", tmp_path / "m", test)
        capfdbinary.readouterr()
        assert crf_test([*options, "-m", str(tmp_path / "m"), str(test)]) == 0
        assert capfdbinary.readouterr().out == expected


@needs_crfpp
@pytest.mark.parametrize("name", TEMPLATES)
def test_the_best_labellings_to_the_byte_but_for_the_order_of_equal_ones(
    tmp_path: Path, name: str, capfdbinary: Any
) -> None:
    template, train, test = files(tmp_path, TEMPLATES[name])
    theirs("crf_learn", "-m12", template, train, tmp_path / "m")
    expected = theirs("crf_test", "-n", "4", "--verbose=1", "-m", tmp_path / "m", test)
    assert crf_test(["-n", "4", "--verbose=1", "-m", str(tmp_path / "m"), str(test)]) == 0
    assert _ranked(capfdbinary.readouterr().out) == _ranked(expected)


def _ranked(output: bytes) -> list[tuple[bytes, set[bytes]]]:
    """Probabilities in the order of the output, each with its labellings; those of the last rank may be cut off."""
    groups: list[tuple[bytes, set[bytes]]] = []
    for block in output.split(b"\n\n")[:-1]:
        head, _, tokens = block.partition(b"\n")
        rank, probability = head.split()[1:]
        if rank == b"0" or groups[-1][0] != probability:
            groups.append((probability, set()))
        groups[-1][1].add(tokens if rank != b"3" else b"")
        if rank == b"3":
            groups[-1] = probability, {b""}
    return groups


@needs_crfpp
def test_any_bytes_are_text(tmp_path: Path, capfdbinary: Any) -> None:
    """CRF++ knows no encodings: words of EUC-JP, carriage returns and form feeds are bytes."""
    template = "U00:%x[0,0]\r\nU01:\xa5%x[-1,0]\r\nB\r\n".encode("latin-1")
    lines = ["\xa4\xb3 B\r", "\xa4\xb3\x0c I\r", "", "\xff O\r", "\x85\xa0 O\r", " ", "\xa4\xb3 B\r"]
    data = "\n".join(lines).encode("latin-1")
    paths = [tmp_path / name for name in ("template", "data", "m")]
    for path, content in zip(paths, (template, data), strict=False):
        path.write_bytes(content)
    theirs("crf_learn", *paths)
    expected = theirs("crf_test", "-v2", "-m", paths[2], paths[1])
    assert crf_test(["-v2", "-m", str(paths[2]), str(paths[1])]) == 0
    assert capfdbinary.readouterr().out == expected
    assert crf_learn([str(paths[0]), str(paths[1]), str(tmp_path / "ours")]) == 0
    model = binary_model.read_model((tmp_path / "ours").read_bytes(), "ours")
    assert model.labels == (b"B\r", b"I\r", b"O\r")
    assert b"U00:\xa4\xb3" in model.keys


@needs_crfpp
def test_input_output_and_further_columns(tmp_path: Path) -> None:
    model = FIXTURES / "model"
    text = b"the DT\nheron NN x y z\n\nfalls  VB\t1\n"
    assert ours("crf_test", "-m", model, data=text) == theirs("crf_test", "-m", model, data=text)
    test = FIXTURES / "test.txt"
    ours("crf_test", "-m", model, "-o", tmp_path / "o", test, test)
    assert (tmp_path / "o").read_bytes() == theirs("crf_test", "-m", model, test, test)
    for data in (b"", b"\n\n", b"the DT"):
        assert ours("crf_test", "-m", model, data=data) == theirs("crf_test", "-m", model, data=data)


def test_too_few_columns_are_named(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("the DT\nheron\n")
    with pytest.raises(InputError, match="t:2: "):
        crf_test(["-m", str(FIXTURES / "model"), str(tmp_path / "t")])


def test_long_lines_are_read(tmp_path: Path, capfdbinary: Any) -> None:
    """CRF++ ends reading at a line of 8,192 bytes, in silence."""
    (tmp_path / "t").write_text(f"{'x' * 9000} NN\nthe DT\n")
    assert crf_test(["-m", str(FIXTURES / "model"), str(tmp_path / "t")]) == 0
    assert capfdbinary.readouterr().out.count(b"\n") == 3


# Arguments


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c4", "a", "b"],
        ["a", "-c", "4", "b"],
        ["--cost=4", "a", "b"],
        ["a", "b", "--cost", "4"],
        ["-c4", "a", "b", "--", "c"],
    ],
)
def test_options_in_all_forms(arguments: list[str]) -> None:
    given = parse(LEARN, arguments)
    assert given.positive("cost") == 4
    assert given.files == ("a", "b")
    assert given.text("algorithm") == "CRF"


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["-z"], r"^-z: "),
        (["--cos=4"], r"^--cos=4: "),
        (["-c"], r"^-c: "),
        (["--cost="], r"^--cost=: "),
        (["-tx"], r"^-tx: "),
        (["--textmodel=1"], r"^--textmodel=1: "),
    ],
)
def test_wrong_options_are_named(arguments: list[str], place: str) -> None:
    with pytest.raises(InputError, match=place):
        parse(LEARN, arguments)


@pytest.mark.parametrize("option", ["-c0", "-cx", "-e0", "-f1.5", "-m-1", "-H0", "-aCRF-L3", "-p99999"])
def test_wrong_values_are_named(option: str) -> None:
    with pytest.raises(InputError, match=r"^--[a-z-]+: "):
        crf_learn([option, str(FIXTURES / "template"), str(FIXTURES / "train.txt"), "m"])


def test_help_and_version(capfd: Any) -> None:
    assert crf_learn(["-h"]) == 0
    assert "--shrinking-size=INT" in capfd.readouterr().out
    assert crf_test(["--version"]) == 255
    assert "CRF++ of 0.59" in capfd.readouterr().out
    assert parse(TEST, ["-v", "2"]).whole("verbose", 0) == 2  # the first option with that letter
    with pytest.raises(InputError, match=r"^files: "):
        crf_learn(["a", "b"])


# crf_learn


@needs_crfpp
@pytest.mark.parametrize("options", [("-c2",), ("-f2",), ("-a", "crf-l1", "-c3")], ids=["L2", "frequent", "L1"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_models_are_laid_out_as_crfpp_does_and_reach_its_objective(
    tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    logs = learned(tmp_path, "-p1", *options, template=TEMPLATES[name])
    expected, model = (binary_model.read_model((tmp_path / who).read_bytes(), who) for who in ("theirs", "ours"))
    bare = [tuple(text.removesuffix(b"\r") for text in texts) for texts in (expected.keys, expected.template)]
    assert (model.labels, model.keys, model.template) == (expected.labels, *bare)
    assert model.xsize == expected.xsize
    np.testing.assert_array_equal(model.ids, expected.ids)
    ends = [iterations(log)[-1] for log in logs]
    assert ends[1]["obj"] <= ends[0]["obj"] * (1 + 1e-6)
    if "crf-l1" not in options:  # whose steps end far from the optimum on so few sentences
        assert ends[1]["obj"] >= ends[0]["obj"] * 0.99
    assert iterations(logs[0])[0] == pytest.approx(iterations(logs[1])[0], abs=1e-4)


@needs_crfpp
@pytest.mark.parametrize("options", [(), ("-c0.05", "-H2"), ("-f2", "-m3")])
@pytest.mark.parametrize("name", TEMPLATES)
def test_mira_finds_the_same_weights(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    logs = learned(tmp_path, "-a", "MIRA", *options, template=TEMPLATES[name])
    assert iterations(logs[1]) == iterations(logs[0])
    expected, model = (binary_model.read_model((tmp_path / who).read_bytes(), who) for who in ("theirs", "ours"))
    np.testing.assert_allclose(model.weights, expected.weights, rtol=1e-6, atol=1e-7)


@needs_crfpp
def test_the_log_has_the_shape_of_theirs(tmp_path: Path) -> None:
    logs = learned(tmp_path, "-p1", sentences=230)
    shapes = [re.sub(rb"[0-9.]+", b"0", re.sub(rb"(iter=.*\n)+", b"iterations\n", log)) for log in logs]
    assert shapes[0].split(b"\n", 3)[3] == shapes[1].split(b"\n", 3)[3]  # the first three lines say who writes
    settings = [log.decode().partition("Number of")[2].partition("iter=")[0] for log in logs]
    assert settings[0] == settings[1]


@needs_crfpp
def test_text_models_and_their_conversion(tmp_path: Path) -> None:
    template, train, test = files(tmp_path, TEMPLATES["edges"])
    ours("crf_learn", "-t", template, train, tmp_path / "m")
    for program, name in ((ours, "a"), (theirs, "b")):
        program("crf_learn", "-C", tmp_path / "m.txt", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == (tmp_path / "m").read_bytes()
    output = theirs("crf_test", "-v2", "-m", tmp_path / "m", test)
    assert output == ours("crf_test", "-v2", "-m", tmp_path / "b", test)


def test_a_run_is_limited_by_its_iterations(tmp_path: Path, capfd: Any) -> None:
    files = [str(FIXTURES / "template"), str(FIXTURES / "train.txt"), str(tmp_path / "m")]
    for most in (0, 1, 4):
        assert crf_learn([f"-m{most}", *files]) == 0
        assert capfd.readouterr().out.count("iter=") == most


@pytest.mark.parametrize(
    ("template", "train", "place"),
    [
        ("U00:%x[0,0]\n", "a X\nb\n", "d:2: "),
        ("U00:%x[0,0]\n", "a\n", r"d: .*labels"),
        ("U00:%x[0,0]\n", "", r"d: .*labels"),
        ("U00:%x[0,1]\n", "a X\n", r't:1: .*1 \("U00:%x\[0,1\]"\)'),
        ("U00:%x[0,0:lower]\n", "a X\n", r"t:1: .*'U00:%x\[0,0:lower\]'"),
        ("X\n", "a X\n", r't:1: .*"X"'),
        ("U00:%x[0,0]\nB\nB\n", "a X\n", "t:3: "),
        ("U00:%x[0,0]\n", "a\0b X\n", "d:1: "),
    ],
)
def test_what_cannot_be_learned_from_is_named(tmp_path: Path, template: str, train: str, place: str) -> None:
    (tmp_path / "t").write_text(template)
    (tmp_path / "d").write_text(train)
    with pytest.raises(InputError, match=place):
        crf_learn([str(tmp_path / "t"), str(tmp_path / "d"), str(tmp_path / "m")])
    assert not (tmp_path / "m").exists()


def test_the_command_loads_no_scikit_learn() -> None:
    import subprocess
    import sys

    check = "import sys, tagline.interop.crfpp.learning, tagline.interop.crfpp.opening, tagline.interop.crfpp.output; "
    check += "sys.exit('sklearn' in sys.modules or 'rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0


@pytest.mark.parametrize(
    ("data", "line", "cause"),
    [
        ("\n\nA N\nB N\n\nA N\nB C N\n", 7, "3"),
        ("A N\r\nB V\r\n\r\nA N\r\n", 3, "CR LF"),
        ("A N\n\nB V\nA\r\n", 4, "1"),
    ],
)
def test_a_line_that_does_not_fit_is_named(data: str, line: int, cause: str, tmp_path: Path) -> None:
    template, train = tmp_path / "template", tmp_path / "train"
    template.write_text("U00:%x[0,0]\nB\n")
    train.write_bytes(data.encode())
    with pytest.raises(InputError, match=f"train:{line}: .*{cause}"):
        crf_learn([str(template), str(train), str(tmp_path / "m")])


@needs_crfpp
def test_returns_of_windows_are_part_of_labels_as_there(tmp_path: Path) -> None:
    template, train = tmp_path / "template", tmp_path / "train"
    template.write_text("U00:%x[0,0]\nB\n")
    train.write_bytes(b"A N\r\nB V\r\n\nA N\r\n\n")
    theirs("crf_learn", template, train, tmp_path / "theirs")
    with contextlib.redirect_stdout(io.StringIO()):
        assert crf_learn([str(template), str(train), str(tmp_path / "ours")]) == 0
    labels = [binary_model.read_model((tmp_path / name).read_bytes(), name).labels for name in ("theirs", "ours")]
    assert labels == [(b"N\r", b"V\r")] * 2
