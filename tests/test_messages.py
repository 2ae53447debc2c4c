"""Messages: templates and values, in English and Chinese; the catalogue has what the code says, and nothing else."""

from __future__ import annotations

import ast
import copy
import importlib.util
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from types import ModuleType

import pytest

from tagline.errors import InputError, MissingPackageError
from tagline.messages import CHINESE, Message, _parts, asked_for, in_english, language, message, use

ROOT = Path(__file__).parent.parent


def script() -> ModuleType:
    """The script that keeps the catalogue."""
    path = ROOT / "docs" / "collect_messages.py"
    spec = importlib.util.spec_from_file_location("collect_messages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = script()
KNOWN = SCRIPT.read(SCRIPT.CATALOGUE)


@pytest.fixture
def chinese() -> Iterator[None]:
    before = language()
    use(CHINESE)
    yield
    use(before)


# --- messages -------------------------------------------------------------------------------------------------------


def test_values_are_written_as_format_writes_them() -> None:
    values = {"n": 3.14159, "word": "a'b", "width": 6}
    assert message("{0} {1!r} {0:.1f} {{}}", 2.5, "b") == "2.5 'b' 2.5 {}"
    assert message("{}: {:.1f}", "a", 2.25) == "a: 2.2"
    for template in ("{n:.2f}|{word!r:.3}|{word:>{width}}|{{}}", "{n}{n:e}", "no fields"):
        assert message(template, **values) == template.format(**values)
    assert message("{a} { b") == "{a} { b", "a text without values is no template"
    assert message("{array}", array=[1]) == "[1]"


def test_a_message_is_said_in_the_language_of_the_moment(chinese: None) -> None:
    use("en")
    told = message("wrote {}", "a.txt")
    nested = InputError("{}: {}", "x", told)
    assert f"{told}" == str(told) == told == "wrote a.txt"
    use(CHINESE)
    assert f"{told}" == str(told) == "已写入 a.txt"
    assert told == "wrote a.txt", "as a string it is what it was"
    assert str(nested) == "x：已写入 a.txt"
    assert nested.template == "{}: {}"
    assert str(message(told)) == message(told) == "已写入 a.txt"


def test_data_are_never_translated(chinese: None) -> None:
    word = "Examples:"
    assert str(message(word)) == "示例："
    assert str(message("wrote {}", word)) == "已写入 Examples:"
    assert str(message("wrote {}", message(word))) == "已写入 示例："


def test_files_and_json_are_english(chinese: None) -> None:
    told = message("{}: {}", "x", message("wrote {}", "a"))
    assert (str(told), told.english) == ("x：已写入 a", "x: wrote a")
    assert in_english({"a": [told, 1], "b": "none"}) == {"a": ["x: wrote a", 1], "b": "none"}
    assert type(in_english(told)) is type(in_english(message("none"))) is str


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_can_be_copied_and_pickled(make: object, chinese: None) -> None:
    wanted = message("none")
    error = make(InputError("{}: {}", "x", wanted))  # type: ignore[operator]
    assert (type(error), str(error), error.template) == (InputError, "x：没有", "{}: {}")
    assert isinstance(error.args[0], Message)


def test_errors_without_values_are_texts() -> None:
    assert str(InputError("{a} {")) == "{a} {"
    assert str(InputError()) == ""
    assert str(MissingPackageError("x", "torch", "pip install torch", got="2.0")) == (
        "x: expected torch to be installed, got 2.0; pip install torch"
    )


def test_which_language_is_asked_for() -> None:
    for environment in ({"LANG": "zh_CN.UTF-8"}, {"LC_MESSAGES": "zh_SG"}, {"LANG": "zh"}):
        assert asked_for(environment) == "zh"
    for environment in ({}, {"LANG": "C"}, {"LANG": "en_US.UTF-8"}, {"LANG": "zh_TW.UTF-8"}, {"LANG": "zha_CN"}):
        assert asked_for(environment) == "en"
    assert asked_for({"LC_ALL": "C.UTF-8", "LANG": "zh_CN.UTF-8"}) == "en"
    assert asked_for({"TAGLINE_LANG": "en", "LANG": "zh_CN.UTF-8"}) == "en"


def said(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONUTF8": "1", **environment},
        encoding="utf-8",
        check=True,
    )
    return done.stdout.strip()


def test_the_library_asks_tagline_lang_alone() -> None:
    code = "from tagline.errors import MissingPackageError; print(MissingPackageError('x', 'torch', 'do that'))"
    english = "x: expected torch to be installed, got none; do that"
    assert said(code) == said(code, LANG="zh_CN.UTF-8") == english
    assert said(code, TAGLINE_LANG="zh") == "x：需要安装 torch（目前：没有）；do that"


def test_english_needs_no_catalogue() -> None:
    assert (
        said("import sys, tagline.errors; str(tagline.errors.InputError('x')); print('gettext' in sys.modules)")
        == "False"
    )


# --- the catalogue --------------------------------------------------------------------------------------------------


def test_the_catalogue_is_that_of_the_code() -> None:
    """Nothing that is said is missing, nothing in it is not said."""
    assert SCRIPT.written(SCRIPT.merged(KNOWN)) == SCRIPT.CATALOGUE.read_text(encoding="utf-8"), (
        "run python docs/collect_messages.py"
    )
    assert SCRIPT.CATALOGUE.with_suffix(".mo").read_bytes() == SCRIPT.compiled(KNOWN)


def fields(template: str) -> set[tuple[object, ...]]:
    return {field for _, field in _parts(template) if field is not None}


def test_fields_are_the_same_on_both_sides() -> None:
    """A template without values may have braces, which are no fields."""
    with_values = set(values_of_calls())
    for template, entry in KNOWN.items():
        if entry.translation and (template in with_values or "click" in entry.places):
            assert fields(template) >= fields(entry.translation), template
            if not entry.plural:
                assert fields(template) == fields(entry.translation), template


def calls() -> Iterator[tuple[str, ast.Call, int]]:
    """Every call that takes a template, where it is, and which argument that is."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SCRIPT.PACKAGE.rglob("*.py"))}
    names = dict.fromkeys(SCRIPT.error_classes({str(path): tree for path, tree in trees.items()}), 0)
    names |= {"message": 0, "warn_of_data": 0}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in names and node.args:  # type: ignore[attr-defined]
                yield f"{path.relative_to(SCRIPT.PACKAGE)}:{node.lineno}", node, names[name]  # type: ignore


def values_of_calls() -> Iterator[str]:
    for _, call, at in calls():
        if (call.keywords or call.args[at + 1 :]) and isinstance(call.args[at], ast.Constant):
            yield str(call.args[at].value)  # type: ignore[attr-defined]


def test_templates_have_their_values() -> None:
    wrong = []
    for place, call, at in calls():
        template, values = call.args[at], {str(number) for number in range(len(call.args[at + 1 :]))}
        values |= {word.arg for word in call.keywords if word.arg not in ("status", "problem", "field", "category")}
        starred = any(isinstance(value, ast.Starred) for value in call.args)
        if isinstance(template, ast.Constant) and values and None not in values and not starred:
            said = [field for _, field in _parts(template.value) if field is not None]
            names = {name for name, _, _ in said} | {inner for _, spec, _ in said for inner in spec_names(spec)}
            if names != values:
                wrong.append(place)
    assert not wrong


def spec_names(spec: str | None) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(spec or "") if name is not None}
