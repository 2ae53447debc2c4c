"""The errors that Tagline raises on purpose.

Each message reads ``<where>: expected <this>, got <that>`` and ends with what to do next. All of them are
``ValueError`` too, so code that knows nothing of Tagline can still catch them. What a message quotes may come from
anywhere: characters that would command a terminal, or turn the order of its letters, are shown as escapes.
"""

import re

# Control characters but line breaks and tabs, separators of lines, marks of writing direction, halves of pairs.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Write control characters as escapes, for people and terminals.

    >>> print(visible("\x1b[31mred"))
    \u001b[31mred
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class TaglineError(Exception):
    """Anything that Tagline reports to its user."""

    def __str__(self) -> str:
        return visible(super().__str__())


class InputError(TaglineError, ValueError):
    """An argument or a file that cannot be used as it is."""


class NoPathError(InputError):
    """A sentence whose constraints leave no legal labelling."""


class TrainingError(TaglineError, ValueError):
    """Training that ended in numbers that are not finite; the model keeps the last weights that were."""


class StorageError(TaglineError, ValueError):
    """A model file that cannot be read, or any file that cannot be written."""
