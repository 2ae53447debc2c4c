"""What is said to people, in the language of the process: English, or Chinese where ``TAGLINE_LANG=zh`` asks for it.

A message is an English template with fields, as `str.format` has them, and their values. The template is its key
in the catalogue, `locale/zh_CN/LC_MESSAGES/tagline.po`, which `python docs/collect_messages.py` keeps; what is not
there is said in English. Data are never translated: only a template is looked up, and a value that is a message itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import count
from string import Formatter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gettext import NullTranslations

ENGLISH, CHINESE = "en", "zh"
LOCALES = os.path.join(os.path.dirname(__file__), "locale")

_FORMATTER = Formatter()
_TRADITIONAL = {"tw", "hk", "mo", "hant"}  # there is no catalogue for them

Field = tuple[str, str, str | None]
"""A field of a template: its name, format and conversion."""


def asked_for(environment: Mapping[str, str] = os.environ) -> str:
    """Say which language the environment asks for: ``TAGLINE_LANG``, else the locale of messages.

    >>> asked_for({"LANG": "zh_CN.UTF-8"}), asked_for({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}), asked_for({})
    ('zh', 'en', 'en')
    >>> asked_for({"TAGLINE_LANG": "zh", "LC_ALL": "C"}), asked_for({"LANG": "zh_TW.UTF-8"})
    ('zh', 'en')
    """
    names = ("TAGLINE_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "").lower()
    parts = locale.partition(".")[0].replace("-", "_").split("_")
    return CHINESE if parts[0] == CHINESE and not _TRADITIONAL & set(parts) else ENGLISH


_language = asked_for({"TAGLINE_LANG": os.environ.get("TAGLINE_LANG", "")})  # the command line follows the locale, too


def language() -> str:
    """Return the language that is used."""
    return _language


def use(language: str) -> None:
    """Say everything in a language from now on."""
    global _language
    _language = language


@cache
def _catalogue() -> NullTranslations:
    import gettext

    return gettext.translation("tagline", LOCALES, ["zh_CN"])


def _translated(template: str) -> str:
    return template if _language == ENGLISH or not template else _catalogue().gettext(template)


class Message(str):
    """A text that is known by its template: `str` and f-strings give it in the language that is used then.

    As a string it is the text in the language that was used when it was made.

    Attributes:
        template: English, with named fields; one without values is no template but the text itself.

    >>> wanted = message("{least:g} or more", least=0.5)
    >>> str(message("{name}: expected {wanted}", name="c2", wanted=wanted)), wanted.template
    ('c2: expected 0.5 or more', '{least:g} or more')
    >>> print(message('expected {"tokens": [...]}'))
    expected {"tokens": [...]}
    """

    template: str
    fields: dict[Field, str] | None

    def __new__(cls, template: str = "", fields: dict[Field, str] | None = None) -> Message:
        """Make a message of a template and the texts of its fields; `message` takes values."""
        made = super().__new__(cls, _filled(template, fields))
        made.template, made.fields = template, fields
        return made

    def __str__(self) -> str:
        return _filled(self.template, self.fields)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    @property
    def english(self) -> str:
        """The text in English, whatever the language."""
        return _with_fields(self.template, in_english(self.fields))

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, (self.template, self.fields)


def message(template: str, /, *values: object, **named: object) -> Message:
    """Return a template with its values as a text for people; a message comes in the language that is used now.

    Values are written at once, but for those that are messages, which are translated with the template.
    """
    if isinstance(template, Message):
        return Message(template.template, template.fields)
    if not (values or named):
        return Message(template)
    known = {str(number): value for number, value in enumerate(values)} | named
    fields: dict[Field, str] = {}
    for _, field in _parts(template):
        if field is not None:
            name, spec, conversion = field
            value = known[name]
            if isinstance(value, Message) and not (spec or conversion):
                fields[field] = value
            else:
                value = _FORMATTER.convert_field(value, conversion)
                fields[field] = format(value, spec.format(*values, **named) if "{" in spec else spec)
    return Message(template, fields)


def in_english(value: Any) -> Any:
    """Return a value with all messages in it in English, as files and JSON have them."""
    if isinstance(value, Message):
        return value.english
    if isinstance(value, dict):
        return {key: in_english(part) for key, part in value.items()}
    return [in_english(part) for part in value] if isinstance(value, list | tuple) else value


def cells(text: str) -> int:
    """Count the columns of a terminal that a text takes; a Chinese character has two.

    >>> cells("CRF"), cells("标注，")
    (3, 6)
    """
    return len(text) + sum(sign > "\u2e80" for sign in text)


def _filled(template: str, fields: Mapping[Field, str] | None) -> str:
    return _with_fields(_translated(template), fields)


def _with_fields(text: str, fields: Mapping[Field, str] | None) -> str:
    if fields is None:
        return text
    return "".join(literal if field is None else f"{literal}{fields[field]}" for literal, field in _parts(text))


def _parts(template: str) -> Iterator[tuple[str, Field | None]]:
    """Split a template into texts and the fields behind them; fields without a name are numbered."""
    numbers = count()
    for literal, name, spec, conversion in _FORMATTER.parse(template):
        yield literal, None if name is None else (name or str(next(numbers)), spec or "", conversion)
