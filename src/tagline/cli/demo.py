"""The worked example of seed 001 (Li Hang, Statistical Learning Methods, example 11.1), shown as tables."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

from tagline import chain as engine
from tagline.types import Chain

LABELS = ("1", "2")


def worked_example() -> Chain:
    """Build the chain: state features become emissions, transition features depend on the position."""
    emissions = np.array([[1.0, 0.5], [0.8, 0.5], [0.8, 0.5]])
    transitions = np.zeros((3, 2, 2))
    transitions[1] = [[0.6, 1.0], [1.0, 0.0]]
    transitions[2] = [[0.0, 1.0], [1.0, 0.2]]
    return Chain(emissions, transitions)


def _name(labels: np.ndarray) -> str:
    return " ".join(LABELS[label] for label in labels)


def show() -> None:
    """Print scores, the best paths with their probabilities, and marginals."""
    console = Console()
    example = worked_example()
    best = engine.viterbi(example)
    log_z = float(engine.log_partition(example)[0])
    console.print(
        f"A chain of {example.num_tokens} tokens and {example.num_labels} labels, engine {engine.engine()!r}."
    )
    console.print(f"Best path    {_name(best.labels)}   score {best.scores[0]:.1f}")
    console.print(f"log Z        {log_z:.6f}   entropy {engine.entropy(example)[0]:.6f} nats")
    ranked = engine.k_best(example, 3)[0]
    paths = Table("rank", "path", "score", "probability", title="Three best paths", title_justify="left")
    for rank, labels in enumerate(ranked.labels):
        paths.add_row(str(rank + 1), _name(labels), f"{ranked.scores[rank]:.1f}", f"{ranked.probabilities[rank]:.4f}")
    console.print(paths)
    nodes = engine.marginals(example).nodes
    table = Table(
        "token", "score 1", "score 2", "P(label 1)", "P(label 2)", title="Scores and marginals", title_justify="left"
    )
    for token, (scores, p) in enumerate(zip(example.emissions, nodes, strict=True)):
        table.add_row(str(token + 1), *(f"{score:.1f}" for score in scores), *(f"{value:.4f}" for value in p))
    console.print(table)
    console.print(f"Most probable label of each token by itself: {_name(engine.max_marginal(example))}")
