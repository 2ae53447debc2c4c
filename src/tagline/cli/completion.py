"""Shells complete commands and options: they ask the program itself, which knows them all.

A script hands the words up to the cursor to ``tagline``, with the name of the shell in ``_TAGLINE_COMPLETE``, and gets
a candidate a line. Where there is none, the shell completes the names of files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tagline.cli.app import COMMANDS, PROGRAM, command_named, lists
from tagline.cli.arguments import HELP
from tagline.cli.language import phrase
from tagline.cli.speech import put
from tagline.cli.usage import first_paragraph
from tagline.errors import InputError
from tagline.writing import open_new

SCRIPTS = {
    "bash": r"""
_tagline_completion() {
    local IFS=$'\n'
    COMPREPLY=($(_TAGLINE_COMPLETE=bash tagline "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null))
}
complete -o default -F _tagline_completion tagline
""",
    "zsh": r"""
#compdef tagline
_tagline() {
    local -a candidates
    candidates=("${(@f)$(_TAGLINE_COMPLETE=zsh tagline "${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}")
    if [[ -n "$candidates" ]]; then _describe -V tagline candidates; else _files; fi
}
if [[ "$funcstack[1]" == _tagline ]]; then _tagline "$@"; else compdef _tagline tagline; fi
""",
    "fish": r"""
function _tagline_candidates
    set -l words (commandline -opc) (commandline -ct | string collect --allow-empty)
    _TAGLINE_COMPLETE=fish tagline $words[2..-1] 2>/dev/null </dev/null
end
complete -c tagline -a '(_tagline_candidates)'
""",
}
# Where the script of a shell lies in the home of a user, the file that the shell reads when it starts, and the line
# there that finds the script; fish looks for itself.
PLACES = {
    "bash": (".bash_completions/tagline.sh", ".bashrc", "source ~/.bash_completions/tagline.sh"),
    "zsh": (".zfunc/_tagline", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": (".config/fish/completions/tagline.fish", "", ""),
}


def candidates(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Find what the last word may become, each with a line about it; nothing where it may be a file.

    >>> [name for name, _ in candidates(["convert-"])], [name for name, _ in candidates(["tag", "--k"])]
    (['convert-tags', 'convert-model'], ['--k-best'])
    """
    *before, last = words or [""]
    name = next((word for word in before if not word.startswith("-")), None)
    if last.startswith("-"):
        command = PROGRAM if name is None else command_named(name) if name in COMMANDS else None
        for parameter in [] if command is None else [*command.parameters, HELP]:
            for flag in (*parameter.flags, *parameter.off):
                if flag.startswith(last):
                    yield flag, phrase(parameter.help).partition("\n")[0]
    elif name is None:
        for _, entries in lists():
            for command_name, text in entries:
                if command_name.startswith(last):
                    yield command_name, first_paragraph(text)


def answer(shell: str, words: Sequence[str]) -> None:
    """Write the candidates for a shell, with their lines where it shows them."""
    for name, text in candidates(words):
        put({"zsh": f"{name}:{text}\n", "fish": f"{name}\t{text}\n", "bash": f"{name}\n"}.get(shell, ""))


def known_shell(name: str) -> str:
    """Return the name of a shell that can be taught; that of the user where none is given."""
    shell = name or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in SCRIPTS:
        raise InputError(f"shell: expected one of {', '.join(SCRIPTS)}, got {shell!r}; give it behind the option")
    return shell


def script_for(name: str) -> str:
    """Return the script of a shell."""
    return SCRIPTS[known_shell(name)].lstrip()


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
