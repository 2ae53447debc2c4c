"""`tagline cluster`: words to clusters, for the features of a CRF."""

from __future__ import annotations

from typing import Annotated

from tagline.cli.arguments import argument, option
from tagline.cli.options import Encoding
from tagline.cli.speech import say
from tagline.messages import message
from tagline.settings import READ, WRITTEN


def command(
    files: Annotated[
        list[str],
        argument(help="Texts with a sentence a line, .gz or not; with --vectors one file of word vectors.", file=READ),
    ],
    output: Annotated[
        str, option("-o", "--output", help="The file to write: cluster, TAB, word, TAB, count.", file=WRITTEN)
    ] = "clusters.txt",
    count: Annotated[int, option("-k", "--clusters", help="How many clusters to make.")] = 1000,
    vectors: Annotated[
        bool, option("--vectors", help="Cluster word vectors by k-means; otherwise text by Brown's algorithm.")
    ] = False,
    min_count: Annotated[int, option(help="Leave out words of a text that are rarer.")] = 2,
    tokenizer: Annotated[
        str, option(help="How texts are cut: whitespace, words or characters.", was="--tokens")
    ] = "whitespace",
    passes: Annotated[int, option(help="Of k-means, at most.")] = 20,
    seed: Annotated[int, option(help="Of the first centres of k-means.")] = 0,
    encoding: Encoding = "auto",
    quiet: Annotated[bool, option("-q", "--quiet", help="Tell nothing.")] = False,
) -> None:
    """Make clusters of words, from text or from word vectors, for tagline train --clusters.

    Ctrl-C ends it: nothing is written then, and the exit code is 130.

    \b
    Examples:
      tagline cluster text.txt.gz -o brown.txt -k 1000 --min-count 5
      tagline cluster --vectors glove.txt.gz -o glove-500.txt -k 500
    """
    from tagline.cli.clustering import clusters_of_texts, clusters_of_vectors

    try:
        if vectors:
            table = clusters_of_vectors(files, count, passes=passes, seed=seed, quiet=quiet)
        else:
            table = clusters_of_texts(
                files, count, min_count=min_count, tokenizer=tokenizer, encoding=encoding, quiet=quiet
            )
    except KeyboardInterrupt:
        say(message("interrupted, nothing was saved: {} was not written", output), err=True)
        raise SystemExit(130) from None
    table.write(output)
    if not quiet:
        say(
            message("{}: {:,} words in {:,} clusters", output, len(table), len(table.names)),
            err=True,
        )
