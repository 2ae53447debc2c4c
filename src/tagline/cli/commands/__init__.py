"""The commands, one module a verb: each has a function `command` whose signature is its options, docstring its help.

What a command does beyond printing is an importable function of the rooms above or of `tagline.cli`; heavy imports
stand inside the functions, so that ``--help`` is quick.
"""
