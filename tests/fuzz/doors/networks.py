"""Doors that need PyTorch: models that are networks, and checkpoints of training."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from tests.fuzz.doors.base import Door, ensure
from tests.fuzz.doors.files import TAGS, WORDS, Models
from tests.fuzz.packed import Packed

if TYPE_CHECKING:
    from tests.training.neural.toys import ToyTask


class BiLSTMs(Models):
    """BiLSTM taggers, with and without characters and transitions."""

    name = "bilstm"
    needs = ("torch",)

    def models(self) -> list[Any]:
        from tagline import BiLSTMCRF

        quiet()
        sizes: dict[str, Any] = {"word_dim": 3, "char_dim": 2, "char_size": 3, "case_dim": 2, "hidden": 4}
        some: dict[str, Any] = {**sizes, "epochs": 1, "batch_size": 4, "device": "cpu"}
        X, y = WORDS[:2], TAGS[:2]
        return [
            BiLSTMCRF(**some).fit(X, y),
            BiLSTMCRF(**{**some, "characters": None, "scheme": None, "head": "softmax"}).fit(X, y),
        ]


class Transformers(Models):
    """Taggers on a tiny random encoder."""

    name = "transformer"
    needs = ("torch", "transformers", "tokenizers")

    def models(self) -> list[Any]:
        from tests.models.neural.cases import transformer

        quiet()
        return [transformer(epochs=1)]


class Checkpoints(Door):
    """Checkpoints of training: a run goes on from them, or says why it does not."""

    name = "checkpoint"
    needs = ("torch",)

    def valid(self) -> list[bytes]:
        quiet()
        files = []
        for optimizer in ("adamw", "sgd"):
            self.train(optimizer, "seed", stop=True)
            files.append(Path(self.scratch, "seed").read_bytes())
            self.remove("seed")
        self.packed = Packed(files)
        return files

    def train(self, optimizer: str, name: str, *, stop: bool) -> Any:
        """Train a toy for three epochs, or stop it after the first."""
        from tagline.training.neural.loop import train
        from tagline.training.neural.settings import Descent

        descent = Descent(epochs=3, batch_size=2, optimizer=optimizer, average=0.5, precision="float32")
        callbacks = [lambda epoch: stop]
        return train(self.task(), descent, callbacks=callbacks, checkpoint=f"{self.scratch}/{name}", resume=not stop)

    def task(self) -> ToyTask:
        """Return a toy to learn from."""
        from tests.training.neural.toys import ToyTask

        return ToyTask(3)

    def draw(self, random: Random) -> bytes:
        return self.packed.damaged(random)

    def use(self, data: bytes) -> None:
        self.file(data)
        optimizer = "sgd" if b'\\"sgd\\"' in data or b"momentum_buffer" in data else "adamw"
        trained = self.train(optimizer, "input", stop=False)
        ensure(len(trained.history) >= 1, "a run without epochs")


def quiet() -> None:
    """Let PyTorch work on one thread."""
    import torch

    torch.set_num_threads(1)


DOORS = (BiLSTMs, Transformers, Checkpoints)
