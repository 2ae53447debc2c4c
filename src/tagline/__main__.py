"""`python -m tagline` is the command `tagline`."""

from tagline.cli import main

main()
