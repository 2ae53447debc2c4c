"""What `tagline demo` shows: the way from sentences to an explained label, in seconds, on data that it makes itself."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tagline.cli.render import ShownLabelling, ShownSpan, pieces, score_lines
from tagline.cli.tagging import Questions, answers_for
from tagline.datasets import make_entities
from tagline.drawing.coloured_spans import TERMINAL, bracketed, shades
from tagline.errors import InputError
from tagline.evaluation.report import evaluate
from tagline.features.templates.sets import load_set
from tagline.messages import message
from tagline.models.crf.estimator import CRF
from tagline.models.explanations import Explanation
from tagline.readers import write_columns
from tagline.readers.corpus import Sentence
from tagline.readers.raw_text import corpus_of_texts, cut_by_script
from tagline.readers.schemes import tags_to_spans
from tagline.readers.streams import Block
from tagline.training.choices import Auto
from tagline.training.running.progress import duration

TRAINING, TEST = 2000, 500  # sentences
TEMPLATE, C2, DELTA = "english_ner", 0.1, 1e-3
FRESH = (
    "Marta Lindqvist, who was born in Valparaiso, joined Baltic Energy in May 2019.",
    "星海科技公司总经理欧阳雪九月三日抵达温州。",
)
ASKED = (0, "Valparaiso")  # sentence and token to be explained
TYPES = ("DATE", "LOC", "ORG", "PER")


def show(keep: str | None = None, console: Console | None = None) -> None:
    """Print the demonstration.

    Arguments:
        keep: a folder in which the corpus and the model are left.
        console: where to print; standard output when left out.
    """
    out = console or Console(highlight=False)
    if keep is not None:
        try:
            Path(keep).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError("--keep: {} cannot be a folder: {}; name another place", keep, error.strerror) from None
    train, test = make_entities(TRAINING), make_entities(TEST, seed=1, split="test")
    _title(out, message("A corpus that the package writes itself, English and Chinese in turn"))
    for sentence in train[:2]:
        spans = [ShownSpan(*span) for span in tags_to_spans(sentence.tags or [], "IOB2")]
        _print(out, coloured(sentence, ShownLabelling(sentence.tags or [], spans=spans)))

    _title(
        out,
        message("Training on {:,} such sentences, {:,} tokens", TRAINING, train.num_tokens),
    )
    begun = time.perf_counter()
    template = load_set(TEMPLATE)
    model = CRF(template, c2=C2, algorithm=Auto(delta=DELTA)).fit(train)
    took = duration(time.perf_counter() - begun)
    _print(
        out,
        message("{}, {} passes, {:,} weights", took, len(model.training_log_), len(model.parameters_.weights)),
    )
    _print(
        out,
        message("features: the ready-made template {}; tags: {}", TEMPLATE, ", ".join(model.labels_)),
    )

    _title(out, message("Scores on {} unseen sentences, all of whose names are unseen too", TEST))
    for line in score_lines(evaluate(test, model.predict(test))):
        _print(out, line)

    fresh = corpus_of_texts(FRESH, cut_by_script)
    _title(out, message("Two fresh sentences, each entity with its exact probability"))
    for sentence, (labelling,) in zip(fresh, answers_for(model, Block(fresh), Questions(spans=True)), strict=True):
        _print(out, coloured(sentence, labelling))

    why = next(token for token in model.explain(fresh[ASKED[0]]).tokens if token.token == ASKED[1])
    _title(
        out,
        message(
            "Why is {} {} and not {}? What spoke for it (+) and against it (-)", why.token, why.label, why.runner_up
        ),
    )
    for line in [*why.text().splitlines(), *model.legend(Explanation((why,)))]:
        _print(out, line)

    if keep is not None:
        write_columns(train, Path(keep) / "train.txt")
        write_columns(test, Path(keep) / "test.txt")
        model.save(Path(keep) / "model.tagline")
    _title(out, message("What to try next"))
    for line in _advice(keep):
        _print(out, line)


def coloured(sentence: Sentence, labelling: ShownLabelling) -> Text:
    """Write a sentence with its entities in colour, and in brackets for where there is no colour."""
    text = Text()
    for piece, shade in shades(pieces(sentence, labelling), TYPES):
        text.append(bracketed(piece), f"color(0) on color({TERMINAL[shade]})" if piece.label else "")
    return text


def _advice(keep: str | None) -> list[str]:
    if keep is None:
        return [
            message(
                "tagline demo --keep FOLDER     leaves the corpus and the model there, to try the other commands on"
            ),
            message("tagline demo --serve           opens a page on this model in a browser"),
            message("tagline serve -m MODEL         answers other programs by HTTP, with that page"),
            message("tagline train --help           trains on your own sentences: a token and its tag a line"),
        ]
    return [
        f"tagline tag -m {keep}/model.tagline {keep}/test.txt | tagline eval -",
        f'echo "Anna lives in Rome." | tagline tag -m {keep}/model.tagline --format text --as brackets',
        f"tagline inspect {keep}/model.tagline",
        f"tagline serve -m {keep}/model.tagline --open",
        f"tagline train {keep}/train.txt --dev {keep}/test.txt -o {keep}/mine.tagline --c2 0.3",
    ]


def _title(out: Console, text: str) -> None:
    out.print(f"\n{text}", style="bold", markup=False, soft_wrap=True)


def _print(out: Console, text: str | Text) -> None:
    """Indent a line, and leave its length to the terminal."""
    out.print(Text("  ") + Text(str(text)) if isinstance(text, str) else Text("  ") + text, soft_wrap=True)
