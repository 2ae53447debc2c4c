"""What `tagline cluster` does: it reads texts or vectors, clusters, and shows how far that has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tagline.errors import InputError
from tagline.features.lexicons.brown import brown_clusters, sentences_of
from tagline.features.lexicons.clusters import Clusters
from tagline.features.lexicons.embeddings import read_embeddings
from tagline.features.lexicons.kmeans import cluster_vectors
from tagline.messages import message
from tagline.readers.tokenizers import tokenize


def clusters_of_texts(
    paths: Sequence[str], count: int, *, min_count: int, tokenizer: str, encoding: str, quiet: bool
) -> Clusters:
    """Make Brown clusters of texts."""
    tokenize("", tokenizer)  # raises where there is no tokenizer of that name
    with _bar(quiet) as progress:
        return brown_clusters(sentences_of(paths, tokenizer, encoding), count, min_count=min_count, progress=progress)


def clusters_of_vectors(paths: Sequence[str], count: int, *, passes: int, seed: int, quiet: bool) -> Clusters:
    """Make clusters of word vectors."""
    if len(paths) != 1:
        raise InputError("--vectors: expected one file of word vectors, got {}", len(paths))
    embeddings = read_embeddings(paths[0])
    with _bar(quiet) as progress:
        return cluster_vectors(embeddings, count, passes=passes, seed=seed, progress=progress)


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Draw a bar where standard error is a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (BarColumn(), TimeElapsedColumn(), TextColumn(message("left")), TimeRemainingColumn())
    with Progress(TextColumn("{task.description}"), *columns, console=console, transient=True) as bar:
        task = bar.add_task(message("clustering"), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
