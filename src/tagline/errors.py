"""The errors that Tagline raises on purpose, and the warning about names that will go.

Each message reads ``<where>: expected <this>, got <that>`` and ends with what to do next. All of them are
``ValueError`` too, so code that knows nothing of Tagline can still catch them. What a message quotes may come from
anywhere: characters that would command a terminal, turn the order of its letters or begin a line are shown as
escapes.
"""

import re
import sys
import warnings
from typing import ClassVar

from tagline.messages import message

# Control characters but line breaks and tabs, separators of lines, marks of writing direction, halves of pairs.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Write control characters as escapes, for people and terminals.

    >>> print(visible("\x1b[31mred"))
    \u001b[31mred
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def deprecated(name: str, *, since: str, instead: str) -> None:
    """Warn the caller's caller that a name goes two minor versions after the one that says so first.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     deprecated("old()", since="0.2", instead="use new()")
    >>> print(heard[0].message)
    old() goes in tagline 0.4: use new()
    """
    major, minor = since.split(".")[:2]
    release = f"{major}.{int(minor) + 2}"
    text = message("{} goes in tagline {}: {}", name, release, instead)
    warnings.warn(text, FutureWarning, stacklevel=3)


class DataWarning(UserWarning):
    """Data that can be read or learned from, but probably not as they were meant; the message says where.

    >>> import tagline, warnings
    >>> y = [["B-PER", "O", "O"]] * 9 + [["B-PER", "O", "Q"]]
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always", tagline.errors.DataWarning)
    ...     model = tagline.CRF("U00:%x[0,0]", scheme="auto").fit([["Anna", "has", "it"]] * 10, y)
    >>> print(str(heard[0].message).partition(";")[0])
    y[9][2]: 'Q' is no tag of IOB2, and all others are
    """


class NotedWarning(DataWarning):
    """A `DataWarning` that is also in the notes of the model: tags that were repaired, sentences that were dropped."""


def warn_of_data(template: str, /, *values: object, category: type[DataWarning] = DataWarning, **named: object) -> None:
    """Raise a `DataWarning` where our caller's code stands, outside of this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("tagline."):
        frame, level = frame.f_back, level + 1
    warnings.warn(visible(str(message(template, *values, **named))), category, stacklevel=level)


class TaglineError(Exception):
    """Anything that Tagline reports to its user, in its language.

    Arguments:
        template: what is wrong: English with fields, or a text where there are no values. See `messages`.
        values, named: of the fields.

    >>> import tagline
    >>> try:
    ...     tagline.Chain([[1.0, 2.0]], [[0.0]])
    ... except tagline.TaglineError as error:
    ...     print(error)
    transitions: expected shape [2, 2] or [1, 2, 2] to match the emissions, got [1, 1]
    """

    _one_line: ClassVar[bool] = True
    """Whether a line break in a message, which comes from what it quotes, is shown as an escape, too."""

    def __init__(self, template: str = "", /, *values: object, **named: object) -> None:
        super().__init__(message(template, *values, **named))

    @property
    def template(self) -> str:
        """The message in English, with fields: what does not change with the data or the language."""
        return str(getattr(self.args[0], "template", self.args[0]))

    def __str__(self) -> str:
        text = visible(super().__str__())
        return text.replace("\n", "\\n") if self._one_line else text


class InputError(TaglineError, ValueError):
    """An argument or a file that cannot be used as it is.

    >>> import tagline
    >>> try:
    ...     tagline.CRF(c2=-1).fit([["a"]], [["O"]])
    ... except tagline.InputError as error:
    ...     print(error)
    c2: expected a number of 0 or more, got -1
    """


class MissingPackageError(InputError, ImportError):
    """A package that is not installed.

    >>> print(MissingPackageError("tagline.nn", "torch", "pip install 'tagline[torch]'"))
    tagline.nn: expected torch to be installed, got none; pip install 'tagline[torch]'
    """

    def __init__(self, place: str, package: str, remedy: str, got: object = message("none")) -> None:
        got = message("none") if isinstance(got, ModuleNotFoundError) else got
        self.place, self.package, self.remedy, self.got = place, package, remedy, got
        values = {"place": place, "package": package, "got": got, "remedy": remedy}
        super().__init__(message("{place}: expected {package} to be installed, got {got}; {remedy}", **values))

    def at(self, place: str) -> "MissingPackageError":
        """Return the error for another place, such as the file that needs the package."""
        return MissingPackageError(place, self.package, self.remedy, self.got)


class NoPathError(InputError):
    """A sentence whose constraints leave no legal labelling.

    >>> import tagline
    >>> nowhere = tagline.Chain([[float("-inf"), float("-inf")]], [[0.0, 0.0]] * 2)
    >>> try:
    ...     tagline.chain.viterbi(nowhere)
    ... except tagline.NoPathError as error:
    ...     print(str(error).partition(";")[0])
    sentence 0: expected at least one legal labelling, got none: every path meets a score of -inf
    """


class TrainingError(TaglineError, ValueError):
    """Training that ended in numbers that are not finite; the model keeps the last weights that were.

    >>> import tagline
    >>> issubclass(tagline.TrainingError, tagline.TaglineError)
    True
    """


class StorageError(TaglineError, ValueError):
    """A model file that cannot be read, or any file that cannot be written.

    >>> import tagline
    >>> try:
    ...     tagline.load("no-such.tagline")
    ... except tagline.StorageError as error:
    ...     print(error)
    no-such.tagline: expected a model file, got none of that name; check the path
    """
