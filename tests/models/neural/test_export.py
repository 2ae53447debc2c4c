"""Exported networks: their program has neither Tagline nor PyTorch, and gives the labels of `predict`."""

from __future__ import annotations

import json
import os
import random
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime", reason="pip install onnx onnxscript onnxruntime")
pytest.importorskip("onnxscript", reason="pip install onnx onnxscript onnxruntime")

from tagline import InputError, TaglineError  # noqa: E402
from tagline.features.subwords import PieceTable  # noqa: E402
from tagline.features.wordpieces import wordpiece_rules  # noqa: E402
from tagline.models.files import StoredModel  # noqa: E402
from tagline.models.neural import export as exporting  # noqa: E402
from tagline.models.registry import kinds  # noqa: E402

from .cases import bilstm, people, transformer  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

ODD = [
    *(["Anna"], ["zzz", "Quux", "北京", "😀"], ["x" * 500, "[SEP]", "a[MASK]b"], ["ROME", "2024", "F-16", "rOME"]),
    ["\ud83d", "a\udc00b", "", " ", "\x00", "\ufe0f", "ÀÉ", "ΑΣ", "İ", "don't"],
]
LONG = [["New", "York", "peacekeepers"] * 40, ["a"] * 300]  # more pieces than the tiny encoder has positions for
X = [*people(3, 40)[0], [], *ODD, *LONG, []]

MODELS = {
    "bilstm": lambda: bilstm(),
    "bert": lambda: transformer("bert"),
}
MORE = {
    "everything": lambda: bilstm(characters="lstm", layers=2, bigram_dim=3, min_frequency=2),
    "words alone": lambda: bilstm(characters=None, case_dim=0, head="softmax"),
    "mean": lambda: transformer("bert", pooling="mean", head="softmax"),
    "roberta": lambda: transformer("roberta"),
}
BARE = ("numpy", "numpy.libs", "onnxruntime")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with onnxruntime and NumPy alone."""
    links = tmp_path_factory.mktemp("packages")
    for name in BARE:
        home = (
            Path(np.__file__).parent.parent if name.startswith("numpy") else Path(find_spec(name).origin).parent.parent
        )
        if (home / name).exists():
            (links / name).symlink_to(home / name)
    return links


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Folders of models, each written when it is first asked for."""
    home, done = tmp_path_factory.mktemp("exports"), {}

    def folder_of(name: str) -> tuple[Any, Path]:
        model = {**MODELS, **MORE}[name]()
        if name not in done:
            done[name] = model.export(home / name)
            assert done[name].checked
        return model, home / name

    return folder_of


def run(folder: Path, packages: Path, *words: str, input: str) -> str:
    """Run Python with these packages alone."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(packages), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-S", "-B", *words],
        input=input,
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


TAG = """
import json, sys
sys.path.insert(0, "")
from run import tag
print(json.dumps([tag(json.loads(sys.stdin.read())), sorted({name.partition(".")[0] for name in sys.modules})]))
"""


@pytest.mark.parametrize("name", [*MODELS, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE)])
def test_the_program_gives_the_labels_of_the_model(name: str, exports: Any, packages: Path) -> None:
    model, folder = exports(name)
    if "tokenizers" in json.loads((folder / "export.json").read_text())["needs"]:
        assert name == "roberta"
        (packages / "tokenizers").symlink_to(Path(find_spec("tokenizers").origin).parent)
    labels, modules = json.loads(run(folder, packages, "-c", TAG, input=json.dumps(X)))
    assert not {"tagline", "torch", "transformers", "sklearn"} & {*modules}
    assert labels == model.predict(X)
    assert len({label for row in labels for label in row}) > 3, "or there is little to compare"


@pytest.mark.parametrize("name", MODELS)
def test_words_come_in_lines(name: str, exports: Any, packages: Path) -> None:
    model, folder = exports(name)
    text = "Anna\tNNP x\nsees\n北京\r\n\n \t\n\nRome O\n"
    labels = model.predict([["Anna", "sees", "北京"], ["Rome"]])
    lines = ["Anna\tNNP x", "sees", "北京", "", "Rome O", ""]
    wanted = [
        f"{line}\t{label}" if line else "" for line, label in zip(lines, [*labels[0], "", *labels[1], ""], strict=True)
    ]
    assert run(folder, packages, "run.py", input=text) == "\n".join([*wanted, ""])
    assert run(folder, packages, "run.py", input="\n") == ""


def test_no_path_of_this_machine_is_in_a_file(exports: Any) -> None:
    _, folder = exports("bilstm")
    for path in folder.iterdir():
        assert b"site-packages" not in path.read_bytes()
        assert os.fsencode(Path(exporting.__file__).parent) not in path.read_bytes()


def odd_words(seed: int, count: int) -> list[str]:
    """Words of letters of all kinds: known ones, capitals, digits, accents, scripts, controls, anything."""
    rng = random.Random(seed)
    pools = (
        "annaromenewyork",
        "ANNAROME",
        "0123٣４",
        "àéîõüçßŁ",
        "ΑΣσςİıǅ",
        "北京한か。",
        "-.,'’#[]",
        "\t\x85\u200b\ufeff\u0301",
    )
    words = ["[SEP]", "[CLS]x", "[SEP]" * 1500, "a" * 101, "é" * 101, ""]
    for _ in range(count):
        letters = [rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 9))]
        words.append("".join(letters) + (chr(rng.randrange(0xD800)) if rng.random() < 0.3 else ""))
    return words


def test_words_are_numbered_as_the_model_numbers_them(exports: Any) -> None:
    model, folder = exports("bilstm")
    words, encode = odd_words(1, 3000), runpy.run_path(str(folder / "encode.py"))
    forms = model.network_.coder.table.forms(words)
    assert [encode["word_number"](word) for word in words] == forms.words.tolist()
    assert [encode["case_number"](word) for word in words] == forms.cases.tolist()
    assert encode["padded"]([encode["character_numbers"](word) for word in words]).tolist() == forms.characters.tolist()
    assert {*forms.cases.tolist()} == {*range(1, 8)}


@pytest.mark.parametrize(
    ("lowercase", "accents", "chinese"), [(True, None, True), (False, None, True), (True, False, False)]
)
def test_words_are_cut_as_the_tokenizer_cuts_them(
    exports: Any, lowercase: bool, accents: bool | None, chinese: bool, tmp_path: Path
) -> None:
    """With a vocabulary of letters, so that what becomes of each of them shows."""
    model, folder = exports("bert")
    words = odd_words(2, 3000)
    fields = json.loads(model.network_.coder.table.tokenizer_json())
    fields["normalizer"] |= {"lowercase": lowercase, "strip_accents": accents, "handle_chinese_chars": chinese}
    letters = dict.fromkeys(form for word in words for letter in word for form in (letter, letter.lower()))
    vocabulary = fields["model"]["vocab"]
    for piece in [*letters, *(f"##{letter}" for letter in letters)]:
        vocabulary.setdefault(piece, len(vocabulary))
    text = json.dumps(fields)
    table = PieceTable(text, **model.network_.coder.table.settings())
    settings = json.loads((folder / "export.json").read_text(encoding="utf-8")) | {"wordpiece": wordpiece_rules(text)}
    for name, content in (("export.json", json.dumps(settings)), ("tokenizer.json", table.tokenizer_json())):
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "encode.py").write_bytes((folder / "encode.py").read_bytes())
    cut, pieces = runpy.run_path(str(tmp_path / "encode.py"))["cut"], table.pieces(words)
    for v, word in enumerate(words):
        assert cut(word) == pieces.ids[pieces.offsets[v] : pieces.offsets[v + 1]].tolist(), ascii(word)


def test_windows_are_those_of_the_model(exports: Any) -> None:
    model, folder = exports("bert")
    encode, table = runpy.run_path(str(folder / "encode.py")), model.network_.coder.table
    rng = np.random.default_rng(0)
    for _ in range(200):
        sizes = rng.integers(1, table.window.longest_word + 1, rng.integers(1, 60))
        assert encode["windows"](np.cumsum([0, *sizes])) == table.window.cuts(sizes)


# Where it is written.


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Graphs in no time; nothing is tried."""
    monkeypatch.setattr(exporting, "export_tagger", lambda tagger, path, opset: Path(path).write_bytes(b"graph"))
    monkeypatch.setattr(exporting, "_try_out", lambda folder, predict: None)
    return monkeypatch


NAMES = ["encode.py", "export.json", "labels.json", "model.onnx", "run.py", "vocabulary.json"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_that_is_new_empty_or_an_earlier_export(stub: Any, tmp_path: Path) -> None:
    place = tmp_path / "out"
    done = bilstm().export(place)
    assert names(place) == NAMES == [*done.files]
    assert (done.needs, done.folder) == (("onnxruntime", "numpy"), str(place))
    assert json.loads((place / "labels.json").read_text()) == bilstm().labels_
    (place / "__pycache__").mkdir()
    transformer().export(str(place))
    assert names(place) == sorted({*NAMES, "tokenizer.json"} - {"vocabulary.json"})
    (tmp_path / "empty").mkdir()
    bilstm().export(tmp_path / "empty")
    assert names(tmp_path) == ["empty", "out"], "nothing is left beside them"


def test_what_is_not_an_export_is_left_alone(stub: Any, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    (place / "run.py").write_text("mine")
    with pytest.raises(InputError, match="mine: "):
        bilstm().export(place)
    assert names(place) == ["notes.txt", "run.py"]
    bilstm().export(place, force=True)
    assert names(place) == sorted([*NAMES, "notes.txt"])
    assert (place / "run.py").read_text() != "mine"
    assert (place / "notes.txt").read_text() == "mine"
    (tmp_path / "same").mkdir()
    (tmp_path / "same" / "run.py").write_text("mine")
    with pytest.raises(InputError, match="same: "):
        bilstm().export(tmp_path / "same")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="file: "):
        bilstm().export(tmp_path / "file", force=True)


def test_an_export_that_fails_leaves_what_was_there(stub: Any, tmp_path: Path) -> None:
    place = tmp_path / "out"
    bilstm().export(place)
    before = {path.name: path.read_bytes() for path in place.iterdir()}

    def fails(tagger: Any, path: str, opset: int | None) -> None:
        Path(path).write_bytes(b"half")
        raise KeyboardInterrupt

    stub.setattr(exporting, "export_tagger", fails)
    for target in (place, tmp_path / "new"):
        with pytest.raises(KeyboardInterrupt):
            bilstm().export(target)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    assert names(tmp_path) == ["out"]


def test_other_labels_are_an_error(exports: Any) -> None:
    _, folder = exports("bilstm")
    with pytest.raises(TaglineError, match=r"^export: "):
        exporting._try_out(str(folder), lambda X: [["X"] * len(words) for words in X])


def test_a_program_that_fails_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("raise SystemExit('no graph')")
    with pytest.raises(TaglineError, match=r"^export: "):
        exporting._try_out(str(tmp_path), lambda X: X)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tagline.nn.export.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'tagline\[onnx\]'"):
        bilstm().export(tmp_path / "out")
    assert names(tmp_path) == []


def test_opsets(tmp_path: Path) -> None:
    for opset, place in ((17, r"^opset: "), (True, r"^opset: ")):
        with pytest.raises(InputError, match=place):
            bilstm().export(tmp_path / "out", opset=opset)
    with pytest.raises(InputError, match=r"^path: "):
        bilstm().export(3)


@pytest.mark.slow
def test_an_opset_that_is_not_there_yet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="opset: "):
        bilstm().export(tmp_path / "out", opset=99)
    assert names(tmp_path) == []


def test_a_network_that_the_exporter_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*arguments: Any, **settings: Any) -> None:
        raise torch.onnx.OnnxExporterError("long\nstory") from ValueError("no such operator\nat all")

    monkeypatch.setattr(torch.onnx, "export", refuse)
    with pytest.raises(InputError, match=r"^export: "):
        bilstm().export(tmp_path / "out")
    assert names(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("opset", [18, 23])
def test_graphs_of_other_opsets(opset: int, tmp_path: Path) -> None:
    import onnx

    for model in (bilstm(), transformer()):
        assert model.export(tmp_path / "out", opset=opset).checked
        assert onnx.load(tmp_path / "out" / "model.onnx").opset_import[0].version == opset


@pytest.mark.parametrize("name", kinds())
def test_the_registry_knows_which_kinds_can_be_exported(name: str) -> None:
    kind = kinds()[name]
    assert hasattr(kind.estimator, "export") == kind.exports
    assert not hasattr(StoredModel, "export")
