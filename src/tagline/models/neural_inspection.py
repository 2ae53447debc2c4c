"""A neural tagger in a few numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tagline.models.network import Network
from tagline.models.packing import Facts


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
