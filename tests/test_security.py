"""SECURITY.md, sentence by sentence: what is safe is tried, what is not is shown to be so.

Each test names the beginning of the claim that it tries; the last test sees that no claim is without one.
"""

from __future__ import annotations

import ast
import copy
import gzip
import io
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, InputError, StorageError, load, storage
from tagline.chain import memory
from tagline.chain.second_order import dispatch
from tagline.cli.tagging import Questions, tag_stream
from tagline.errors import visible
from tagline.features.templates.template import Template
from tagline.models import sizes
from tagline.readers import compressed, read_columns

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "tagline").rglob("*.py"))
X, Y = [["Anna", "sings"], ["Bob", "sees", "Rome"]], [["B-PER", "O"], ["B-PER", "O", "B-LOC"]]

LIMITS = ("max_body", "max_tokens", "max_explain", "max_queue", "max_connections", "workers", "timeout", "drain")

CLAIMS: dict[str, Callable[..., Any]] = {}


def claim(*beginnings: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say which sentences of the document a test tries."""

    def keep(test: Callable[..., Any]) -> Callable[..., Any]:
        CLAIMS.update(dict.fromkeys(beginnings, test))
        return test

    return keep


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A small model."""
    CRF("U:%x[0,0]\nB\n", scheme="IOB2").fit(X, Y).save(tmp_path / "m.tagline")
    return tmp_path / "m.tagline"


class Exploding:
    """Code in a pickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("exploded"),))


@claim("Model files run no code", "A model, and a checkpoint of training", "It is not a pickle", "Loading starts no")
def test_loading_only_reads(path: Path, tmp_path: Path) -> None:
    (tmp_path / "evil.pkl").write_bytes(pickle.dumps(Exploding()))
    with pytest.raises(StorageError, match=r"evil\.pkl: .*\bpickles?\b"):
        load(tmp_path / "evil.pkl")
    assert not (tmp_path / "exploded").exists()
    code = """
import sys, tagline
tagline.CRF, tagline.load  # what is imported is imported before anybody listens
import tagline.models.crf.estimator, numpy.ma
events = []
def hear(event, arguments):
    if event.split(".")[0] in ("exec", "pickle", "subprocess", "socket", "ctypes") or event in ("os.system", "os.exec"):
        events.append(event)
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        events.append(f"wrote {arguments[0]}")
tagline.load(sys.argv[1]).predict([["Anna"]])
sys.addaudithook(hear)
tagline.load(sys.argv[1]).predict([["Anna"]])
print(events)
"""
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@claim(
    "Nothing in the file is believed", "The header's length", "Types, shapes and places", "A file that breaks a rule"
)
def test_headers_are_checked(path: Path) -> None:
    """All the rules are tried in test_storage and in the tests of each kind's file; here one of each."""
    data = path.read_bytes()
    wrong = [
        (r"^<bytes>: .*\b16000001\b", (16_000_001).to_bytes(8, "little") + data[8:]),
        (r"^<bytes>: .*\b300002\b", (3 * 200_001).to_bytes(8, "little") + b'{"' + b"[]" * 300_001),
        (r"^<bytes>: .*\bdata_offsets\b", data.replace(b'"shape":[', b'"shape":[9', 1).replace(b"} ", b"}", 1)),
        (r"^<bytes>: .*\bbytes\b", data[:-8]),
        (r"^<bytes>: .*\bbytes\b", data + bytes(64)),
    ]
    for place, damaged in wrong:
        with pytest.raises(StorageError, match=place):
            storage.loads(damaged, verify=False)


@claim("What each kind of model keeps")
def test_numbers_that_point_nowhere(path: Path, tmp_path: Path) -> None:
    file = storage.read(path)
    pairs = file.tensors["transitions"].copy()
    pairs[-1, -1] = 250
    storage.write(tmp_path / "bad.tagline", file.config, {**file.tensors, "transitions": pairs})
    with pytest.raises(StorageError, match=r"bad\.tagline: .*\b250\b"):
        load(tmp_path / "bad.tagline")


@claim(
    "A file asks for memory",
    "The labels that it names",
    "A token that a second-order model",
    "Sentences whose tables",
    "A `.gz`, `.zst` or Parquet file",
    "Tables that a transformer computes",
)
def test_memory_in_proportion(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (sizes.FREE_BYTES, sizes.BYTES_PER_BYTE) == (64 * 2**20, 1024)
    assert (compressed.FREE_BYTES, compressed.MOST_UNPACKED) == (256 * 2**20, 200)
    transformer = (ROOT / "src/tagline/nn/transformer.py").read_text(encoding="utf-8")
    assert "_MOST_IN_TABLES = 64 << 20" in transformer  # and that it holds: tests/nn/test_transformer.py
    file = storage.read(path)
    many = [*file.config["labels"], *(f"B-{k}" for k in range(9_000))]
    storage.write(tmp_path / "many.tagline", {**file.config, "labels": many}, file.tensors)
    with pytest.raises(StorageError, match=r"many\.tagline: .*'9003 labels'"):
        load(tmp_path / "many.tagline")
    assert (sizes.FREE_TOKEN_BYTES, sizes.TOKEN_BYTES_PER_BYTE) == (8 * 2**20, 32)
    CRF("U:%x[0,0]\nB\n", order=2).fit([["a", "b", "c"]], [["X", "Y", "X"]]).save(path)
    file = storage.read(path)
    names = [*file.config["labels"], *(f"B-{k}" for k in range(2_800))]
    storage.write(tmp_path / "many.tagline", {**file.config, "labels": names}, file.tensors)
    with pytest.raises(StorageError, match=r"many\.tagline: .*\blabels\b"):
        load(tmp_path / "many.tagline")
    storage.write(tmp_path / "many.tagline", {**file.config, "labels": names[:400]}, file.tensors)
    model = load(tmp_path / "many.tagline")
    for module in (memory, dispatch):
        monkeypatch.setattr(module, "memory", lambda: 2**27)
    with pytest.raises(InputError, match=r"^sentence 1: .* GiB"):
        model.predict([["a"], ["a"] * 50])
    monkeypatch.setattr(compressed, "FREE_BYTES", 1000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"a X\n\n" * 1_000_000))
    with pytest.raises(InputError, match=r"bomb\.gz: .* bytes"):
        read_columns(tmp_path / "bomb.gz")
    (tmp_path / "wide.txt").write_text("w " * 4097)
    with pytest.raises(InputError, match=r"wide\.txt:1: "):
        read_columns(tmp_path / "wide.txt")


@claim("Patterns cannot take", "The regular expressions of a template", "They are matched without", "Length, nesting")
def test_patterns() -> None:
    hostile = CRF('U:%m[0,0,"(a+)+$"]\nB\n').fit([["a" * 5000 + "b", "a"]], [["X", "Y"]])
    begun = time.perf_counter()
    hostile.predict([["a" * 5000 + "b"]])
    assert time.perf_counter() - begun < 30  # Python's own search would take longer than the sun has left
    for pattern in ("a" * 10_001, "(" * 200 + ")" * 200, "a{10001}", "(?:a{100}){200}"):
        with pytest.raises(InputError, match=r"^template:1: "):
            Template.parse(f'U:%m[0,0,"{pattern}"]\n', "template")


@claim("Encoders bring no code", "`TransformerCRF` loads folders", "A name that is no folder")
def test_nothing_is_fetched_but_by_name() -> None:
    network = {"socket", "urllib", "http", "requests", "ftplib", "httpx", "aiohttp", "huggingface_hub"}
    fetching, trusted = set(), []
    for source in SOURCES:
        text = source.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if {name.split(".")[0] for name in names} & network:
                fetching.add(source.relative_to(ROOT / "src").as_posix())
        trusted += re.findall(r"""trust_remote_code["']?\s*[=:]\s*(\w+)""", text)
    own = {
        f"tagline/serving/{name}.py" for name in ("client", "connections", "hosts", "server")
    }  # call as told; listen
    assert fetching - own - {"tagline/scale/cluster.py"} == {"tagline/nn/pretrained.py"}
    assert trusted
    assert set(trusted) == {"False"}


@claim(
    "Other tools' models run no code either",
    "Files of CRFsuite, CRF++",
    "Pickles of sklearn-crfsuite",
    "A pickle may have",
)
def test_other_tools_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tagline.interop.formats import read_model
    from tagline.interop.sklearn_crfsuite import inert

    assert inert.MOST_OPCODES == 1 << 22
    (tmp_path / "bad").write_bytes(b"\x80\x04N" + b"\x94" * inert.MOST_OPCODES + b".")
    with pytest.raises((StorageError, InputError), match=r"bad: .*\b4,194,304\b"):
        read_model(tmp_path / "bad")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad").write_bytes(pickle.dumps(Exploding()))
    with pytest.raises((StorageError, InputError)):
        read_model(tmp_path / "bad")
    assert not (tmp_path / "exploded").exists()
    for head in (b"lCRF", b"\x64\0\0\0\0\0\0\0", b"version: 100\n", b"#mdl#2#9\n"):
        (tmp_path / "bad").write_bytes(head + b"\xff" * 99)
        with pytest.raises((StorageError, InputError)):
            read_model(tmp_path / "bad")


@claim("The service trusts nobody", "It listens on this machine", "Tokens", "Before a token", "Then bodies")
@claim("Without a token, names", "Its page loads", "Texts are", "Its limits are")
def test_the_service() -> None:
    pytest.importorskip("fastapi")
    from tagline.serving import guard
    from tagline.serving.hosts import Hosts
    from tagline.serving.settings import Settings, check_exposure

    assert not Hosts(()).welcome(b"evil.example")
    assert guard.MOST_HEAD <= 65_536

    with pytest.raises(InputError, match=r"^--host: .*--insecure"):
        check_exposure("0.0.0.0", None, insecure=False)
    assert "hmac.compare_digest" in Path(guard.__file__).read_text(encoding="utf-8")
    assert all(0 < getattr(Settings(), name) < 1e9 for name in LIMITS)
    policy = dict(guard.SECURITY)[b"content-security-policy"]
    assert b"default-src 'none'; script-src 'self'" in policy
    assert b"unsafe" not in policy
    page = ROOT / "src" / "tagline" / "serving" / "page"
    assert not re.search(r"<script(?! type=\"module\" src=\"page/)|https?://", (page / "index.html").read_text())
    # that they hold under load, and that nothing is logged: tests/serving


@claim("Pages load nothing", "HTML that `tagline` writes")
def test_pages(path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("<script>alert(1)</script> <img src=x onerror=alert(1)>.\n", encoding="utf-8")
    page = "".join(tag_stream(load(path), [str(tmp_path / "a.txt")], Questions("html")))
    assert "<html" in page
    assert not re.search(r"<script|<img|onerror=[^&]*>|https?://|src=\"", page.replace("&lt;", "").replace("&gt;", ""))
    assert "&lt;" in page


@claim("Terminals are not commanded", "Control characters of tokens")
def test_terminals() -> None:
    assert visible("\x1b[2J\x9b") == r"\u001b[2J\u009b"
    assert "\x1b" not in str(InputError("\x1b[2J"))  # commands and reports: tests/cli/test_terminal.py


# What is not safe.


@claim("The checksum finds damage, not forgery")
def test_a_forged_file_loads(path: Path, tmp_path: Path) -> None:
    file = storage.read(path)
    storage.write(tmp_path / "forged", file.config, {**file.tensors, "weights": -file.tensors["weights"]})
    assert load(tmp_path / "forged").predict(X) != load(path).predict(X)
    damaged = bytearray(path.read_bytes())
    damaged[-70] ^= 1
    with pytest.raises(StorageError):
        storage.loads(damaged)


@claim("A service can be kept busy", "Whoever may ask", "Put a proxy")
def test_a_service_has_no_limits_for_each_client() -> None:
    pytest.importorskip("fastapi")
    from tagline.serving.settings import Settings

    assert not [name for name in vars(Settings()) if "client" in name]


@claim("pickle, joblib and copy")
def test_pickles_work(path: Path) -> None:
    model = load(path)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.predict(X) == model.predict(X)
    assert pickle.loads(pickle.dumps(Exploding)) is Exploding


def shapes(sentence: Any) -> list[dict[str, str]]:
    return [{"word": word} for word in sentence]


@claim("A Ray cluster runs code")
def test_only_one_room_speaks_to_ray() -> None:
    users = {source.parent.name for source in SOURCES if "import_ray(" in source.read_text(encoding="utf-8")}
    assert users == {"scale"}


@claim("Feature functions are code")
def test_functions_are_not_in_files(tmp_path: Path) -> None:
    CRF(shapes).fit(X, Y).save(tmp_path / "m.tagline")
    with pytest.raises(InputError, match=r"^features: "):
        load(tmp_path / "m.tagline").predict(X)
    assert load(tmp_path / "m.tagline", features=shapes).predict(X) == Y


@claim("Weights of encoders")
def test_weights_of_encoders_are_not_ours() -> None:
    assert not any("torch.load" in source.read_text(encoding="utf-8") for source in SOURCES)


@claim("Large inputs take memory and time")
def test_streams_hold_a_part(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless input is answered."""

    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            buffer[: len(text)] = text
            return len(text)

    text = b"Anna\n\nRome\n\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Endless(), 12)))
    answers = tag_stream(load(path), ["-"])
    assert sum(next(answers).count("\n\n") for _ in range(50)) >= 49


@claim("Files are used where they lie")
def test_save_replaces_files_whole(path: Path) -> None:
    model = load(path)
    before = path.stat().st_ino
    CRF("U:%x[0,0]\nB\n", c2=5.0).fit(X[:1], Y[:1]).save(path)
    assert path.stat().st_ino != before
    assert np.isfinite(model.parameters_.weights).all()
    assert model.predict(X) == Y


@claim("Data are passed on as they are")
def test_data_are_unchanged(path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\x1b[31m\n=1+1\n", encoding="utf-8")
    assert "\x1b[31m\t" in "".join(tag_stream(load(path), [str(tmp_path / "a.txt")]))


def test_every_claim_is_tried() -> None:
    document = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    start, end = document.index("## What is safe"), document.index("## Reporting")
    assert tagline.__version__
    missing = []
    for paragraph in re.split(r"\n\n|\n(?=- )", document[start:end]):
        text = " ".join(paragraph.lstrip("- ").split())
        if text.startswith(("##", "A model file from a stranger")) or not text:
            continue
        plain = text.replace("**", "")
        sentences = re.split(r"(?<=[.:]) (?=[A-Z`])", plain)
        firsts = sentences if paragraph[0] != "-" else sentences[:1]
        missing += [one for one in firsts if not one.startswith(tuple(CLAIMS))]
    assert not missing
