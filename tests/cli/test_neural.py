"""Networks on the command line: trained by options and TOML, saved with their configuration, used like other models."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

import tagline as package  # noqa: E402
from tagline import BiLSTMCRF  # noqa: E402
from tagline.cli import _missing, training  # noqa: E402
from tagline.cli.configuration import MARK, read_config, toml_of  # noqa: E402
from tagline.cli.outcome import Training  # noqa: E402
from tagline.cli.progress import Silent  # noqa: E402
from tagline.cli.training import speaks, train_file  # noqa: E402
from tagline.models.neural.network import HEADS  # noqa: E402
from tagline.models.registry import kind_named  # noqa: E402
from tagline.readers import read_columns  # noqa: E402
from tagline.training.iteration import Step  # noqa: E402
from tests.models.neural.cases import encoder_folder, same_weights  # noqa: E402

from .commands import line_of, tagline  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

SIZES = {"word_dim": 8, "char_dim": 4, "char_size": 6, "case_dim": 2, "hidden": 8, "dropout": 0.1}
SMALL: dict[str, Any] = {**SIZES, "epochs": 3, "learning_rate": 0.03, "device": "cpu"}


def toml(values: dict[str, Any], table: str | None = "bilstm") -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    return "\n".join([*([] if table is None else [f"[{table}]"]), *lines, ""])


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration by hand."""
    path = tmp_path_factory.mktemp("config") / "small.toml"
    path.write_text(toml(SMALL), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def bilstm(folder: Path, config: Path) -> Path:
    path = folder / "bilstm.tagline"
    done = tagline("train", folder / "train.txt", "-o", path, "--dev", folder / "dev.txt", "--config", config)
    assert done.code == 0, done.err
    assert done.out == ""
    for words in (
        "learning from 150 sentences, ",
        "epoch 1 of 3  loss ",
        "epoch 3 of 3  loss ",
        " tokens/s  ",
        "stopped after 3 epochs, ",
        ": all epochs are made; epoch ",
        " is kept, dev ",
        "bilstm, 9 labels, ",
        "precision  recall      F1    gold\nDATE  ",
        f"saved {path} (",
        f"saved {folder / 'bilstm.toml'}, its configuration\n",
    ):
        assert words in done.err
    return path


def test_the_pass_that_is_kept_is_the_one_that_is_told() -> None:
    """Of epochs with the same score the last, as training does."""
    epochs = [Step(number + 1, 1.0, dev_score=score, noun="epoch") for number, score in enumerate((0.2, 0.5, 0.5, 0.1))]
    model = BiLSTMCRF()
    model.training_log_ = tuple(epochs)
    assert model.best_pass_ is model.kept_pass_ is epochs[2]


def test_the_model_is_the_one_that_python_trains(bilstm: Path, folder: Path) -> None:
    train, dev = read_columns(folder / "train.txt"), read_columns(folder / "dev.txt")
    model = BiLSTMCRF(**SMALL, on_illegal="repair", patience=10).fit(train, X_dev=dev)
    loaded = package.load(bilstm, device="cpu")
    assert isinstance(loaded, BiLSTMCRF)
    assert same_weights(loaded, model)
    assert loaded.predict(dev) == model.predict(dev)


def test_the_saved_configuration_is_complete_and_trains_the_same(bilstm: Path, folder: Path, tmp_path: Path) -> None:
    saved = folder / "bilstm.toml"
    text = saved.read_text(encoding="utf-8")
    assert text.startswith(MARK)
    written = tomllib.loads(text)["bilstm"]
    model = BiLSTMCRF(**{**SMALL, "on_illegal": "repair", "patience": 10})
    moment = ("verbose", "callbacks", "warm_start")
    wanted = {name: value for name, value in model.get_params().items() if value is not None and name not in moment}
    wanted |= {"characters": "cnn", "bigram_dim": 0}  # what "auto" stands for where tokens are words
    assert written == wanted
    done = tagline(
        "train", folder / "train.txt", "-o", tmp_path / "m", "--config", saved, "--dev", folder / "dev.txt", "-q"
    )
    assert done.code == 0, done.err
    assert (tmp_path / "m").read_bytes() == bilstm.read_bytes()
    assert tomllib.loads((tmp_path / "m.toml").read_text(encoding="utf-8"))["bilstm"] == wanted


@pytest.mark.parametrize("option", ["-o", "--checkpoint", "--log"])
def test_what_is_read_is_not_written(folder: Path, config: Path, tmp_path: Path, option: str) -> None:
    train, before = folder / "train.txt", (folder / "train.txt").read_bytes()
    others = [] if option == "-o" else ["-o", tmp_path / "m"]
    words = ("train", train, *others, "--config", config, option, folder / "." / "train.txt")
    place = "--output" if option == "-o" else option
    assert line_of(tagline(*words)).startswith(f"{place}: {train} is also read, as TRAIN;")
    assert train.read_bytes() == before
    words = ("train", train, "-o", tmp_path / "m", "--config", config, "--checkpoint", tmp_path / "m")
    assert "--output" in line_of(tagline(*words))


def test_resuming_says_from_where(folder: Path, config: Path, tmp_path: Path) -> None:
    words = ("train", folder / "train.txt", "-o", tmp_path / "m", "--config", config)
    state = ("--checkpoint", tmp_path / "c", "--resume")
    assert f"{tmp_path / 'c'} is not there yet: beginning anew\n" in tagline(*words, *state).err
    assert f"going on from {tmp_path / 'c'}\n" in tagline(*words, *state).err


def test_a_model_that_cannot_be_written_is_not_lost(
    folder: Path, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, whole = tmp_path / "m", BiLSTMCRF.save

    def save(self: BiLSTMCRF, path: Any) -> None:
        if str(path) == str(place):
            raise package.StorageError(f"{path}: no room")
        whole(self, path)

    monkeypatch.setattr(BiLSTMCRF, "save", save)
    done = tagline("train", folder / "train.txt", "-o", place, "--config", config, "-q")
    found = re.search(r"m: no room; what was learned is not lost: it lies in (.*\.tagline)$", done.err.strip())
    assert found, done.err
    assert isinstance(package.load(found[1], device="cpu"), BiLSTMCRF)
    os.unlink(found[1])


def test_options_win_over_the_file_and_the_file_over_defaults(folder: Path, config: Path, tmp_path: Path) -> None:
    words = ["train", folder / "train.txt", "-o", tmp_path / "m.tagline", "-q", "--json", "--config", config]
    done = tagline(*words, "--epochs", 1, "--seed", 4, "--head", "softmax", "--scheme", "none", "--batch-size", 50)
    facts = json.loads(done.out)
    assert (facts["kind"], facts["head"], facts["scheme"]) == ("bilstm", "softmax", None)
    assert (facts["config"], facts["best_pass"], facts["dev"]) == (str(tmp_path / "m.toml"), None, None)
    loaded = package.load(tmp_path / "m.tagline")
    got = (loaded.epochs, loaded.random_state, loaded.head, loaded.scheme, loaded.batch_size, loaded.hidden)
    assert got == (1, 4, "softmax", None, 50, 8)
    assert loaded.patience == 10, "not used without --dev"
    saved = tomllib.loads((tmp_path / "m.toml").read_text(encoding="utf-8"))["bilstm"]
    assert (saved["scheme"], saved["on_illegal"], saved["epochs"]) == ("none", "repair", 1)
    kind, values = read_config(str(tmp_path / "m.toml"), None)
    assert (kind, values["scheme"], "embeddings" in values) == ("bilstm", None, False)
    assert tagline("inspect", tmp_path / "m.tagline").out.count("transitions") == 0, "a softmax has none"


def test_a_file_of_ones_own_is_never_overwritten(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "m.toml"
    own.write_text("# mine\n" + toml({**SMALL, "epochs": 1, "patience": 2}), encoding="utf-8")  # without a dev set
    before = own.read_bytes()
    words = ["train", folder / "two.txt", "-o", tmp_path / "m.tagline", "--config", own]
    done = tagline(*words)
    assert f"saved {tmp_path / 'm.trained.toml'}, its configuration" in done.err
    assert "looking at the column token alone" in done.err
    assert own.read_bytes() == before
    own.unlink()
    assert tagline(*words[:-1], tmp_path / "m.trained.toml", "--hidden", 3, "-q").code == 0
    assert tagline(*words, "--hidden", 5, "-q").code == 0, "what was written before is replaced"
    assert tomllib.loads(own.read_text(encoding="utf-8"))["bilstm"]["hidden"] == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.tagline", "m.toml", "m.trained.toml"]


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("[bilstm]\nhidden = true\n", "", "hidden: expected a whole number, got True"),
        ("[bilstm]\nepoch = 3\n", "", "got 'epoch'; did you mean epochs? The settings are head, smoothing, "),
        ("[bilstm]\ncallbacks = []\n", "", "got 'callbacks'; the settings are head, smoothing, "),
        ("[bilstm\n", "", "expected TOML, got: "),
        (b"\xff = 3\n", "", "expected TOML, got: "),
        ("epochs = 3\n", "", "expected one table [bilstm] or [transformer], got none; say which with --model"),
        ("[bilstm]\n[transformer]\n", "", "got [bilstm] and [transformer]; say which with --model"),
        ("[transformer]\nepochs = 1\n", "--model bilstm", "expected a table [bilstm], got [transformer]"),
        ('[bilstm]\nfreeze_words = "no"\n', "", "freeze_words: expected True or False, got 'no'"),
        ('[bilstm]\nhidden = "big"\n', "", "hidden: expected "),
        ('[bilstm]\nepochs = "many"\n', "", "epochs: expected a whole number of 1 or more, got 'many'"),
        ("[bilstm]\ndropout = 1.5\n", "", "dropout: expected "),
        ('[bilstm]\nhead = "svm"\n', "", "head: expected one of crf, softmax, got 'svm'"),
        ("[bilstm]\nscheme = 3\n", "", "scheme: expected one of IO, "),
        ("[bilstm]\n", "--model crf", "--config: expected an option of --model crf ("),
        ("[bilstm]\n", "--epochs 0", "--epochs: expected a whole number of 1 or more, got 0"),
        ("[bilstm]\n", "--learning-rate 0", "--learning-rate: expected a number above 0, got 0.0"),
        ("[bilstm]\n", "--encoder x", "--encoder: expected an option of --model bilstm ("),
        ("[bilstm]\n", "--c2 1", "--c2: expected an option of --model bilstm ("),
        ("[bilstm]\n", "--device abacus", 'device: expected "auto", "cpu" or a GPU'),
        ("[bilstm]\n", "--resume", "--resume: expected --checkpoint FILE to go on from, got none"),
        ("[bilstm]\n", "--checkpoint no/where", "--checkpoint: there is no folder no; make it first"),
        ("[bilstm]\n", "--log no/where", "--log: there is no folder no; make it first"),
        ("[bilstm]\n", "--embeddings nowhere.txt", "nowhere.txt: expected a file"),
        ("[transformer]\n", "", "encoder: expected a folder or a name on the Hugging Face hub"),
    ],
)
def test_what_cannot_be_meant(folder: Path, tmp_path: Path, text: str | bytes, words: str, message: str) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = tagline("train", folder / "two.txt", "-o", tmp_path / "m", "-q", "--config", path, *words.split())
    assert message in line_of(done)
    assert [one.name for one in tmp_path.iterdir()] == ["c.toml"]


def test_one_file_for_both_kinds(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("epochs = 7\nhidden = 4\n[bilstm]\nhidden = 5\n[transformer]\nepochs = 2\n", encoding="utf-8")
    assert read_config(str(path), "bilstm") == ("bilstm", {"epochs": 7, "hidden": 5})
    with pytest.raises(package.InputError, match=r"expected a setting, got 'hidden'.* settings are head, "):
        read_config(str(path), "transformer")


NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.dictionaries(NAMES, VALUES), st.text())
def test_any_setting_survives_toml(values: dict[str, Any], about: str) -> None:
    text = toml_of("bilstm", {**values, "_none": None}, {"_none": 1}, repr(about))
    assert text.startswith(MARK)
    assert tomllib.loads(text) == {"bilstm": {**values, "_none": "none"}}


def test_text_that_no_file_can_hold_is_refused_before_training(folder: Path, tmp_path: Path) -> None:
    done = tagline("train", folder / "two.txt", "-o", tmp_path / "m", "--model", "bilstm", "--embeddings", "\udcff.txt")
    assert "--embeddings: " in line_of(done)


def test_resuming_gives_the_same_network(bilstm: Path, folder: Path, config: Path, tmp_path: Path) -> None:
    words = ["train", folder / "train.txt", "--dev", folder / "dev.txt", "--config", config]
    words += ["--checkpoint", tmp_path / "state", "--log", tmp_path / "log.jsonl"]
    stopped = tagline(*words, "-o", tmp_path / "part", "--max-seconds", 0)  # after the first step
    assert stopped.code == 0, stopped.err
    assert "stopped after 0 epochs, " in stopped.err
    assert "--max-seconds are over" in stopped.err
    again = tagline(*words, "-o", tmp_path / "whole", "--resume", "-v")
    assert again.code == 0, again.err
    assert sum("  gradient " in line for line in again.err.splitlines()) == 3
    assert same_weights(package.load(tmp_path / "whole"), package.load(bilstm))
    assert not same_weights(package.load(tmp_path / "part"), package.load(bilstm))
    events = [json.loads(line)["event"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert events == ["start", "end", "start", "epoch", "epoch", "epoch", "end"]
    other = line_of(tagline(*words, "-o", tmp_path / "other", "-q", "--resume", "--epochs", 9))
    assert "epochs" in other


class Interrupting(Silent):
    """Sends Ctrl-C after so many epochs, within the next one."""

    def __init__(self, epochs: int) -> None:
        self.left = epochs

    def passed(self, done: Step) -> None:
        self.left -= 1

    def stepped(self, done: int, total: int, loss: float) -> None:
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)


def train_small(train: Path, output: Path, tell: Silent | None = None, **settings: Any) -> Training:
    config = output.with_suffix(".small.toml")
    config.write_text(toml({**SMALL, "batch_size": 4, **settings}), encoding="utf-8")
    try:
        return train_file(str(train), str(output), "bilstm", {"config": str(config)}, tell=tell)
    finally:
        config.unlink()


def test_ctrl_c_saves_what_there_is(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagline.training.neural.loop.SECONDS", 0.0)  # progress after each step
    done = train_small(folder / "train.txt", tmp_path / "m", Interrupting(2), epochs=50)
    assert done.interrupted
    assert (len(done.model.training_log_), done.config) == (2, str(tmp_path / "m.toml"))
    assert done.model.callbacks == ()
    assert same_weights(package.load(tmp_path / "m"), done.model)
    (tmp_path / "m").write_text("precious")
    with pytest.raises(KeyboardInterrupt):
        train_small(folder / "train.txt", tmp_path / "m", Interrupting(0), epochs=50)
    assert (tmp_path / "m").read_text() == "precious"


def test_ctrl_c_in_a_process_of_its_own(folder: Path, config: Path, tmp_path: Path) -> None:
    words = ["train", folder / "train.txt", "-o", tmp_path / "m.tagline", "--config", config, "--epochs", 9999]
    words += ["--threads", 1]
    command = [sys.executable, "-m", "tagline", *map(str, words)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while not (line := process.stderr.readline()).startswith("epoch 2 of 9999"):
            assert line
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(timeout=30) == 130
    assert "interrupted; what was learned so far is kept" in said
    assert f"saved {tmp_path / 'm.tagline'}" in said
    assert "Traceback" not in said
    assert package.load(tmp_path / "m.tagline").stop_reason_ == "interrupted"
    assert (tmp_path / "m.toml").exists()


def test_of_several_processes_the_first_speaks(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert speaks()
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    assert speaks()
    monkeypatch.setenv("RANK", "1")
    assert not speaks()
    monkeypatch.delenv("WORLD_SIZE")  # so that nobody is waited for
    monkeypatch.setattr(training, "speaks", lambda: False)
    assert train_small(folder / "two.txt", tmp_path / "m", epochs=1).dev is None
    assert list(tmp_path.iterdir()) == []


def test_tagging_and_scoring(bilstm: Path, folder: Path) -> None:
    tagged = tagline("tag", "-m", bilstm, folder / "dev.txt")
    assert tagged.code == 0, tagged.err
    assert "FB1" in tagline("eval", "-", input=tagged.out).out
    model, dev = package.load(bilstm), read_columns(folder / "dev.txt")
    lines = [line.split("\t") for line in tagged.out.splitlines() if line]
    assert [line[-1] for line in lines] == [tag for row in model.predict(dev) for tag in row]
    text = "Anna lives in Rome.\n他住在北京\n"
    more = tagline("tag", "-m", bilstm, "--format", "text", "--spans", "--as", "jsonl", input=text)
    items = [json.loads(line) for line in more.out.splitlines()]
    assert all({"tokens", "tags", "spans"} <= set(item) for item in items)
    assert items[1]["tokens"] == list("他住在北京"), "cut as the words were"
    best = tagline("tag", "-m", bilstm, "--format", "text", "-k", 2, "--marginals", input=text)
    assert best.out.startswith("# 0 ")


def test_inspecting(bilstm: Path, tmp_path: Path) -> None:
    model = package.load(bilstm)
    out = tagline("inspect", bilstm, "--top", 2).out
    assert out.startswith("model       bilstm with a crf head\nlabels      9: B-DATE B-LOC ")
    assert "reason      epochs" in out
    scores = model.network_.tagger.head.scores()[0]
    first, last = model.top_transitions(1)[0], model.top_transitions(1, lowest=True)[0]
    assert first.weight == scores[scores > -float("inf")].max()
    assert last.weight == scores[scores > -float("inf")].min()
    assert first.weight == scores[model.labels_.index(first.previous), model.labels_.index(first.label)]
    assert f"transitions most liked\n{first.weight:+10.4f}  {first.previous} → {first.label}\n" in out
    assert f"transitions least liked\n{last.weight:+10.4f}  {last.previous} → {last.label}\n" in out
    assert len(model.top_transitions(1000)) == int((scores > -float("inf")).sum())
    facts = json.loads(tagline("inspect", bilstm, "--json", "--top", 3).out)
    assert (facts["kind"], len(facts["top_transitions"]), facts["top_features"]) == ("bilstm", 3, {})
    with pytest.raises(package.InputError, match=r"^n: "):
        model.top_transitions(-1)
    line = line_of(tagline("inspect", bilstm, "--weights", tmp_path / "w.csv"))
    assert line.startswith("--weights: ")


def test_explaining(bilstm: Path) -> None:
    why = package.load(bilstm).explain(["Carol", "lives", "in", "Rome", "."])
    assert tagline("explain", "-m", bilstm, "Carol lives in Rome.", "--most", 3).out == why.text(3)
    only = tagline("explain", "-m", bilstm, "Carol lives in Rome.", "--token", "Rome", "--most", 99).out
    assert only.startswith("Rome  ")
    assert all(f"the word {word}" in only for word in ("Carol", "lives", "in", "Rome", "."))


def test_transformers(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    path = tmp_path / "t.tagline"
    words = ["train", folder / "train.txt", "-o", path, "--model", "transformer", "--encoder", encoder_folder("bert")]
    done = tagline(*words, "--dev", folder / "dev.txt", "--epochs", 1, "--learning-rate", 0.002, "--patience", 0)
    assert done.code == 0, done.err
    assert "transformer, 9 labels, " in done.err
    saved = tomllib.loads((tmp_path / "t.toml").read_text(encoding="utf-8"))["transformer"]
    assert (saved["encoder"], saved["head_rate"], saved["patience"]) == (encoder_folder("bert"), 10.0, "none")
    tagged = tagline("tag", "-m", path, "--format", "text", input="Anna lives in Rome.\n").out
    assert [line.split("\t")[0] for line in tagged.splitlines() if line] == ["Anna", "lives", "in", "Rome", "."]
    assert "[UNK]" in package.load(path).known_tokens(), "by which raw text is cut"
    assert "transformer with a crf head" in tagline("inspect", path).out
    assert tagline("explain", "-m", path, "Anna lives in Rome.", "--token", "Rome").out.startswith("Rome  ")
    again = tagline("train", folder / "train.txt", "-o", tmp_path / "u.tagline", "--config", tmp_path / "t.toml",
                    "--dev", folder / "dev.txt", "-q")  # fmt: skip
    assert again.code == 0, again.err
    assert (tmp_path / "u.tagline").read_bytes() == path.read_bytes()


HIDE = """
import sys
from importlib.machinery import PathFinder
hidden, find = sys.argv[1], PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, *rest: None if name.partition(".")[0] == hidden else find(name, *rest)
)
sys.argv = ["tagline", *sys.argv[2:]]
from tagline.cli import main
main()
"""


def test_what_is_missing_is_named(bilstm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", HIDE, "torch", "inspect", str(bilstm)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"tagline: {bilstm}, a bilstm model: ")
    assert done.stderr.endswith("pip install 'tagline[torch]'\n")
    for kind, absent, place in (
        ("bilstm", "torch", "BiLSTMCRF: "),
        (
            "transformer",
            "transformers",
            "TransformerCRF: ",
        ),
    ):
        monkeypatch.setattr("tagline.models.registry.find_spec", lambda name, absent=absent: name != absent or None)
        done = tagline("train", tmp_path / "nowhere.txt", "-o", tmp_path / "m", "--model", kind)
        line = line_of(done)
        assert line.startswith(place)
        assert f"{absent} " in line
        assert "pip install 'tagline[" in line


def test_errors_of_imports_that_are_no_extras_are_raised() -> None:
    with pytest.raises(ImportError, match="boom"):
        _missing(ImportError("boom", name="numpy"))
    assert _missing(ImportError("x needs y; pip install y")) == "x needs y; pip install y"


def test_help_names_the_defaults() -> None:
    said = " ".join(re.sub(r"[│╭╰─╮╯]", " ", tagline("train", "--help").out).split())
    bilstm, transformer = (
        {n: e.default for n, e in kind_named(name).options.items()} for name in ("bilstm", "transformer")
    )
    assert f"Size of the LSTM in each direction; {bilstm['hidden']}." in said
    assert f"Passes at most; {bilstm['epochs']} for bilstm, {transformer['epochs']} for transformer." in said
    sizes = f"{bilstm['batch_size']} for bilstm, {transformer['batch_size']} for transformer."
    assert f"Sentences of a step; {sizes}" in said
    assert "The highest; 2e-3 for bilstm, 5e-5 for transformer." in said
    assert (bilstm["learning_rate"], transformer["learning_rate"]) == (2e-3, 5e-5)
    assert kind_named("bilstm").options["head"].choices == tuple(HEADS)


def test_threads_reach_pytorch() -> None:
    code = (
        "from tagline.cli.options import use_threads\nuse_threads(1)\n"
        "import torch, tagline\nprint(torch.get_num_threads(), tagline.threads())"
    )
    env = {name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "TAGLINE_THREADS")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.split() == ["1", "1"]


def test_chinese_settings_are_chosen_and_told(tmp_path: Path) -> None:
    """As the feature CRF says its template; the configuration beside the model has what was chosen."""
    lines = "".join(
        f"{sign} {tag}\n" for sign, tag in zip("张伟在北京", ["B-PER", "I-PER", "O", "B-LOC", "I-LOC"], strict=True)
    )
    (tmp_path / "train.txt").write_text(f"{lines}\n" * 8, encoding="utf-8")
    sizes = {name: value for name, value in SMALL.items() if name != "case_dim"}
    (tmp_path / "small.toml").write_text(toml({**sizes, "epochs": 1}), encoding="utf-8")
    train = ("train", tmp_path / "train.txt", "-o", tmp_path / "m.tagline", "--model", "bilstm")
    done = tagline(*train, "--config", tmp_path / "small.toml")
    assert done.code == 0, done.err
    why = "most tokens are single characters that are not ASCII; --config sets others"
    assert f"network with characters = none, case_dim = 0, bigram_dim = 50: {why}\n" in done.err
    saved = tomllib.loads((tmp_path / "m.toml").read_text())["bilstm"]
    assert [saved[name] for name in ("characters", "case_dim", "bigram_dim")] == ["none", 0, 50]
    again = tagline(*train, "--config", tmp_path / "m.toml")
    assert again.code == 0, again.err
    assert "network with" not in again.err, "nothing was left to choose"
