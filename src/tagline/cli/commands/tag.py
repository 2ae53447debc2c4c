"""`tagline tag`: sentences in, answers of a model out."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Annotated

from tagline.cli.arguments import argument, option
from tagline.cli.options import Encoding, Lenient, Ray, Threads, Tokenizer, Workers, use_threads
from tagline.cli.speech import say
from tagline.errors import InputError
from tagline.messages import message
from tagline.settings import FILLED, READ

READING, ASKING, WRITING = message("Reading"), message("Questions"), message("Writing")


def command(
    model: Annotated[
        str | None, option("-m", "--model", help="A model; with --url, its name at the service.", file=READ)
    ] = None,
    files: Annotated[
        list[str] | None, argument(help="Files, .gz or not; - or none for standard input.", file=READ)
    ] = None,
    form: Annotated[
        str | None,
        option(
            "--format",
            help="columns (a token a line), jsonl, text (a sentence a line) or words (segmented text); by the file's "
            "name and its look.",
            panel=READING,
        ),
    ] = None,
    split: Annotated[bool, option("--split", help="Split lines of raw text into sentences.", panel=READING)] = False,
    tokenizer: Tokenizer = "auto",
    encoding: Encoding = "auto",
    docstart: Annotated[
        bool, option("--docstart", help="Leave out -DOCSTART- lines of columns.", panel=READING)
    ] = False,
    documents: Annotated[
        str | None,
        option(
            help="Where documents are, for a model that reads them: a column, by name, or a file with the number of "
            "sentences of each. Left out: -DOCSTART- begins one.",
            panel=READING,
            file=READ,
        ),
    ] = None,
    comment: Annotated[str, option(help="Leave out lines of columns that begin with this.", panel=READING)] = "",
    lenient: Lenient = False,
    marginals: Annotated[bool, option("--marginals", help="Add the probability of each tag.", panel=ASKING)] = False,
    k_best: Annotated[
        int, option("-k", "--k-best", help="So many labellings with their probabilities.", panel=ASKING)
    ] = 0,
    spans: Annotated[
        bool,
        option(
            "--spans",
            help="Entities with their exact probabilities; in columns, a table of them.",
            panel=ASKING,
        ),
    ] = False,
    min_probability: Annotated[float, option(help="With --spans: leave out those below.", panel=ASKING)] = 0.0,
    output: Annotated[
        str | None,
        option(
            "-o",
            "--output",
            help="A file; for several inputs a folder, with a file for each. Left out: standard output.",
            panel=WRITING,
            file=FILLED,
        ),
    ] = None,
    shape: Annotated[
        str | None,
        option(
            "--as",
            help="columns, jsonl, brackets, html, words (with blanks between them), conllu or spans-csv; left out: "
            "jsonl for .jsonl files, else columns.",
            panel=WRITING,
        ),
    ] = None,
    url: Annotated[
        str | None,
        option(help="Ask a service, such as http://127.0.0.1:8000; TAGLINE_TOKEN has its token.", panel=ASKING),
    ] = None,
    quiet: Annotated[bool, option("-q", "--quiet", help="No progress on the terminal.")] = False,
    threads: Threads = None,
    ray: Ray = None,
    workers: Workers = None,
) -> None:
    """Tag sentences with a model; answers go to stdout, or to files.

    Columns come out as they came in, with the tag behind them. Columns that the model does not look at, such as the
    right tags, are kept, so that tagline eval can read the last two. Standard input is answered sentence by sentence.
    What comes before a broken sentence is written; --lenient leaves broken ones out, and counts them. --ray tags
    files in many processes or on many machines, goes on where it was stopped, and puts broken sentences aside.

    \b
    Examples:
      tagline tag -m model.tagline test.txt | tagline eval -
      echo "Anna Smith lives in Rome." | tagline tag -m model.tagline --format text --as brackets
      tagline tag -m model.tagline --format text --spans --as jsonl news.txt -o news.jsonl
      tagline tag -m model.tagline corpus/*.txt -o tagged/
      tagline tag -m model.tagline corpus/ -o tagged/ --ray
    """
    from tagline.cli.meter import Meter
    from tagline.cli.tagging import (
        OUTPUTS,
        Listener,
        Questions,
        Source,
        load_tagger,
        output_for,
        remote_tagger,
        tag_stream,
    )
    from tagline.cli.targets import targets_of, write_answers
    from tagline.readers.sources import files_named
    from tagline.readers.tabular import is_csv

    use_threads(threads)
    if model is None and url is None:
        raise InputError("-m: expected a model, got none; give -m model.tagline, or --url of a service")
    if url is None and files and all(is_csv(path, form) for path in files):
        from tagline.cli.table_tagging import tag_tables

        for target, inputs in targets_of(output, files, "spans-csv", {"--model": model}):
            write_answers(target, tag_tables(str(model), inputs, marginals=marginals, form=form, encoding=encoding))
        return
    if output in OUTPUTS and shape is None:
        say(message("-o names a file now; {0} was taken as --as {0}", output), err=True)
        output, shape = None, output
    questions = Questions(shape, marginals, k_best, spans, min_probability)
    source = Source(form, tokenizer, encoding, comment, docstart, split=split, documents=documents)
    paths = files_named(files or ["-"])
    if documents is not None and (len(paths) > 1 or url is not None or ray is not None):
        raise InputError("--documents: expected one input and a model file, got several inputs, a service or --ray")
    if ray is not None:
        if url is not None:
            raise InputError("--ray, --url: expected one of them, got both")
        from tagline.cli.sharding import tag_shards

        tag_shards(str(model), paths, output, questions, source, address=ray, workers=workers, quiet=quiet)
        return
    questions = replace(questions, output=output_for(paths, source, questions))  # one form for all, as --ray has it
    read = {"--model": None if url else model, "--documents": documents}
    targets = targets_of(output, paths, str(questions.output), read)
    loaded = load_tagger(str(model)) if url is None else remote_tagger(url, model)
    if url is not None:
        source = replace(source, auto=loaded.tokenizer)  # type: ignore[attr-defined]
    gc.freeze()  # what is loaded stays: the collector need not look at it again, which saves a tenth of the time
    with Meter(paths, shown=not quiet and (output is not None or not Meter.is_terminal())) as meter:
        skip = meter.skip if lenient else None
        listener = Listener(meter.say, skip, meter.position, meter.sentences)
        for target, inputs in targets:
            meter.begin(inputs)
            write_answers(target, tag_stream(loaded, inputs, questions, source, listener))
            if target is not None and not quiet:
                meter.say(message("wrote {}", target))
    if meter.skipped:
        several = message("skipped {} broken sentences", meter.skipped)
        say(several if meter.skipped > 1 else message("skipped 1 broken sentence"), err=True)
