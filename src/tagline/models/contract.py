"""The contract of models: what every kind fulfils, so that nobody has to ask which class a model is.

A model turns sentences into chains (`chains`), and every answer is a question to them. It describes itself: its labels,
what it reads of a sentence, a summary, what there is to see, whether it explains its labels. The command line, the
service and the tests speak to this protocol only; `tagline.models.answers.ChainModel` fulfils most of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from tagline.evaluation.report import Report
    from tagline.models.answers import Answer, AnswerArrays, Labelling
    from tagline.models.entities import Entity
    from tagline.models.explanations import Explanation
    from tagline.models.views import ModelView
    from tagline.training.iteration import Step
    from tagline.types import Chain, Float64Array

__all__ = ["Input", "Model", "Summary"]


@dataclass(frozen=True)
class Input:
    """What a model reads of a sentence.

    Attributes:
        columns: how many columns it looks at, counted from the left.
        source: what names them, for messages.
        by_character: whether raw text is cut into characters where nothing else tells how it should be cut.
        refusal: why sentences of words cannot be given to it, as "expected …, got …"; None where they can.
        documents: whether what it says of a sentence depends on the others of its document.
    """

    columns: int = 1
    source: str = ""
    by_character: bool = False
    refusal: str | None = None
    documents: bool = False


class Summary(Protocol):
    """A model in a few numbers."""

    @property
    def training(self) -> dict[str, Any]:
        """How it was trained."""

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""

    def line(self) -> str:
        """Say in one line what there is."""

    def text(self) -> str:
        """Write a line for each fact."""


class Model(Protocol):
    """A model that has been fitted or loaded."""

    kind: ClassVar[str]
    """As `tagline.models.registry` and model files name it."""

    explains: ClassVar[bool]
    """Whether `explain` says why a token has its label."""

    finds_spans: ClassVar[bool]
    """Whether `predict_spans` tells the probabilities of spans."""

    @property
    def labels_(self) -> list[Any]:
        """The labels: names, or the numbers of an HMM's states."""

    @property
    def scheme_name(self) -> str | None:
        """The tag scheme whose rules hold; None for no rules."""

    @property
    def input_(self) -> Input:
        """What it reads of a sentence."""

    @property
    def training_log_(self) -> Any:
        """One `Step` for each pass of training; empty where there were none."""

    @property
    def kept_pass_(self) -> Step | None:
        """The pass whose weights were kept for its dev score; None where those of the last pass were."""

    @property
    def best_pass_(self) -> Step | None:
        """The pass with the best dev score; None where there was no dev set."""

    def known_tokens(self) -> list[str]:
        """Tokens that the model has seen, which show how text is to be cut for it; empty where that is not known."""

    def chains(self, X: Any, *, known: Any = None, **inputs: Any) -> Iterator[Chain]:
        """Score sentences, block after block."""

    def answer(self, X: Any, **questions: Any) -> list[Answer]:
        """Answer several questions about sentences that are scored once."""

    def answer_arrays(self, X: Any, **questions: Any) -> AnswerArrays:
        """Answer about the best labelling of many sentences at once, as arrays."""

    def tag(self, texts: Any, **how: Any) -> Any:
        """Find the entities of texts as they are."""

    def predict(self, X: Any, **inputs: Any) -> Any:
        """Return the most probable labelling of each sentence."""

    def predict_marginals(self, X: Any, **inputs: Any) -> list[list[dict[str, float]]]:
        """Return for each token the probability of each label."""

    def predict_k_best(self, X: Any, k: int = 5, **inputs: Any) -> list[list[Labelling]]:
        """Return the k best labellings of each sentence."""

    def predict_spans(self, X: Any, **inputs: Any) -> list[list[Entity]]:
        """Return the spans of the most probable labelling of each sentence, with their probabilities."""

    def predict_samples(self, X: Any, n: int = 1, **inputs: Any) -> list[list[list[str]]]:
        """Draw n labellings of each sentence."""

    def log_likelihood(self, X: Any, y: Any = None, **inputs: Any) -> Float64Array:
        """Return log p(y | x) of each sentence; without y log Z."""

    def evaluate(self, X: Any, y: Any = None, **how: Any) -> Report:
        """Predict, and score in every way that applies."""

    def explain(self, sentence: Any, **inputs: Any) -> Explanation:
        """Say for each token what made its label win over the runner-up."""

    def legend(self, explanation: Explanation, most: int = 5) -> list[str]:
        """Say in words what the names in an explanation stand for."""

    def summary(self) -> Summary:
        """Return the model in a few numbers."""

    def view(self, top: int = 5, labels: Any = None) -> ModelView:
        """Return what there is to see: the summary, the heaviest features and transitions."""

    def save(self, path: Any) -> None:
        """Write the model to one file."""
