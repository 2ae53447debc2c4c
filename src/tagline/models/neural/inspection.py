"""What a neural tagger has learned, as far as it can be looked at: a summary, and the transitions of a CRF."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from tagline.errors import InputError
from tagline.models.crf.file import Facts
from tagline.models.crf.inspection import TransitionWeight
from tagline.models.neural.network import Network
from tagline.nn.heads import CRFHead


@dataclass(frozen=True)
class NetworkSummary:
    """What there is to say of a network without asking it.

    Attributes:
        kind: of tagger.
        labels, scheme: names, and the tag scheme whose rules hold.
        head: "crf" or "softmax".
        parameters: how many numbers were learned, by part of the network.
        training: how it was trained.
    """

    kind: str
    labels: list[str]
    scheme: str | None
    head: str
    parameters: dict[str, int]
    training: dict[str, Any]

    @classmethod
    def of(cls, kind: str, network: Network, training: Facts) -> NetworkSummary:
        """Count."""
        parts: dict[str, int] = {}
        for name, value in network.tagger.named_parameters():
            part = ".".join(name.split(".")[:2])
            parts[part] = parts.get(part, 0) + value.numel()
        head = type(network.tagger.head).__name__.removesuffix("Head").lower()
        return cls(kind, list(network.labels), network.scheme, head, parts, training.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return asdict(self)

    def line(self) -> str:
        """Say in one line what there is."""
        return f"{self.kind}, {len(self.labels)} labels, {sum(self.parameters.values()):,} parameters"

    def text(self) -> str:
        """Write a line for each fact."""
        lines = [
            f"model       {self.kind} with a {self.head} head",
            f"labels      {len(self.labels)}: {' '.join(self.labels)}",
            f"scheme      {self.scheme or 'none'}",
            f"parameters  {sum(self.parameters.values()):,}",
        ]
        lines += [f"  {name:28} {count:,}" for name, count in self.parameters.items()]
        lines += [f"{name:10}  {value}" for name, value in self.training.items() if value not in (None, [])]
        return "\n".join(lines) + "\n"


class NetworkInspection:
    """The methods of a fitted tagger that show what it has learned."""

    kind: ClassVar[str]
    training_: Facts

    def summary(self) -> NetworkSummary:
        """Return the model in a few numbers."""
        return NetworkSummary.of(self.kind, self._fitted(), self.training_)

    def top_transitions(self, n: int = 20, *, lowest: bool = False) -> list[TransitionWeight]:
        """Return the n transitions with the largest scores, the largest first; with `lowest` the smallest.

        Those that the tag scheme forbids are left out, and a softmax head has none.
        """
        network = self._fitted()
        if n < 0:
            raise InputError(f"n: expected 0 or more, got {n}")
        if not isinstance(network.tagger.head, CRFHead):
            return []
        labels, scores = network.labels, network.tagger.head.scores()[0].ravel()
        places = np.flatnonzero(np.isfinite(scores))
        order = np.argsort(scores[places] if lowest else -scores[places], kind="stable")[:n]
        pairs = [divmod(int(place), len(labels)) for place in places[order]]
        return [TransitionWeight(float(scores[a * len(labels) + b]), labels[a], labels[b]) for a, b in pairs]

    def _fitted(self) -> Network:
        raise NotImplementedError
