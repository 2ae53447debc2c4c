"""How fast is the component ``tagline`` in a spaCy pipeline, and how good beside spaCy's own recogniser of entities?

    python benchmarks/spacy_pipe.py            the table: CoNLL-2003, 3,000 training sentences, the whole valid file
    python benchmarks/spacy_pipe.py --quick    a few hundred sentences: does everything work?

Both are trained on the same documents from nothing (no vectors) and tag the same ones in a pipeline that has nothing
else in it. spaCy's recogniser is the one that ``spacy init config --pipeline ner`` writes, with its batches and its
dropout, for ten epochs; ours is a feature CRF as `tagline.interop.spacy.train` makes it. Times are CPU seconds of one
thread, medians of samples taken in turns; before any is printed, the entities of ``nlp.pipe`` must be those of the
model itself. The corpora are looked for in TAGLINE_DATA, else in ../shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TAGLINE_THREADS", "1")

import spacy
from feature_crf import corpora
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, biluo_tags_to_spans, iob_to_biluo
from spacy.training.batchers import minibatch_by_words
from spacy.util import compounding, fix_random_seed

from tagline import Corpus
from tagline.interop.spacy import train
from tagline.readers import read_columns

EPOCHS, DROPOUT, ROUNDS = 10, 0.1, 5


def documents(corpus: Corpus, nlp: Language) -> list[Doc]:
    """Annotated documents of a sentence each."""
    docs = []
    for words, tags in zip(corpus.tokens, corpus.tags, strict=True):
        doc = Doc(nlp.vocab, words=words)
        doc.ents = biluo_tags_to_spans(doc, iob_to_biluo(tags))
        docs.append(doc)
    return docs


def bare(docs: list[Doc]) -> list[Doc]:
    """The same documents without what is to be found."""
    return [Doc(doc.vocab, words=[token.text for token in doc]) for doc in docs]


def of_spacy(docs: list[Doc], epochs: int) -> Language:
    """A pipeline with spaCy's recogniser, trained."""
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("ner")
    examples = [Example(one, doc) for one, doc in zip(bare(docs), docs, strict=True)]
    optimizer = nlp.initialize(lambda: examples)
    order = random.Random(0)
    sizes = compounding(100.0, 1000.0, 1.001)
    for _ in range(epochs):
        order.shuffle(examples)
        for batch in minibatch_by_words(examples, size=sizes, tolerance=0.2):
            nlp.update(batch, drop=DROPOUT, sgd=optimizer)
    return nlp


def of_tagline(docs: list[Doc]) -> tuple[Language, Any]:
    """A pipeline with a CRF, trained, and the CRF."""
    nlp = spacy.blank("en")
    component: Any = nlp.add_pipe("tagline")
    component.tagger = train(docs)
    return nlp, component.tagger


def f1(nlp: Language, docs: list[Doc]) -> float:
    """F1 of spans, by spaCy's own scorer."""
    examples = [Example(one, doc) for one, doc in zip(nlp.pipe(bare(docs)), docs, strict=True)]
    return float(nlp.get_pipe(nlp.pipe_names[-1]).score(examples)["ents_f"])


def seconds(call: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    limit = (300, 200) if quick else (3000, None)
    names = ["token", "pos", "chunk", "tag"]
    files = [read_columns(corpora.find(f"conll2003/{name}.txt"), names=names) for name in ("train", "valid")]
    vocab = spacy.blank("en")
    lessons, tests = (documents(corpus, vocab)[:most] for corpus, most in zip(files, limit, strict=True))
    tokens = sum(map(len, tests))
    made: dict[str, Any] = {}
    training = {"Tagline": seconds(lambda: made.update(ours=of_tagline(lessons)))}
    training["spaCy"] = seconds(lambda: made.update(theirs=of_spacy(lessons, 1 if quick else EPOCHS)))
    (ours, model), theirs = made["ours"], made["theirs"]
    found = [[(one.start, one.end, one.label_) for one in doc.ents] for doc in ours.pipe(bare(tests))]
    spans = model.predict_spans([[token.text for token in doc] for doc in tests])
    if found != [[(one.start, one.end, one.type) for one in row] for row in spans]:
        print("the pipeline and the model disagree", file=sys.stderr)
        return 1
    calls: dict[str, Callable[[list[Doc]], object]] = {
        "Tagline": lambda docs: list(ours.pipe(docs)),
        "spaCy": lambda docs: list(theirs.pipe(docs)),
        "Tagline, one document at a time": lambda docs: [ours(doc) for doc in docs],
        "spaCy, one document at a time": lambda docs: [theirs(doc) for doc in docs],
    }
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(2 if quick else ROUNDS):
        for name, call in calls.items():
            docs = bare(tests)
            taken[name].append(seconds(lambda call=call, docs=docs: call(docs)))
    scores = {"Tagline": f1(ours, tests), "spaCy": f1(theirs, tests)}
    print(
        f"{len(lessons):,} sentences to train on, {len(tests):,} to tag, {tokens:,} tokens; spaCy {spacy.__version__}"
    )
    for name, samples in taken.items():
        middle = statistics.median(samples)
        rest = f", F1 {scores[name]:.4f}, trained in {training[name]:.1f} s" if name in scores else ""
        print(f"{name}: {tokens / middle:,.0f} tokens/s{rest}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
