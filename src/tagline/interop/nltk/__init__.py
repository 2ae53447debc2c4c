"""NLTK's taggers over Tagline's models: change the import, keep the code.

    from tagline.interop.nltk.tag import CRFTagger, HiddenMarkovModelTagger, TnT     # was: from nltk.tag import …

Where NLTK is installed they are its `TaggerI`, so that `accuracy`, `confusion` and all else that takes a tagger take
them; without it they work, too. docs/migrate/nltk.md lists what differs.
"""
