"""What an estimator may be told: each setting is declared once, where a class names it.

    @declared
    class CRFSettings(Settings):
        c2: Annotated[float, Setting("Penalty c2·Σw².", least=0, panel=TRAINING)] = 1.0

From the annotation come the constructor and its documentation, the check before training, the option of the command
line with its help, the key of a TOML file, the usual space of a search and the tables of docs/settings.md. Nothing
heavy is imported: help is shown without NumPy. What needs more is named as ``module:NAME`` and imported when asked for.
"""

import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cached_property, wraps
from importlib import import_module
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    ForwardRef,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from tagline.errors import InputError
from tagline.messages import message

READ, WRITTEN, FILLED = "read", "written", "filled"
"""What is done with the file that a setting names, or with the folder."""

WIDTH = 116  # of a line of a class's documentation

Owner = TypeVar("Owner")


@dataclass(frozen=True)
class Setting:
    """What an annotation says of a setting; its name, type and default stand beside it.

    Attributes:
        help: a sentence or two.
        least, above, most: of numbers; `most` may be ``module:NAME``.
        choices: what text may be: a tuple, or ``module:NAME``.
        check: called with name and value where type and range do not say enough; ``module:NAME``, too.
        parse: makes the setting of text on the command line or in a file; ``module:NAME``, too.
        panel: of the help of `tagline train`; without one the setting is no option.
        flags: how the option is written; ``--`` and the name if left out.
        file: `READ` or `WRITTEN` where the value names files, `FILLED` where it names a folder to write into.
        says_default: whether the sentence says the default; else the help adds it.
        tune: what a search tries where nobody says: a list, or a range as a search's file has it.
        trained: whether it has no effect before the next fit, so that to change it on a fitted model is an error.
    """

    help: str
    least: float = -math.inf
    above: float = -math.inf
    most: float | str = math.inf
    choices: tuple[str, ...] | str = ()
    check: Callable[[str, Any], object] | str | None = None
    parse: Callable[[Any], Any] | str | None = None
    panel: str | None = None
    flags: tuple[str, ...] = ()
    file: str = ""
    says_default: bool = False
    tune: Any = None
    trained: bool = False


def resolved(home: Any) -> Any:
    """Return what ``module:NAME`` stands for; all else as it is."""
    if not isinstance(home, str):
        return home
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


@dataclass(frozen=True)
class Declared:
    """A setting of a class.

    Attributes:
        name: of the parameter.
        type: bool, int, float or str; None for what else it may be.
        optional: whether it may be None.
        default: None on the command line leaves it to the estimator.
        setting: what the annotation says.
    """

    name: str
    type: type | None
    optional: bool
    default: Any
    setting: Setting

    @property
    def flag(self) -> str:
        """The option, in its long form."""
        return self.setting.flags[-1] if self.setting.flags else "--" + self.name.replace("_", "-")

    @cached_property
    def choices(self) -> Sequence[str]:
        """What text may be; nothing where it may be anything."""
        return tuple(resolved(self.setting.choices or ()))

    def check(self, value: Any, place: str = "") -> None:
        """Raise where the value cannot be meant."""
        from tagline.checks import check_choice, check_number, check_switch, check_whole

        setting, place = self.setting, place or self.name
        if setting.check is not None:
            resolved(setting.check)(place, value)
        elif value is None and self.optional:
            return
        elif self.choices:
            check_choice(place, value, self.choices)
        elif self.type is bool:
            check_switch(place, value)
        elif self.type is int:
            least, most = (None if math.isinf(end) else int(end) for end in (setting.least, resolved(setting.most)))
            check_whole(place, value, least, most, optional=self.optional)
        elif self.type is float:
            limits = {"least": setting.least, "above": setting.above, "most": resolved(setting.most)}
            open_ended = limits["most"] == math.inf and math.isfinite(setting.least)
            wanted = message("a number of {:g} or more", setting.least) if open_ended else message("")
            if open_ended and self.optional:
                wanted = message("{}, or None", wanted)
            check_number(place, value, **limits, optional=self.optional, wanted=wanted)

    def read(self, value: Any, place: str = "") -> Any:
        """Return the setting that text, a number or a switch stands for, on the command line or in a file."""
        place = place or self.flag
        if value is None:
            return None
        if self.setting.parse is not None:
            value = resolved(self.setting.parse)(value)
        elif isinstance(value, str) and self.type in (bool, int, float):
            value = self._from_text(value)
        if (
            self.type is int and isinstance(value, float) and value.is_integer()
        ):  # of an option that others have as float
            value = int(value)
        if value is not None or self.optional:
            self.check(value, place)
        return value

    def _from_text(self, text: str) -> Any:
        """Return what text writes; text that is no number, and is refused then, as it is."""
        words = {"True": True, "true": True, "False": False, "false": False, "None": None, "none": None}
        if text in words:
            return words[text]
        try:
            return int(text) if self.type is int else float(text)
        except ValueError:
            return text


def declarations(owner: type) -> Mapping[str, Declared]:
    """Return the settings that a class declares, by name."""
    if owner not in _KNOWN:
        known = {entry.name: _declared(owner, entry) for entry in fields(owner)}
        _KNOWN[owner] = {name: entry for name, entry in known.items() if entry is not None}
    return _KNOWN[owner]


_KNOWN: dict[type, Mapping[str, Declared]] = {}


def _declared(owner: type, entry: Field[Any]) -> Declared | None:
    """Return what the annotation of a field declares."""
    annotation: Any = entry.type
    if isinstance(annotation, str):
        annotation = get_type_hints(owner, include_extras=True)[entry.name]
    setting = next((part for part in getattr(annotation, "__metadata__", ()) if isinstance(part, Setting)), None)
    if setting is None:
        return None
    kind = get_args(annotation)[0]
    parts = get_args(kind) if get_origin(kind) in (UnionType, Union) else (kind,)
    types = [part for part in parts if part is not NoneType]
    plain = types[0] if len(types) == 1 and types[0] in (bool, int, float, str) else None
    default = None if entry.default is MISSING else entry.default
    return Declared(entry.name, plain, len(types) < len(parts), default, setting)


@dataclass(frozen=True)
class Clash:
    """Two settings that cannot be meant together; or one that a class does not have.

    Attributes:
        name, when: a setting, and its value, or a function that says whether a value clashes.
        beside, if_: the other one, and the same of it; no name where the class alone decides.
        reason: a clause that says why, or what to do.
        expected: what the message expects; the default of the setting if left out.
    """

    name: str
    when: Any
    beside: str
    if_: Any
    reason: str
    expected: str = ""

    def check(self, owner: Any, flags: bool = False) -> None:
        """Raise where an object was told both; messages name settings, or their options."""
        from tagline.checks import shown_value

        known, value = declarations(type(owner)), getattr(owner, self.name)
        if not _meant(self.when, value):
            return
        name, place = known[self.name].flag if flags else self.name, message("for {}", type(owner).__name__)
        if self.beside:
            other = getattr(owner, self.beside)
            if not _meant(self.if_, other):
                return
            beside = known[self.beside].flag if flags else self.beside
            shown = f"={shown_value(other)}" if not flags else "" if other is True else f" {other}"
            place = message("without {}", beside) if other is None else message("beside {}{}", beside, shown)
        expected = self.expected or (message("none") if flags else repr(known[self.name].default))
        raise InputError(
            "{}: expected {} {}, got {}; {}", name, expected, place, shown_value(value), message(self.reason)
        )


def _meant(condition: Any, value: Any) -> bool:
    if callable(condition):
        return bool(condition(value))
    return isinstance(value, type(condition)) and bool(value == condition)


class Settings:
    """Parameters of an estimator, as scikit-learn wants them: the constructor keeps them, `fit` checks them.

    Attributes:
        clashes: what cannot be meant together.
        moved: parameters of earlier versions, and what to write now.
    """

    clashes: ClassVar[tuple[Clash, ...]] = ()
    moved: ClassVar[Mapping[str, str]] = {}


def check_settings(owner: Any, place: str = "", flags: bool = False) -> None:
    """Check what an object was told against what its class declares.

    Arguments:
        place: stands before the names of settings in messages.
        flags: whether messages name options.
    """
    for entry in declarations(type(owner)).values():
        entry.check(getattr(owner, entry.name), entry.flag if flags else f"{place}{entry.name}")
    for clash in getattr(type(owner), "clashes", ()):
        clash.check(owner, flags)


def documented(owner: type[Owner]) -> type[Owner]:
    """Write the settings of a class into its documentation, where that says ``{settings}``."""
    lines = []
    for entry in declarations(owner).values():
        text = re.sub(r"--([a-z][a-z-]+)", lambda option: option[1].replace("-", "_"), entry.setting.help)
        lines += textwrap.wrap(f"{entry.name}: {text}", WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12)
    owner.__doc__ = (owner.__doc__ or "").replace("{settings}", "\n".join(lines).strip())
    return owner


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def declared(owner: type[Owner]) -> type[Owner]:
    """Give a class of settings its constructor: keyword arguments, but for fields that say ``kw_only=False``."""
    made = dataclass(eq=False, repr=False, match_args=False, kw_only=True)(owner)
    for entry in fields(cast(Any, made)):  # a class has no settings, its objects do
        if entry.name in vars(made):
            delattr(made, entry.name)
    keep = made.__init__
    hints = keep.__annotations__
    if any(isinstance(kind, str) for kind in hints.values()):
        hints = get_type_hints(keep, include_extras=True)
    keep.__annotations__ = {name: _plain(kind) for name, kind in hints.items()}

    @wraps(keep)
    def __init__(self: Any, *arguments: Any, **settings: Any) -> None:  # noqa: N807
        for name in settings.keys() & type(self).moved.keys():
            raise TypeError(
                message("{}: {} is no setting any more; {}", type(self).__name__, name, type(self).moved[name])
            )
        keep(self, *arguments, **settings)

    made.__init__ = __init__  # type: ignore[method-assign]
    return made


def _plain(annotation: Any) -> Any:
    """Return an annotation without what it says of the setting."""
    kind = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    return kind.__forward_arg__ if isinstance(kind, ForwardRef) else kind
