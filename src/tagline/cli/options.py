"""Options of commands: those that several commands share, and those that kinds of models declare."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Annotated

from tagline.cli.arguments import Option as ModelOption
from tagline.cli.arguments import made_option, option
from tagline.messages import message
from tagline.models.registry import kinds
from tagline.models.settings import DATA, PANELS
from tagline.settings import Declared, resolved

MESSAGES, SCALE = message("Messages"), message("Several machines")
_ADDRESS = re.compile(r"auto|local|(ray://)?[^\s/]+:\d+")
# Those of `tagline.readers.tokenizers`, which would load NumPy before help is shown; a test compares the two.
TOKENIZERS = ("whitespace", "words", "characters", "treebank")

AsJson = Annotated[bool, option("--json", help="Print JSON instead of text.")]
Encoding = Annotated[
    str,
    option(help="Of the input; auto: UTF-8, or GB18030 where it is that. What is written is UTF-8.", panel=DATA),
]
Lenient = Annotated[bool, option("--lenient", help="Skip broken sentences and report them.", panel=DATA)]
Ray = Annotated[
    str | None,
    option(
        "--ray",
        help="Work on Ray: at this address, such as 10.0.0.1:6379, or started on this machine without one.",
        metavar="[ADDRESS]",
        alone=_ADDRESS,
        panel=SCALE,
    ),
]
Workers = Annotated[
    int | None,
    option(help="With --ray: so many processes; one a processor by default.", panel=SCALE),
]
ModelFile = Annotated[str, option("-m", "--model", help="A model that tagline train wrote.")]
Threads = Annotated[int | None, option(help="By default TAGLINE_THREADS or one a core.")]
Tokenizer = Annotated[
    str,
    option(
        help="How text is cut; auto: as the tokens were that the model learned from.\n\n"
        "whitespace: what stands between blanks: Anna's | cat, | 3.50\n\n"
        "words: words and signs: Anna's | cat | , | 3.50 | U.S. | 北京\n\n"
        "characters: every character: 北 | 京 | 2 | 0 | 0 | 8\n\n"
        "treebank: words as English treebanks have them: Anna | 's | do | n't | Dr.",
        values=("auto", *TOKENIZERS),
        was="--tokens",
    ),
]


def use_threads(count: int | None) -> None:
    """Let the core and PyTorch work with so many threads; None for as many as they choose."""
    from tagline import compiled

    compiled.let_torch_wait()
    if count is not None:
        compiled.set_threads(count, "--threads")
        os.environ["OMP_NUM_THREADS"] = str(count)  # PyTorch reads it when it is loaded


def options_of_models() -> list[ModelOption]:
    """Return the options of all kinds of models, panel by panel; what several kinds declare stands once."""
    declared: dict[str, list[Declared]] = {}
    for kind in kinds().values():
        for name, entry in kind.options.items():
            declared.setdefault(name, []).append(entry)
    panels = [entries[0].setting.panel or "" for entries in declared.values()]
    titles = sorted(set(panels), key=lambda panel: (*PANELS, panel).index(panel))
    return [
        _option(entries)
        for title in titles
        for entries, panel in zip(declared.values(), panels, strict=True)
        if panel == title
    ]


def _option(entries: Sequence[Declared]) -> ModelOption:
    """Make the option that some kinds of models have; where their defaults differ, the help has none."""
    first, setting = entries[0], entries[0].setting
    values = (lambda: first.choices) if setting.choices else ()
    described = option(
        *setting.flags or (first.flag,), help=setting.help, panel=setting.panel, file=setting.file, values=values
    )
    defaults = {repr(entry.default) for entry in entries}
    default = first.default if len(defaults) == 1 and not setting.says_default else None
    return made_option(first.name, first.type or str, described, required=False, default=default)


def moved_options() -> dict[str, str]:
    """Return options of earlier versions, and what to write now."""
    moved: dict[str, str] = {}
    for kind in kinds().values():
        moved |= resolved(kind.settings).moved
    flags = {f"--{name.replace('_', '-')}": text for name, text in moved.items()}
    return {flag: message("{} is no option any more; {}", flag, _as_option(text)) for flag, text in flags.items()}


def _as_option(text: str) -> str:
    """Write what to do with options; where Python has classes does not matter then."""
    return re.sub(r" ?[(（]tagline\.training [^)）]+[)）]$", "", re.sub(r'(\w+)="(\S+?)"', r"--\1 \2", str(text)))
