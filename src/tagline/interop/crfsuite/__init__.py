"""CRFsuite: its model files, and its command line as ``tagline crfsuite``."""
