"""What knowledge is worth: a feature CRF with clusters, vectors, other mentions and two stages, row by row.

    python benchmarks/knowledge.py --only conll2003          # on held-back training data: settings are chosen here
    python benchmarks/knowledge.py --only conll2003 --valid  # on the valid file, once

Clusters and vectors come from the GloVe file of the corpora: k-means with 100 and 1,000 clusters, as
``tagline cluster --vectors`` makes them. For Chinese there are 200 Brown clusters of the characters of three corpora,
and as a dictionary the words of a fourth, cws_pku. Times are those of the processor; with TAGLINE_THREADS=1 and
OMP_NUM_THREADS=1, of one thread.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from feature_crf import corpora

from tagline import CRF, Corpus, Dictionary
from tagline.evaluation import evaluate_spans
from tagline.features.lexicons.brown import brown_clusters
from tagline.features.lexicons.clusters import Clusters
from tagline.features.lexicons.embeddings import read_embeddings
from tagline.features.lexicons.gazetteers import dictionary_lines
from tagline.features.lexicons.kmeans import cluster_vectors
from tagline.features.templates.sets import load_set
from tagline.features.vectors import WordVectors
from tagline.readers import read_columns
from tagline.readers.schemes import convert

GLOVE = "embeddings/glove.6B.50d.top100k.txt.gz"
HELD_BACK = 0.15  # of the documents
MENTIONS = 2  # chosen among 1, 2, 3, 5 and 9 on held-back documents
ROUNDS = 3  # of tagging
WORDS = "cws_pku/train.txt.gz"
CHINESE = ("resume_ner/train.txt", "weibo_ner/train.txt", "msra_ner/train.txt.gz")


@dataclass(frozen=True)
class Task:
    """A corpus: its folder, its template, the settings of all rows, the scheme of its files and that of training."""

    folder: str
    features: str
    settings: Mapping[str, Any]
    source: str
    written: str
    chinese: bool = False
    rows: tuple[str, ...] = (
        *("plain", "clusters", "both", "mentions", "mentions and vectors"),
        *("clusters and stages", "mentions and stages", "stages", "all"),
    )


BY_CHARACTER = ("plain", "clusters", "lexicon", "lexicon and clusters")
ENGLISH = {"c2": 0.3, "scheme": "BIOES", "delta": 1e-3}
TASKS = {
    "conll2003": Task("conll2003", "english_ner", ENGLISH, "IOB2", "BIOES"),
    "wnut17": Task("wnut17", "english_ner", ENGLISH, "IOB2", "BIOES", rows=("plain", "clusters", "both")),
    "resume_ner": Task(
        "resume_ner",
        "chinese_ner",
        {"c2": 0.1, "delta": 1e-3, "scheme": "BMES", "on_illegal": "repair"},
        "BMES",
        "BMES",
        chinese=True,
        rows=BY_CHARACTER,
    ),
    "weibo_ner": Task(
        "weibo_ner",
        "chinese_ner",
        {"c2": 0.1, "delta": 1e-3, "scheme": "IOB2", "on_illegal": "repair"},
        "IOB2",
        "IOB2",
        chinese=True,
        rows=BY_CHARACTER,
    ),
}


def read(path: str, task: Task) -> tuple[Corpus, list[int]]:
    """Read a file in the scheme of training, and how many sentences its documents have."""
    place = corpora.find(path)
    corpus = one_column(read_columns(place))
    if task.source != task.written:
        corpus = convert(corpus, task.source, task.written)
    beside = Path(place).with_suffix(".documents")
    sizes = list(map(int, beside.read_text().split())) if beside.exists() else [1] * len(corpus)
    return corpus, sizes


def parts(task: Task, valid: bool) -> tuple[Corpus, list[int], Corpus, list[int]]:
    """Training sentences and those that score, each with documents."""
    train, sizes = read(f"{task.folder}/train.txt", task)
    if valid:
        return train, sizes, *read(f"{task.folder}/valid.txt", task)
    cut = int(len(sizes) * (1 - HELD_BACK))
    first = int(np.sum(sizes[:cut]))
    return train[:first], sizes[:cut], train[first:], sizes[cut:]


def tables(task: Task, counts: tuple[int, ...]) -> list[Clusters]:
    """Clusters for a task."""
    if task.chinese:
        texts = [sentence for path in CHINESE for sentence in read_columns(corpora.find(path)).tokens]
        return [brown_clusters(texts, 200, min_count=2)]
    embeddings = read_embeddings(corpora.find(GLOVE))
    return [cluster_vectors(embeddings, count) for count in counts]


def settings_of(row: str, task: Task, clusters: list[Clusters]) -> dict[str, Any]:
    """The settings that a row adds."""
    vectors = {"vectors": WordVectors.of(corpora.find(GLOVE), 0.3)}
    own = {
        "plain": {},
        "clusters": {"clusters": clusters},
        "vectors": vectors,
        "both": {"clusters": clusters, **vectors},
        "stages": {"clusters": clusters, **vectors, "stages": 2},
        "clusters and stages": {"clusters": clusters, "stages": 2},
        "mentions": {"clusters": clusters, "mentions": MENTIONS},
        "mentions and vectors": {"clusters": clusters, **vectors, "mentions": MENTIONS},
        "mentions and stages": {"clusters": clusters, "mentions": MENTIONS, "stages": 2},
        "all": {"clusters": clusters, **vectors, "mentions": MENTIONS, "stages": 2},
        "lexicon": {},
        "lexicon and clusters": {"clusters": clusters},
    }[row]
    if "lexicon" in row:
        own |= {
            "dictionary": lexicon(),
            "features": "\n".join([load_set(task.features).text, *dictionary_lines(1), ""]),
        }
    return {"features": task.features, **task.settings, **own}


@cache
def lexicon() -> Dictionary:
    """The words of a segmented text, of two characters and more, by their length."""
    corpus = read_columns(corpora.find(WORDS))
    entries = {}
    for tokens, tags in zip(corpus.tokens, corpus.tags, strict=True):
        begin = 0
        for place, tag in enumerate(tags, 1):
            if tag[0] in "ES":
                if place - begin > 1:
                    entries[tuple(tokens[begin:place])] = str(min(place - begin, 5))
                begin = place
    return Dictionary(entries)


def one_column(corpus: Corpus) -> Corpus:
    """The first column and the tags."""
    return corpus.with_columns({name: corpus.columns[name] for name in (corpus.names[0], "tag")})


def measure(
    row: str, task: Task, data: tuple[Corpus, list[int], Corpus, list[int]], clusters: list[Clusters], **changes: Any
) -> dict[str, Any]:
    """Train and score one row; `changes` are further settings."""
    train, sizes, test, test_sizes = data
    settings = {**settings_of(row, task, clusters), **changes}
    reads = "stages" in settings or "mentions" in settings
    began = time.process_time()
    model = CRF(**settings).fit(train, **({"documents": sizes} if reads else {}))
    trained = time.process_time() - began
    inputs = {"documents": test_sizes} if reads else {}
    predicted = model.predict(test, **inputs)
    seconds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        model.predict(test, **inputs)
        seconds.append(time.process_time() - began)
    speed = test.num_tokens / median(seconds)
    f1 = evaluate_spans(test.tags, predicted, f"conlleval:{task.written}").overall.f1
    return {"row": row, "f1": round(100 * f1, 2), "trained": round(trained, 1), "tokens a second": round(speed)}


def main() -> None:
    """Print a line of JSON a row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--rows", nargs="+")
    parser.add_argument("--clusters", nargs="+", type=int, default=[100, 1000])
    parser.add_argument("--valid", action="store_true", help="score the valid file; otherwise held-back training data")
    asked = parser.parse_args()
    for name in asked.only:
        task = TASKS[name]
        data = parts(task, asked.valid)
        clusters = tables(task, tuple(asked.clusters))
        for row in asked.rows or task.rows:
            print(json.dumps({"corpus": name, "valid": asked.valid, **measure(row, task, data, clusters)}), flush=True)


if __name__ == "__main__":
    main()
