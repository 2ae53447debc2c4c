"""`tagline crfsuite`: files of CRFsuite from its own options, labels and reports as it writes them."""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

from tagline import InputError, StorageError
from tagline.cli.foreign import run
from tagline.interop.crfsuite.arguments import LEARN, TAG, parse
from tagline.interop.crfsuite.commands import main
from tagline.interop.crfsuite.data import LabelledItems
from tagline.interop.crfsuite.learning import Grouped, dealt_out
from tagline.interop.pycrfsuite import seed
from tests.cli.commands import tagline
from tests.models.corpora import tagged

WORDS, LABELS = tagged(1, 60)


def line(words: list[str], t: int) -> list[str]:
    return [f"w={words[t]}", f"before={words[t - 1] if t else '<s>'}"]


def written(sentences: list[tuple[list[str], list[str]]], weights: dict[int, float] | None = None) -> str:
    text = ""
    for b, (words, labels) in enumerate(sentences):
        if weights and b in weights:
            text += f"@weight:{weights[b]}\n"
        text += "".join(
            "\t".join([label, *line(words, t)]) + f"\tlength:{len(words[t])}\n" for t, label in enumerate(labels)
        )
        text += "\n"
    return text


SENTENCES = list(zip(WORDS, LABELS, strict=True))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text(written(SENTENCES[:40]), encoding="utf-8")
    (tmp_path / "test").write_text(written(SENTENCES[40:]), encoding="utf-8")
    return tmp_path


def items(words: list[str]) -> list[dict[str, float]]:
    return [{**dict.fromkeys(line(words, t), 1.0), "length": len(words[t])} for t in range(len(words))]


def real_tagger(path: Path) -> Any:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def real_model(path: Path, *params: tuple[str, Any], algorithm: str = "lbfgs") -> Any:
    trainer = pycrfsuite.Trainer(algorithm, dict(params), verbose=False)
    for words, labels in SENTENCES[:40]:
        trainer.append(items(words), labels)
    trainer.train(str(path))
    return real_tagger(path)


def test_the_model_is_that_of_crfsuite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "-m", "model", "-p", "c2=0.5", "--set=feature.possible_transitions=1", "train"]) == 0
    log = capsys.readouterr().out
    ours = real_tagger(folder / "model")
    theirs = real_model(folder / "real", ("c2", 0.5), ("feature.possible_transitions", 1))
    assert ours.labels() == theirs.labels()
    assert set(ours.info().state_features) == set(theirs.info().state_features)
    for name, weight in theirs.info().state_features.items():
        assert ours.info().state_features[name] == pytest.approx(weight, abs=2e-3)
    assert "Reading the data set(s)\n[1] train\n0....1....2....3....4....5....6....7....8....9....10\n" in log
    assert f"Number of instances: 40\nNumber of items: {sum(map(len, WORDS[:40]))}\n" in log
    assert "***** Iteration #1 *****\n" in log
    assert re.search(r"\nEnd time of the training: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n\n$", log)


@pytest.mark.parametrize("algorithm", ["l2sgd", "ap", "pa", "arow", "averaged-perceptron"])
def test_every_algorithm_writes_a_model(algorithm: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "-a", algorithm, "-pmax_iterations=10", "-mmodel", "train"]) == 0
    capsys.readouterr()
    main(["tag", "-m", "model", "-qt", "test"])
    accuracy = re.search(r"Item accuracy: \d+ / \d+ \((.*)\)", capsys.readouterr().out)
    assert accuracy is not None
    assert float(accuracy[1]) > 0.7


def test_weights_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = {3: 5.0, 7: 0.0, 8: 3.0}
    (folder / "weighted").write_text(written(SENTENCES[:40], weights), encoding="utf-8")
    repeated = [sentence for b, sentence in enumerate(SENTENCES[:40]) for _ in range(int(weights.get(b, 1)))]
    (folder / "repeated").write_text(written(repeated), encoding="utf-8")
    for name in ("weighted", "repeated"):
        assert main(["learn", "-m", f"{name}.model", "-p", "epsilon=1e-7", "-p", "delta=0", name]) == 0
    capsys.readouterr()
    one, other = (real_tagger(folder / f"{name}.model").info().state_features for name in ("weighted", "repeated"))
    for name, weight in other.items():
        assert one[name] == pytest.approx(weight, abs=1e-3)


def test_no_model_is_kept_where_none_was_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "-p", "max_iterations=2", "train"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["test", "train"]
    assert main(["learn", "-l", "-L", "log", "-p", "max_iterations=2", "-a", "ap", "train"]) == 0
    assert "Iteration #2" in (folder / "log_averaged-perceptron_max_iterations=2").read_text(encoding="utf-8")
    assert capsys.readouterr().out.count("Iteration") == 2  # of the first run alone


def test_holdout_and_cross_validation(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "-e2", "-p", "max_iterations=3", "train", "test"]) == 0
    log = capsys.readouterr().out
    assert "Number of data sets (groups): 2\n" in log
    assert "Holdout group: 2\n" in log
    tokens = sum(map(len, WORDS[40:]))
    assert len(re.findall(rf"Item accuracy: \d+ / {tokens} ", log)) == 3
    assert main(["learn", "-x", "-g", "4", "-p", "max_iterations=2", "train"]) == 0
    log = capsys.readouterr().out
    assert [int(n) for n in re.findall(r"===== Cross validation \((\d)/4\) =====", log)] == [1, 2, 3, 4]
    assert len(re.findall(r"Instance accuracy: \d+ / 10 ", log)) == 8


def test_groups_are_dealt_out_by_the_random_numbers_of_the_c_library() -> None:
    ctypes = pytest.importorskip("ctypes")
    try:
        library = ctypes.CDLL("libc.so.6")
    except OSError:
        pytest.skip("no GNU C library")
    library.srand(1)
    expected = list(range(20))
    for b in range(20):
        other = library.rand() % 20
        expected[b], expected[other] = expected[other], expected[b]
    seed()
    dealt = dealt_out([Grouped(LabelledItems(line=b), 0) for b in range(20)], 3)
    assert [grouped.sentence.line for grouped in dealt] == expected
    assert [grouped.group for grouped in dealt] == [b % 3 for b in range(20)]


def test_parameters_are_listed_with_their_values(capsys: pytest.CaptureFixture[str]) -> None:
    for algorithm, name in (("lbfgs", "lbfgs"), ("pa", "passive-aggressive")):
        trainer = pycrfsuite.Trainer(algorithm)
        for option in ("-H", "--help-params", "--help-parameters"):
            assert main(["learn", "-a", algorithm, option]) == 0
            text = capsys.readouterr().out
            assert text.startswith(f"PARAMETERS for {name} (crf1d):\n\n")
            listed = dict(re.findall(r"^(?:int|float|string) (\S+) = (\S+);$", text, re.M))
            assert list(listed) == trainer.params()
    assert listed["c"] == "1.000000"
    assert listed["type"] == "1"


# Tagging.


@pytest.fixture
def model(folder: Path) -> Path:
    real_model(folder / "model", ("c2", 0.3))
    return folder / "model"


def tagged_by(model: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["tag", *options, "-m", str(model), "test"]) == 0
    return capsys.readouterr().out


def test_labels_are_those_of_crfsuite(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tagger = real_tagger(model)
    predicted = [tagger.tag(items(words)) for words in WORDS[40:]]
    plain = "".join("\n".join(labels) + "\n\n" for labels in predicted)
    assert tagged_by(model, capsys=capsys) == plain
    beside = "".join(
        "\n".join(f"{gold}\t{label}" for gold, label in zip(golds, labels, strict=True)) + "\n\n"
        for golds, labels in zip(LABELS[40:], predicted, strict=True)
    )
    assert tagged_by(model, "--reference", capsys=capsys) == beside


def test_probabilities_are_those_of_crfsuite(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tagger = real_tagger(model)
    blocks = tagged_by(model, "-pil", capsys=capsys).strip("\n").split("\n\n")
    for block, words in zip(blocks, WORDS[40:], strict=True):
        score, probability, *rows = (row.split("\t") for row in block.split("\n"))
        tagger.set(items(words))
        labels = tagger.tag()
        assert score[0] == "@score"
        assert probability[0] == "@probability"
        assert float(probability[1]) == pytest.approx(tagger.probability(labels), abs=2e-6)
        assert np.exp(float(score[1]) - float(score[2])) == pytest.approx(float(probability[1]), abs=1e-5)
        for t, (chosen, *others) in enumerate(rows):
            label, _, chance = chosen.rpartition(":")
            assert label == labels[t]
            assert float(chance) == pytest.approx(tagger.marginal(label, t), abs=2e-6)
            assert [other.rpartition(":")[0] for other in others] == tagger.labels()
            for other in others:
                name, _, chance = other.rpartition(":")
                assert re.fullmatch(r"\d\.\d{6}", chance)
                assert float(chance) == pytest.approx(tagger.marginal(name, t), abs=2e-6)


def test_the_report(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tagger = real_tagger(model)
    predicted = [tagger.tag(items(words)) for words in WORDS[40:]]
    pairs = [
        pair for golds, labels in zip(LABELS[40:], predicted, strict=True) for pair in zip(golds, labels, strict=True)
    ]
    right = sum(gold == label for gold, label in pairs)
    report = tagged_by(model, "-t", "-q", capsys=capsys)
    assert f"Item accuracy: {right} / {len(pairs)} ({right / len(pairs):.4f})\n" in report
    whole = sum(golds == labels for golds, labels in zip(LABELS[40:], predicted, strict=True))
    assert f"Instance accuracy: {whole} / 20 ({whole / 20:.4f})\n" in report
    rows = re.findall(r"^    (\S+): \((\d+), (\d+), (\d+)\) \((\S+), (\S+), (\S+)\)$", report, re.M)
    assert [row[0] for row in rows] == tagger.labels()
    golds, guesses = Counter(gold for gold, _ in pairs), Counter(label for _, label in pairs)
    for label, match, model_count, reference, precision, recall, f1 in rows:
        hits = sum(pair == (label, label) for pair in pairs)
        assert (int(match), int(model_count), int(reference)) == (hits, guesses[label], golds[label])
        assert float(precision) == pytest.approx(hits / guesses[label], abs=5e-5)
        assert float(recall) == pytest.approx(hits / golds[label], abs=5e-5)
        assert float(f1) == pytest.approx(2 * hits / (guesses[label] + golds[label]), abs=5e-5)
    assert re.search(r"\nElapsed time: \d+\.\d{6} \[sec\] \(\d+\.\d \[instance/sec\]\)\n$", report)


def test_the_report_is_that_of_training(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What training says about the held-out group after its last pass is what `tag -t` says about it."""
    assert main(["learn", "-e", "2", "-m", "model", "-p", "max_iterations=5", "train", "test"]) == 0
    log = capsys.readouterr().out
    reports = re.findall(r"Performance by label.*?\nInstance accuracy: [^\n]*\n", log, re.S)
    report = tagged_by(folder / "model", "-qt", capsys=capsys)
    assert report.startswith(reports[-1])


def test_labels_that_the_model_does_not_know_are_wrong_and_named(
    model: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "test").write_text("N\tw=dog\nQ\tw=sings\n", encoding="utf-8")
    assert main(["tag", "-rtm", str(model), "test"]) == 0
    done = capsys.readouterr()
    assert done.out.startswith("N\tN\nQ\t")
    assert "Item accuracy: 1 / 2 (0.5000)\nInstance accuracy: 0 / 1 (0.0000)\n" in done.out
    assert "1 labels of the data are not in the model and count as wrong: Q" in done.err


def test_standard_input_and_declarations(
    model: Path, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = tagged_by(model, capsys=capsys)
    text = "@weight:3\n" + (folder / "test").read_text(encoding="utf-8").replace("\n", "\r\n")
    stream = folder / "stream"
    stream.write_bytes(text.encode())
    for arguments in (["-"], []):
        with open(stream, "rb") as file:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file, encoding="utf-8"))
            assert main(["tag", "-m", str(model), *arguments]) == 0
        assert capsys.readouterr().out == expected


def test_dump_is_that_of_crfsuite(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", str(model)]) == 0
    ours = capfd.readouterr().out
    real_tagger(model).dump()
    assert ours == capfd.readouterr().out


# Arguments.


def test_options_are_read_as_there() -> None:
    assert parse(["-xlg", "3", "-pc2=1", "--set", "c1=2", "a", "b"], LEARN, "").values == {
        "cross-validate": [""],
        "log-to-file": [""],
        "split": ["3"],
        "set": ["c2=1", "c1=2"],
    }
    assert parse(["--model=m", "-", "b"], TAG, "").files == ["-", "b"]


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ([], r"^command: "),
        (["train"], r"^command: .*'train'"),
        (["learn"], r"^crfsuite learn: "),
        (["learn", "-z", "train"], r"^crfsuite learn: "),
        (["learn", "--mode", "x", "train"], r"^crfsuite learn: .*'--mode'"),
        (["learn", "train", "-m", "model"], r"^crfsuite learn: .*'-m'"),
        (["learn", "-m"], r"^crfsuite learn: .*--model"),
        (["learn", "-x=1", "train"], r"^crfsuite learn: "),
        (["learn", "--cross-validate=1", "train"], r"^crfsuite learn: .*--cross-validate"),
        (["learn", "-t", "2d", "train"], r"^crfsuite learn: .*'2d'"),
        (["learn", "-a", "sgd", "train"], r"^crfsuite learn: .*'sgd'"),
        (["learn", "-p", "c3=1", "train"], r"^crfsuite learn: .*feature.minfreq"),
        (["learn", "-p", "c2", "train"], r"^crfsuite learn: .*'c2'"),
        (["learn", "-p", "c2=much", "train"], r"^c2: "),
        (["learn", "-p", "max_iterations=1.5", "train"], r"^max_iterations: "),
        (["learn", "-e", "2", "train"], r"^crfsuite learn: .*\b2\b"),
        (["learn", "-g", "0", "train"], r"^crfsuite learn: .*--split"),
        (["learn", "-x", "train"], r"^crfsuite learn: "),
        (["learn", "empty"], r"^crfsuite learn: .*sentences"),
        (["tag", "test"], r"^crfsuite tag: "),
        (["tag", "-m", "model", "a", "b"], r"^crfsuite tag: .*\b2\b"),
        (["dump"], r"^crfsuite dump: "),
    ],
)
def test_wrong_arguments_are_named(
    words: list[str], place: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty").write_text("\n\n", encoding="utf-8")
    with pytest.raises(InputError, match=place):
        main(words)
    assert run("crfsuite", words) == 1
    assert capsys.readouterr().err.startswith("crfsuite: ")


def test_files_that_are_no_models_are_refused(folder: Path) -> None:
    with pytest.raises((InputError, StorageError), match=r"^Invalid model file 'train': "):
        main(["tag", "-m", "train", "test"])
    assert run("crfsuite", ["tag", "-m", "nowhere", "test"]) == 1
    assert run("crfsuite", ["dump", "train"]) == 1


@pytest.mark.parametrize("words", [["-h"], ["learn", "-h"], ["tag", "--help"], ["dump", "-h"]])
def test_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("USAGE: crfsuite ")


def test_the_command_of_tagline(folder: Path) -> None:
    done = tagline("crfsuite", "learn", "-m", "model", "-p", "max_iterations=2", "train")
    assert done.code == 0, done.err
    assert "Iteration #2" in done.out
    done = tagline("crfsuite", "tag", "-m", "model", "-qt", "test")
    assert "Item accuracy: " in done.out
    assert tagline("crfsuite", "tag", "-h").out.startswith("USAGE: crfsuite tag")
