"""``tagline wapiti``: train, label, dump and update with Wapiti's arguments, files and forms.

Data go to standard output or the output file, words to standard error. Errors are ours: they name the place and the
remedy.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

from tagline import compiled
from tagline.errors import InputError, visible
from tagline.interop.formats import refuse_others
from tagline.interop.wapiti.input_lines import InputBlock, joined, read_blocks
from tagline.interop.wapiti.options import ALGORITHMS, SWITCHES, Options, parse
from tagline.interop.wapiti.text import TYPES, WapitiModel, compacted, read_model
from tagline.writing import check_apart, open_new

HELP = """usage: tagline wapiti train|label|dump|update [switches] [input] [output]

Takes what Wapiti 1.5 takes: its switches, data, patterns and model files. Modes may be given by their first letters;
without files, data come from standard input and go to standard output.

"""
_META = {"S": " TEXT", "U": " NUMBER", "F": " NUMBER", "B": ""}


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    if arguments and arguments[0] in ("-h", "--help"):
        tell(HELP + _switches())
        return 0
    if arguments and arguments[0] == "--version":
        tell("Tagline's wapiti, as Wapiti v1.5.0\n")
        return 0
    options = parse(arguments)
    # Training and updates may go on with a model and write it anew.
    names = ("model",) if options.mode == "label" else ("devel", "pattern")
    read = {f"--{name}": options.values.get(name) for name in names}
    check_apart({"input": options.input, **read}, {"output": options.output})
    return {"train": _train, "label": _label, "dump": _dump, "update": _update}[options.mode](options)


def tell(text: str) -> None:
    """Write words to standard error at once."""
    if sys.stderr is not None:
        sys.stderr.write(visible(text))
        sys.stderr.flush()


def _switches() -> str:
    lines = []
    for mode, switches in SWITCHES.items():
        lines.append(f"{mode}:")
        for switch in switches:
            letter = f"-{switch.letter} | " if switch.letter else "     "
            lines.append(f"  {letter}--{switch.name}{_META[switch.kind]}")
    return "\n".join(lines) + "\n"


def _train(options: Options) -> int:
    if "list" in (options.algo, options.type):
        tell("".join(f"\t{name}\n" for name in (ALGORITHMS if options.algo == "list" else TYPES)))
        return 0
    from tagline.interop.wapiti.training import evaluate, learn, number_sentences

    compiled.set_threads(options.nthread, "--nthread")
    for name in options.unused:
        tell(f"note: --{name} is not used: it only says how Wapiti's own algorithms go their way\n")
    before = None
    if options.model is not None:
        tell("* Load previous model\n")
        before = _read(options.model)
    if options.pattern is not None:
        tell("* Load patterns\n")
    tell("* Load training data\n")
    block = _read_data(options.input)
    numbered = number_sentences(block, options, before)
    dev = None
    if options.devel is not None:
        tell("* Load development data\n")
        dev_block = _read_data(options.devel)
        dev, sentences = evaluate(numbered, dev_block), len(dev_block.lengths)
    tell("* Initialize the model\n" if before is None else "* Resync the model\n")
    tell(f"* Summary\n    nb train:    {len(block.lengths)}\n")
    if dev is not None:
        tell(f"    nb devel:    {sentences}\n")
    model = learn(numbered, options, before, dev, tell)
    _save(model, options)
    return 0


def _label(options: Options) -> int:
    from tagline.interop.wapiti.labelling import Labeller, label_stream

    tell("* Load model\n")
    model = Labeller(_read(options.model), options.model)
    tell("* Label sequences\n")
    with _input(options.input) as stream, _output(options.output) as out:
        label_stream(model, stream, out, options, options.input or "<stdin>", tell)
    tell("* Done\n")
    return 0


def _dump(options: Options) -> int:
    from tagline.interop.wapiti.dump import dump

    tell("* Load model\n")
    model = _read(options.input)
    tell("* Dump model\n")
    with _output(options.output) as out:
        out.writelines(dump(model, options.prec, options.all))
    return 0


def _update(options: Options) -> int:
    from tagline.interop.wapiti.dump import patched

    tell("* Load model\n")
    model = _read(options.model)
    tell("* Update model\n")
    with _input(options.input) as stream:
        model = patched(model, stream.read(), options.input or "<stdin>")
    _save(model, options)
    return 0


# Files.


def _read(path: str | None) -> WapitiModel:
    with _input(path) as stream:
        data = stream.read()
    refuse_others(data, "wapiti", path or "<stdin>")
    return read_model(data, path or "<stdin>")


def _read_data(path: str | None) -> InputBlock:
    source = path or "<stdin>"
    with _input(path) as stream:
        block = joined(list(read_blocks(stream, source)), source)
    if not block.lengths:
        raise InputError("{}: expected sentences, got none", source)
    return block


def _save(model: WapitiModel, options: Options) -> None:
    if options.compact:
        tell("* Compacting the model\n    - Scan the model\n    - Compact it\n")
        small = compacted(model)
        tell(f"    {len(model.observations) - len(small.observations):8d} observations removed\n")
        tell(f"    {model.offsets[-1] - small.offsets[-1]:8d} features removed\n")
        model = small
    from tagline.interop.wapiti.conversion import file_of

    tell("* Save the model\n")
    with _output(options.output) as out:
        out.write(file_of(model))
    tell("* Done\n")


@contextmanager
def _input(path: str | None) -> Iterator[BinaryIO]:
    if path is not None:
        with open(path, "rb") as stream:
            yield stream
        return
    if sys.stdin is None:
        raise InputError("standard input: expected data, got a closed one; name a file")
    yield sys.stdin.buffer


@contextmanager
def _output(path: str | None) -> Iterator[BinaryIO]:
    if path is not None:
        with open_new(path) as stream:
            yield stream  # type: ignore[misc]
        return
    if sys.stdout is None:
        raise InputError("standard output: expected a place to write to, got a closed one; name a file")
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()
