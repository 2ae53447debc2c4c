"""Completion in shells: click's scripts, which ask the program what a word may become, and where they are installed."""

from __future__ import annotations

import os
from pathlib import Path

from click.shell_completion import get_completion_class, shell_complete

from tagline.cli.app import SHELLS, CommandLine
from tagline.errors import InputError
from tagline.writing import open_new

VARIABLE = "_TAGLINE_COMPLETE"
# Where the script of a shell is in the home of a user, the file that the shell reads when it starts, and the line
# there that finds the script; fish looks for itself.
PLACES = {
    "bash": (".bash_completions/tagline.sh", ".bashrc", "source ~/.bash_completions/tagline.sh"),
    "zsh": (".zfunc/_tagline", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": (".config/fish/completions/tagline.fish", "", ""),
}


def answer(instruction: str) -> int:
    """Answer the script of a shell, ``bash_complete`` for instance; return the exit code."""
    return shell_complete(CommandLine(), {}, "tagline", VARIABLE, instruction)


def known_shell(name: str) -> str:
    """Return the name of a shell that can complete words; that of the user where none is given."""
    shell = name or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in SHELLS:
        raise InputError("shell: expected one of {}, got {!r}; give it behind the option", ", ".join(SHELLS), shell)
    return shell


def script_for(name: str) -> str:
    """Return the script of a shell."""
    shell = get_completion_class(known_shell(name))
    assert shell is not None
    return shell(CommandLine(), {}, "tagline", VARIABLE).source().lstrip()


def install(name: str) -> list[Path]:
    """Write the script of a shell to where it is found; return the files that were written."""
    shell = known_shell(name)
    place, start, line = PLACES[shell]
    target = Path.home() / place
    target.parent.mkdir(parents=True, exist_ok=True)
    with open_new(target) as stream:
        stream.write(script_for(shell).encode())
    settings = Path.home() / start
    if not start or (settings.exists() and line in settings.read_text(encoding="utf-8", errors="replace")):
        return [target]
    with open(settings, "a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    return [target, settings]
