"""The trigram tagger."""
