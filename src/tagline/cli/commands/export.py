"""`tagline export`: a network as ONNX, with a program that runs it without Tagline."""

from __future__ import annotations

import os
from typing import Annotated, Any

from tagline.cli.arguments import argument, option
from tagline.cli.speech import say
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.registry import kind_named, kinds
from tagline.settings import FILLED, READ


def command(
    model: Annotated[str, argument(help="A network that tagline train wrote.", file=READ)],
    output: Annotated[str, option("-o", "--output", metavar="FOLDER", help="The folder to write.", file=FILLED)],
    opset: Annotated[
        int | None, option(help="The version of ONNX's operators, 18 or newer; the exporter's own if left out.")
    ] = None,
    force: Annotated[bool, option("--force", help="Write into a folder that has other files, too.")] = False,
) -> None:
    """Write a network (bilstm, transformer) as ONNX, with a program that needs onnxruntime and NumPy alone.

    The folder has model.onnx, labels.json, the vocabulary or tokenizer, and run.py, which reads a word a line and gives
    the tags that tagline tag gives. Where onnxruntime is installed, that is tried on a few sentences first.

    \b
    Example:
      tagline export model.tagline -o model-onnx && python model-onnx/run.py < words.txt
    """
    from tagline.models.files import load

    network: Any = load(model)
    if not kind_named(network.kind).exports:
        raise InputError(
            "{}: expected a model of kind {}, which can be written as ONNX, got {}; its own file "
            "needs no PyTorch: tagline tag -m",
            model,
            message(" or ").join(kind.name for kind in kinds().values() if kind.exports),
            network.kind,
        )
    done = network.export(output, opset=opset, force=force)
    sizes = ", ".join(f"{name} ({size / 1e6:.1f} MB)" if size > 1e6 else name for name, size in done.files.items())
    say(message("wrote {}: {}", done.folder, sizes), err=True)
    tried = (
        message("run.py gives the tags of the model on a few sentences")
        if done.checked
        else message("run.py was not tried")
    )
    say(
        message("{}; it needs {}: pip install {}", tried, ", ".join(done.needs), " ".join(done.needs)),
        err=True,
    )
    say(f"python {os.path.join(done.folder, 'run.py')} < words.txt", err=True)
