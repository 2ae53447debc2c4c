"""A door with every kind of fault, to see that the fuzzer finds them."""

from __future__ import annotations

import os
import time
from random import Random

from tagline.errors import InputError
from tests.fuzz.doors.base import Door, ensure


class Broken(Door):
    """The first byte of an input says what happens."""

    name = "broken"

    def valid(self) -> list[bytes]:
        return [b"\0"]

    def draw(self, random: Random) -> bytes:
        return bytes([random.randrange(16)])

    def use(self, data: bytes) -> None:
        fault = data[0]
        if fault == 1:
            raise KeyError("raw")
        if fault == 2:
            raise InputError("long" * 2000)
        if fault == 3:
            ensure(False, "nonsense")
        if fault == 4:
            bytearray(1 << 40)
        if fault == 5:
            os.abort()
        if fault == 6:
            time.sleep(1000)
        if fault == 7:
            raise InputError("place: expected this, got that")


DOORS = (Broken,)
