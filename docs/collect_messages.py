"""Collect what the package says to people, and compile its translations: `python docs/collect_messages.py`.

Templates are found in the source: what is given to an error class, to `message` and their like, the help of options and
the documentation of commands. They go into `locale/zh_CN/LC_MESSAGES/tagline.po`, where translations are kept, new
templates come without one, and those that are gone go; then `tagline.mo` is written, which the package reads. A test
compares all three.
"""

from __future__ import annotations

import ast
import json
import re
import struct
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent.parent / "src" / "tagline"
CATALOGUE = PACKAGE / "locale" / "zh_CN" / "LC_MESSAGES" / "tagline.po"
HEADER = "Language: zh_CN\nContent-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=1; plural=0;\n"

FUNCTIONS = {"message": 0, "warn_of_data": 0, "Setting": 0, "Kind": 2, "Clash": 4}  # which argument is the template
COMMANDS = ("command", "train", "CommandLine")  # whose documentation is their help
WORDS = ("help", "panel", "advice")  # keyword arguments that are templates
# Of click, which looks for them in our catalogue, too. A tuple has a singular and a plural form.
CLICK: tuple[str | tuple[str, str], ...] = (
    ("Did you mean {possibility}?", "(Did you mean one of: {possibilities}?)"),
    ("Got unexpected extra argument ({args})", "Got unexpected extra arguments ({args})"),
    "Invalid value for {param_hint}: {message}",
    "Invalid value: {message}",
    "Missing argument",
    "Missing command.",
    "Missing option",
    "No such command {name!r}.",
    "No such option {name!r}.",
    "No such option: {name}",  # before 8.5
    "Option {name!r} does not take a value.",
    ("Option {name!r} requires an argument.", "Option {name!r} requires {nargs} arguments."),
    "{value!r} is not a valid {number_type}.",
    "{value!r} is not in the range {range}.",
)


class Entry(NamedTuple):
    """A template as a catalogue has it: its plural form, where there is one, its translation and where it is said."""

    plural: str = ""
    translation: str = ""
    places: tuple[str, ...] = ()


def error_classes(trees: Mapping[str, ast.Module]) -> set[str]:
    """Return the names of all classes of errors that take a template, which are those below `TaglineError`."""
    bases = {
        node.name: {getattr(base, "id", "") for base in node.bases}
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"TaglineError"}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found - {"MissingPackageError"}


def templates() -> dict[str, tuple[str, ...]]:
    """Return every template of the package, with the modules that have it."""
    paths = sorted(PACKAGE.rglob("*.py"))
    trees = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    functions = FUNCTIONS | dict.fromkeys(error_classes(trees), 0)
    found: dict[str, list[str]] = {}
    for place, tree in trees.items():
        for text in said(tree, functions, place):
            if text and place not in found.setdefault(text, []):
                found[text].append(place)
    return {text: tuple(places) for text, places in found.items()}


def said(tree: ast.Module, functions: Mapping[str, int], place: str) -> Iterator[str]:
    """Find the templates of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name, words = getattr(node.func, "id", ""), {word.arg: word.value for word in node.keywords}
            at = functions.get(name, len(node.args))
            wanted = [*node.args[at : at + 1], *(words[word] for word in WORDS if word in words)]
            if name == "Setting" and "panel" not in words:  # no option: only the documentation says it
                continue
            for template in wanted:
                if isinstance(template, ast.Constant) and isinstance(template.value, str):
                    yield template.value
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in COMMANDS and place.startswith("cli/"):
            yield from paragraphs(ast.get_docstring(node, clean=False) or "")


def paragraphs(text: str) -> Iterator[str]:
    """Split the help of a command as it is translated: by paragraphs; of examples only their title."""
    for paragraph in cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield from re.findall(r"^\w+:$", paragraph, re.MULTILINE)
        else:
            yield " ".join(paragraph.split())


def read(path: Path) -> dict[str, Entry]:
    """Read a catalogue as `written` writes it: a text is a string of JSON on one line."""
    entries = {}
    for block in path.read_text(encoding="utf-8").strip().split("\n\n") if path.exists() else ():
        lines = dict(line.split(" ", 1) for line in block.split("\n"))
        translation = json.loads(lines.get("msgstr") or lines["msgstr[0]"])
        plural = json.loads(lines.get("msgid_plural", '""'))
        entries[json.loads(lines["msgid"])] = Entry(plural, translation, tuple(lines.get("#:", "").split()))
    return entries


def written(entries: Mapping[str, Entry]) -> str:
    """Write a catalogue."""
    blocks = []
    for template, (plural, translation, places) in entries.items():
        lines = [f"#: {' '.join(places)}"] if places else []
        lines.append(f"msgid {quoted(template)}")
        lines += [f"msgid_plural {quoted(plural)}"] if plural else []
        lines.append(f"msgstr{'[0]' * bool(plural)} {quoted(translation)}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def quoted(text: str) -> str:
    """Write a text as PO files have it, which JSON has, too."""
    return json.dumps(text, ensure_ascii=False)


def compiled(entries: Mapping[str, Entry]) -> bytes:
    """Return a catalogue in the form that `gettext` reads: tables of lengths and places, texts that end in 0."""
    pairs = sorted(
        ("\0".join((template, entry.plural) if entry.plural else (template,)).encode(), entry.translation.encode())
        for template, entry in entries.items()
        if entry.translation
    )
    tables, texts = [b"", b""], b""
    first = 28 + 16 * len(pairs)
    for column in (0, 1):
        for pair in pairs:
            tables[column] += struct.pack("<2I", len(pair[column]), first + len(texts))
            texts += pair[column] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, first)
    return head + tables[0] + tables[1] + texts


def merged(known: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the entries of all templates that there are, with the translations that are known."""
    entries = {"": Entry("", HEADER)}
    for template, places in templates().items():
        entries[template] = Entry("", known.get(template, Entry()).translation, places)
    for texts in CLICK:
        template, plural = texts if isinstance(texts, tuple) else (texts, "")
        entries[template] = Entry(plural, known.get(template, Entry()).translation, ("click",))
    return entries


def main() -> None:
    """Bring both files up to date, and name what has no translation."""
    entries = merged(read(CATALOGUE))
    CATALOGUE.parent.mkdir(parents=True, exist_ok=True)
    CATALOGUE.write_text(written(entries), encoding="utf-8")
    CATALOGUE.with_suffix(".mo").write_bytes(compiled(entries))
    missing = [template for template, entry in entries.items() if not entry.translation]
    print(f"{len(entries)} templates, {len(missing)} without a translation", *missing, sep="\n")


if __name__ == "__main__":
    main()
