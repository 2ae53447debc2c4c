"""Wapiti: its model files and dumps, and its command line as ``tagline wapiti``; patterns are in `tagline.features`."""
