"""What a model says of itself: the part of the contract that needs no sentences, with answers that suit most kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tagline.drawing.result_tables import facts
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.contract import Input
from tagline.models.explanations import Explanation
from tagline.models.files import TrainingFacts
from tagline.models.views import ModelView, Outline, called
from tagline.readers.sources import PathLike

if TYPE_CHECKING:
    from tagline.training.iteration import Step


class DescribedModel:
    """A model that describes itself (`tagline.models.contract.Model`)."""

    kind: ClassVar[str]
    explains: ClassVar[bool] = False
    labels_: list[Any]
    training_: TrainingFacts

    @property
    def scheme_name(self) -> str | None:
        """The tag scheme whose rules hold; None for no rules."""
        return getattr(getattr(self, "parameters_", None), "scheme", None)

    @property
    def classes_(self) -> list[Any]:
        """The labels, under the name that scikit-learn and sklearn-crfsuite use."""
        return self.labels_

    @property
    def input_(self) -> Input:
        """What the model reads of a sentence: words."""
        return Input()

    @property
    def stop_reason_(self) -> str:
        """Why training stopped, in words."""
        _ = self.labels_  # a model that was not fitted says so
        return self.training_.reason

    @property
    def notes_(self) -> list[str]:
        """What was repaired or dropped in training."""
        _ = self.labels_
        return list(self.training_.notes)

    @property
    def best_pass_(self) -> Step | None:
        """The pass with the best dev score, of equals the first; None where there was no dev set."""
        scored = [done for done in getattr(self, "training_log_", ()) if done.dev_score is not None]
        return max(scored, key=lambda done: (done.dev_score, -done.number), default=None)

    @property
    def kept_pass_(self) -> Step | None:
        """The pass whose weights were kept for its dev score; None where those of the last pass were."""
        return None

    def plot_training(self, path: PathLike | None = None, *, ax: Any = None) -> Any:
        """Draw the objective after each pass, and the dev score where there is a dev set; needs the extra ``plot``.

        Arguments:
            path: of a file to write (.png, .svg or .pdf); None to write none.
            ax: axes of matplotlib to draw into; new ones where left out.

        Returns:
            The axes.
        """
        from tagline.drawing.charts import plot_training

        _ = self.labels_
        return plot_training(getattr(self, "training_log_", ()), path, ax=ax)

    def known_tokens(self) -> list[str]:
        """Return tokens that the model has seen; none where that is not known."""
        return []

    def summary(self) -> Any:
        """Return the model in a few numbers."""
        return Outline(self._names(), self.training_.as_dict())

    def view(self, top: int = 5, labels: Sequence[str] | None = None) -> ModelView:
        """Return what there is to see.

        Arguments:
            top: features of each label, and transitions.
            labels: whose features are shown; all when left out.
        """
        return ModelView(self.summary())

    def explain(self, sentence: Any, **inputs: Any) -> Explanation:
        """Refuse: this kind of model does not explain its labels."""
        raise InputError("explain: expected a model that can explain its labels, got a {}", type(self).__name__)

    def legend(self, explanation: Explanation, most: int = 5) -> list[str]:
        """Say in words what the names stand for that the first `most` terms of each token have."""
        return []

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Name the settings that are not their defaults, in few words; scikit-learn's would write out a template."""
        return called(self)[:N_CHAR_MAX]

    def _repr_html_(self) -> str | None:
        from sklearn import get_config  # type: ignore[import-untyped]

        if get_config()["display"] != "diagram":  # as scikit-learn's own
            return None
        fitted = hasattr(self, "labels_")
        return facts(self.summary().text() if fitted else message("not fitted"), repr(self))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = {"text/plain": repr(self), "text/html": self._repr_html_()}
        return {kind: text for kind, text in shown.items() if text is not None}

    def _names(self) -> list[str]:
        """The labels as strings."""
        return [str(label) for label in self.labels_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False  # sentences are ragged
        tags.input_tags.string = True
        tags.target_tags.required = False  # a corpus brings its labels along
        return tags
