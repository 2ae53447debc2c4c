"""What `TrigramTagger` may be told."""

from typing import Annotated

from tagline.models.settings import Callbacks
from tagline.settings import Setting, Settings, declared


@declared
class TrigramSettings(Settings):
    """What a trigram tagger may be told."""

    capitals: Annotated[bool, Setting("Tell words with a capital from others in the context, too.", trained=True)] = (
        True
    )
    rare: Annotated[
        int,
        Setting(
            "Words that are not more frequent show by their endings what tags unknown words have.",
            least=0,
            trained=True,
        ),
    ] = 10
    longest_ending: Annotated[int, Setting("Characters of an ending.", least=0, trained=True)] = 10
    ratio: Annotated[
        float,
        Setting(
            "Tags that are so many times less probable for a word, or an ending, than its best are no candidates.",
            least=1,
            most=1e100,
            trained=True,
        ),
    ] = 1000.0
    callbacks: Callbacks = ()
