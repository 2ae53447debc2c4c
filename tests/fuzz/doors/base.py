"""What a door is: valid inputs, how they are damaged, and what is done with what comes out."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

import numpy as np

from tagline.types import Chain
from tests.fuzz.mutation import mutated


class Door:
    """A place through which foreign bytes come.

    Attributes:
        name: on the command line and in the names of finds.
        needs: packages without which it cannot be tried.
        words: what inputs are made of.
        ways: how many bytes stand before the input, which say how it is used.
        seeds: valid inputs, without those.

    Arguments:
        scratch: a folder for files.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Sequence[bytes]] = ()
    ways: ClassVar[int] = 0

    def __init__(self, scratch: Path) -> None:
        self.scratch = os.fspath(scratch)
        self.seeds = self.valid()

    def valid(self) -> list[bytes]:
        """Return a few small inputs that are as they should be."""
        raise NotImplementedError

    def draw(self, random: Random) -> bytes:
        """Return a damaged input; a function of the state of the generator alone."""
        return mutated(random, self.seeds, self.words)

    def as_input(self, seed: bytes) -> bytes:
        """Return a seed as an input: doors that are asked in several ways read the way from the first bytes."""
        return bytes(self.ways) + seed

    def mended(self, data: bytes) -> bytes:
        """Return bytes of a mutator that knows nothing of checksums, with the checksum put right."""
        return data

    def use(self, data: bytes) -> None:
        """Hand an input in and ask for all that comes out; raise for nonsense."""
        raise NotImplementedError

    def file(self, data: bytes, name: str = "input") -> str:
        """Write an input to a new file: what was mapped from an older one of that name stays as it is."""
        path = f"{self.scratch}/{name}"
        self.remove(name)
        with open(path, "wb", buffering=0) as stream:
            stream.write(data)
        return path

    def remove(self, name: str) -> None:
        """Take a file of the scratch folder away."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.scratch}/{name}")


def one_in(number: int, data: bytes) -> bool:
    """Say of one input in so many that something costly is done with it; always the same ones."""
    return zlib.crc32(data) % number == 0


def largest(chain: Chain) -> float:
    """Return the size of the largest finite score of a chain."""
    parts = (chain.emissions, chain.transitions, chain.start, chain.end)
    return max(float(np.abs(part[np.isfinite(part)]).max(initial=0)) for part in parts)


def ensure(condition: bool, what: str) -> None:
    """Raise where an answer is nonsense."""
    if not condition:
        raise AssertionError(what)
