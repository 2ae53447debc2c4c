"""What a neural tagger has learned, as far as it can be looked at: a summary, and the transitions of a CRF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tagline.errors import InputError
from tagline.messages import message
from tagline.models.files import TrainingFacts
from tagline.models.neural.network import Network
from tagline.models.views import ModelSummary, ModelView, TransitionWeight, fact_line, top_transitions
from tagline.nn.heads import CRFHead
from tagline.readers.sources import PathLike


@dataclass(frozen=True, repr=False)
class NetworkSummary(ModelSummary):
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
    def of(cls, kind: str, network: Network, training: TrainingFacts) -> NetworkSummary:
        """Count."""
        parts: dict[str, int] = {}
        for name, value in network.tagger.named_parameters():
            part = ".".join(name.split(".")[:2])
            parts[part] = parts.get(part, 0) + value.numel()
        head = type(network.tagger.head).__name__.removesuffix("Head").lower()
        return cls(kind, list(network.labels), network.scheme, head, parts, training.as_dict())

    def line(self) -> str:
        """Say in one line what there is."""
        return message("{}, {} labels, {:,} parameters", self.kind, len(self.labels), sum(self.parameters.values()))

    def lines(self) -> list[str]:
        """Write a line for each fact but those of training."""
        return [
            fact_line("model", message("{} with a {} head", self.kind, self.head)),
            *super().lines(),
            fact_line("scheme", self.scheme or message("none")),
            fact_line("parameters", f"{sum(self.parameters.values()):,}"),
            *(f"  {name:28} {count:,}" for name, count in self.parameters.items()),
        ]


class NetworkViews:
    """The methods of a fitted tagger that show what it has learned."""

    kind: ClassVar[str]
    training_: TrainingFacts

    def summary(self) -> NetworkSummary:
        """Return the model in a few numbers."""
        return NetworkSummary.of(self.kind, self._fitted(), self.training_)

    def top_transitions(self, n: int = 20, *, lowest: bool = False) -> list[TransitionWeight]:
        """Return the n transitions with the largest scores, the largest first; with `lowest` the smallest.

        Those that the tag scheme forbids are left out, and a softmax head has none.
        """
        network = self._fitted()
        if not isinstance(network.tagger.head, CRFHead):
            return []
        return top_transitions(network.labels, network.tagger.head.scores()[0], n, lowest)

    def plot_transitions(self, path: PathLike | None = None, *, ax: Any = None) -> Any:
        """Draw the scores of a CRF's transitions as a heat map; needs the extra ``plot``.

        Arguments:
            path: of a file to write (.png, .svg or .pdf); None to write none.
            ax: axes of matplotlib to draw into; new ones where left out.

        Returns:
            The axes.
        """
        from tagline.evaluation.plots import plot_transitions

        network = self._fitted()
        if not isinstance(network.tagger.head, CRFHead):
            raise InputError("plot_transitions: expected a network with a CRF, got one with a softmax: no transitions")
        return plot_transitions(network.labels, network.tagger.head.scores()[0], path, ax=ax, meaning="score")

    def view(self, top: int = 5, labels: Sequence[str] | None = None) -> ModelView:
        """Return the summary, and the transitions that a CRF likes most and least.

        Arguments:
            top: how many transitions.
            labels: make no difference; a network has no features to show.
        """
        liked = [pair for pair in self.top_transitions(top) if pair.weight > 0]
        disliked = [pair for pair in self.top_transitions(top, lowest=True) if pair.weight < 0]
        return ModelView(self.summary(), transitions=liked, avoided=disliked)

    def _fitted(self) -> Network:
        raise NotImplementedError
