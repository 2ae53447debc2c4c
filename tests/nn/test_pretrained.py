"""Encoders from folders and from the hub: what is read, and what is refused."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import huggingface_hub  # noqa: E402
import transformers  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

from tagline import InputError  # noqa: E402
from tagline.nn.pretrained import piece_table, pretrained  # noqa: E402
from tagline.nn.transformer import TransformerEncoder  # noqa: E402
from tests.features.piece_cases import KINDS, text  # noqa: E402

from .transformer_cases import ENCODERS, batch_of, make, pieces_for, sentences_of  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def saved(folder: Path, name: str = "bert", **settings: Any) -> Path:
    """A folder as the library writes it."""
    kind, _ = ENCODERS[name]
    _, unknown, padding = KINDS[kind]
    tokenizer = Tokenizer.from_str(text(kind))
    special = {"unk_token": tokenizer.id_to_token(unknown), "pad_token": tokenizer.id_to_token(padding)}
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{**special, **settings})
    wrapped.save_pretrained(folder)
    make(name).save_pretrained(folder)
    return folder


def test_a_folder(tmp_path: Path) -> None:
    encoder, table = pretrained(saved(tmp_path), pooling="mean", freeze=1)
    assert encoder.pooling == "mean"
    assert encoder.frozen == 1
    assert table.settings() == {"unknown": 1, "padding": 0, "max_length": 40, "stride": 64}
    batch = batch_of(pieces_for("bert"), sentences_of(5, 60))
    ours = TransformerEncoder(make("bert"), pooling="mean").eval()
    torch.testing.assert_close(encoder.eval()(batch), ours(batch), rtol=0, atol=0)
    assert (
        batch_of(table, sentences_of(9)).input_ids.tolist()
        == batch_of(pieces_for("bert"), sentences_of(9)).input_ids.tolist()
    )


def test_windows_of_a_folder(tmp_path: Path) -> None:
    folder = saved(tmp_path, model_max_length=30)
    assert pretrained(folder)[1].window.max_length == 30
    _, table = pretrained(folder, max_length=20, stride=3)
    assert (table.window.max_length, table.window.stride) == (20, 3)
    with pytest.raises(InputError, match=r"^max_length: "):
        pretrained(folder, max_length=41)


def test_half_precision_weights_are_read_as_float32(tmp_path: Path) -> None:
    saved(tmp_path)
    make("bert").half().save_pretrained(tmp_path)
    assert {one.dtype for one in pretrained(tmp_path)[0].parameters()} == {torch.float32}


def test_a_folder_without_its_weights(tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"^encoder .*: .*model\.safetensors"):
        pretrained(tmp_path)


def test_a_folder_with_other_weights(tmp_path: Path) -> None:
    saved(tmp_path)
    make("distilbert").save_pretrained(tmp_path / "other")
    (tmp_path / "other" / "model.safetensors").replace(tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"^encoder .*: .*embeddings"):
        pretrained(tmp_path)


def test_a_folder_with_weights_of_other_shapes(tmp_path: Path) -> None:
    saved(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"vocab_size": config["vocab_size"] + 3}))
    with pytest.raises(InputError, match=r"^encoder .*: .*\[400, 16\] .*embeddings"):
        pretrained(tmp_path)


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    make("bert").save_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"^(tokenizer|encoder .*): "):
        pretrained(tmp_path)
    (tmp_path / "file.txt").write_text("no folder")
    with pytest.raises(InputError, match=r"file\.txt: "):
        pretrained(tmp_path / "file.txt")


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^encoder .*: "):
        pretrained(tmp_path)


def test_code_of_a_repository_is_never_run(tmp_path: Path) -> None:
    saved(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "evil.py").write_text("raise SystemExit('run')")
    with pytest.raises(InputError, match=r"^encoder .*: "):
        pretrained(tmp_path)


def test_a_name_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def nothing(place: str, local_files_only: bool = False, **_: Any) -> Any:
        asked.append(local_files_only)
        raise OSError("no connection\nand more")

    def head(url: str) -> Any:
        asked.append(url)
        raise OSError("no connection\nand more")

    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", nothing)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", head)
    with pytest.raises(InputError, match=r"^encoder nobody/none: .*hf download nobody/none") as caught:
        pretrained("nobody/none")
    assert len(asked) == 2
    assert str(asked[1]).endswith("/nobody/none/resolve/main/config.json")
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", lambda url: None)
    with pytest.raises(InputError, match=r"^encoder nobody/none: .*\(no connection\)"):
        pretrained("nobody/none")
    assert asked[2:] == [True, False]


@pytest.mark.parametrize("place", ["./encoder", "../a/b", "/no/such/folder", "a/b/c", "C:\\encoder", ""])
def test_a_folder_that_is_not_there(place: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(f"encoder {place}: ")):
        pretrained(place)


def test_what_was_downloaded_before_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, asked = saved(tmp_path), []
    for owner in (transformers.AutoModel, transformers.AutoTokenizer):
        load = owner.from_pretrained

        def cached(place: str, *, load: Any = load, **options: Any) -> Any:
            asked.append(options.get("local_files_only"))
            return load(folder, **options)

        monkeypatch.setattr(owner, "from_pretrained", cached)
    pretrained("somebody/some")
    assert asked == [True, True]


def test_slow_tokenizers_are_refused() -> None:
    with pytest.raises(InputError, match=r"^tokenizer: "):
        piece_table(object(), make("bert"))


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"pip install 'tagline\[transformers\]'"):
        pretrained("bert-base-cased")


def test_the_library_stays_quiet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = saved(tmp_path)
    capfd.readouterr()
    verbosity = transformers.logging.get_verbosity()
    pretrained(folder)
    assert capfd.readouterr() == ("", "")
    assert transformers.logging.get_verbosity() == verbosity
