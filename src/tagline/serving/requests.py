"""What may be asked: the fields of requests, checked by pydantic, with examples for the description of the service."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tagline.messages import message

MOST_RANKS, MOST_SAMPLES = 50, 100
EXPLAINED = 100  # times as long as a label takes what made it win

Token = str | list[str]
"""A word, or a word with its further columns."""


class Known(BaseModel):
    """A label that is known beforehand: every answer keeps to it."""

    model_config = ConfigDict(extra="forbid")
    item: int = Field(0, ge=0, description="Which text or sentence of the request.")
    token: int = Field(ge=0, description="Which token of it, counted over all its sentences.")
    label: str | Annotated[list[str], Field(min_length=1)] = Field(description="The label, or the labels it may have.")


class ModelRequest(BaseModel):
    """What is to be labelled, and by which model."""

    model_config = ConfigDict(extra="forbid")
    model: str | None = Field(None, description="Name of the model; the first one when left out.")
    text: str | None = None
    texts: list[str] | None = None
    tokens: list[Token] | None = None
    sentences: list[list[Token]] | None = None
    split: bool = Field(True, description="Split texts into sentences.")
    tokenizer: Literal["auto", "words", "characters", "whitespace", "treebank"] = "auto"
    known: list[Known] = Field(default_factory=list, max_length=100_000)

    @model_validator(mode="after")
    def _one_input(self) -> ModelRequest:
        inputs = ("text", "texts", "tokens", "sentences")
        named = [name for name in inputs if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError(
                message(
                    "expected one of {}, got {}", ", ".join(inputs), message(" and ").join(named) or message("none")
                )
            )
        return self

    @property
    def is_text(self) -> bool:
        """Whether the items are texts; else they are sentences of tokens."""
        return self.text is not None or self.texts is not None

    @property
    def items(self) -> list[Any]:
        """The texts or sentences."""
        if self.text is not None:
            return [self.text]
        if self.tokens is not None:
            return [self.tokens]
        return (self.texts if self.texts is not None else self.sentences) or []


class TagRequest(ModelRequest):
    """A request to ``/v1/tag``."""

    spans: bool = Field(True, description="Entities with their exact probabilities, where the labels mark any.")
    min_probability: float = Field(0.0, ge=0, le=1, description="Entities that are less probable are left out.")
    marginals: bool = Field(False, description="The probability of every label of every token.")
    k_best: int = Field(0, ge=0, le=MOST_RANKS, description="So many labellings of each sentence.")
    samples: int = Field(0, ge=0, le=MOST_SAMPLES, description="So many draws from the model's distribution.")
    seed: int | None = Field(None, ge=0, lt=2**63)
    entropy: bool = Field(False, description="How unsure the model is of each sentence, in nats.")
    log_likelihood: bool = Field(False, description="log p of the labelling, and log Z.")
    explain: bool = Field(False, description="Why each token has its label.")
    offsets: Literal["code-points", "utf-16"] = "code-points"

    @property
    def asks_more(self) -> bool:
        """Whether anything is asked beyond labels and entities."""
        return bool(
            self.marginals or self.k_best or self.samples or self.entropy or self.log_likelihood or self.explain
        )

    @property
    def share(self) -> int:
        """How many times longer a token takes than one of which the label alone is asked, about."""
        return 1 + self.k_best + self.samples + EXPLAINED * self.explain

    @property
    def signature(self) -> tuple[Any, ...]:
        """Requests with the same signature are answered together."""
        return (
            *(self.is_text, self.split, self.tokenizer, self.spans, self.min_probability, self.marginals, self.k_best),
            *(self.samples, self.seed, self.entropy, self.log_likelihood, self.explain, bool(self.known)),
        )


class TrellisRequest(ModelRequest):
    """A request to ``/v1/trellis``: one sentence, everything that is computed about it."""

    sentence: int = Field(0, ge=0, description="Which sentence of the text.")


class TaggedToken(BaseModel):
    """A token with its label."""

    text: str
    label: str
    start: int | None = None
    end: int | None = None
    probability: float | None = None
    marginals: list[float] | None = None


class RankedLabelling(BaseModel):
    """One of the k best labellings."""

    labels: list[str]
    probability: float


class TaggedSentence(BaseModel):
    """A sentence and what was asked about it."""

    start: int | None = None
    end: int | None = None
    tokens: list[TaggedToken]
    k_best: list[RankedLabelling] | None = None
    samples: list[list[str]] | None = None
    entropy: float | None = None
    log_z: float | None = None
    log_likelihood: float | None = None
    explanation: list[dict[str, Any]] | None = None
    legend: list[str] | None = None


class FoundEntity(BaseModel):
    """An entity with its exact probability."""

    text: str | None = None
    type: str
    start: int | None = None
    end: int | None = None
    probability: float
    sentence: int
    tokens: tuple[int, int]


class TagItem(BaseModel):
    """The answer about one text or sentence."""

    text: str | None = None
    sentences: list[TaggedSentence]
    entities: list[FoundEntity] | None = None


class TagAnswer(BaseModel):
    """The answer of ``/v1/tag``."""

    model: str
    labels: list[str] | None = None
    results: list[TagItem]


TAG_EXAMPLES: dict[str, Any] = {
    "a text": {"value": {"text": "John lives in New York."}},
    "Chinese": {"value": {"text": "王小明住在北京。", "marginals": True}},
    "tokens": {"value": {"tokens": ["John", "lives", "in", "New", "York", "."], "k_best": 3}},
    "a known label": {"value": {"text": "Paris met Anna.", "known": [{"token": 0, "label": "B-PER"}], "explain": True}},
    "many texts": {"value": {"texts": ["Anna sings.", "Bob lives in Rome."], "offsets": "utf-16"}},
}
