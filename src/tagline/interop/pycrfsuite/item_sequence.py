"""`ItemSequence`: the attributes of one sentence, read once and used as often as one likes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagline import compiled
from tagline.messages import message

compiled.require()
if TYPE_CHECKING:
    from tagline._core import ItemSequence as _ItemSequence
else:
    _ItemSequence = compiled.core.ItemSequence


class ItemSequence(_ItemSequence):
    """The attributes of a sentence's tokens, each a dict, or a list, tuple or set of strings.

    `tagline.features.items` says what dicts may hold. `Trainer.append` and `Tagger.tag` take it in place of the lists,
    and need not read them again.

    >>> ItemSequence([["foo"], {"bar": {"baz": 1}}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.0}]
    """

    def __init__(self, pyseq: Any) -> None:
        super().__init__(pyseq)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"

    def __reduce__(self) -> Any:
        raise TypeError(message("ItemSequence: expected something that can be pickled, got what only memory holds"))
