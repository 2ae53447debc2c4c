"""spaCy: the pipeline component ``tagline``, over a model of any kind that labels words.

    nlp.add_pipe("tagline", config={"model": "ner.tagline"})

    Doc → sentences (`documents`) → a model's answers (`component`) → doc.ents, token.tag_, token.pos_, probabilities

`train` makes a model of documents or examples. Importing this module makes the component known; where Tagline is
installed, its entry point does so without an import.
"""

from tagline.errors import MissingPackageError

try:
    import spacy  # noqa: F401
except ImportError as error:
    raise MissingPackageError("tagline.interop.spacy", "spacy", "pip install 'tagline[spacy]'", error) from None

from tagline.interop.spacy.component import TaglineComponent, make_component
from tagline.interop.spacy.examples import train

__all__ = ["TaglineComponent", "make_component", "train"]
