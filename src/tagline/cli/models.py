"""The commands that make and use models: train, tag, inspect, explain. What they do is imported when they run."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Annotated

import typer

from tagline.cli.kinds import KINDS, advice

DATA, MODEL, DESCENT, TELL = "Data", "Model", "Training", "Messages"

ModelFile = Annotated[str, typer.Option("-m", "--model", help="A model that tagline train wrote.")]
Encoding = Annotated[str, typer.Option(help="Of the input; what is written is UTF-8.", rich_help_panel=DATA)]


def train(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="TRAIN", help="Labelled sentences: columns with the tag last, .jsonl, .conllu; .gz of each."
        ),
    ],
    output: Annotated[str, typer.Option("-o", "--output", help="The model to write.")],
    model: Annotated[str, typer.Option("--model", help=f"What to train: {', '.join(KINDS)}; see above.")] = "crf",
    template: Annotated[
        str | None,
        typer.Option(
            "-t",
            "--template",
            help="A CRF++ template, or a ready-made set: english_ner, chinese_ner, chunking, pos, segmentation. "
            "Left out: the set that suits the data.",
        ),
    ] = None,
    dev: Annotated[
        str | None, typer.Option(help="Labelled sentences to score after each pass; the best weights are kept.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help="columns, jsonl or conllu; by the file's name if left out.", rich_help_panel=DATA
        ),
    ] = None,
    tag_column: Annotated[
        str | None,
        typer.Option(
            help="The column to learn, a number from 0 or a name; the last if left out. Columns before it are "
            "features, those behind it are left out.",
            rich_help_panel=DATA,
        ),
    ] = None,
    tokens: Annotated[
        str,
        typer.Option(help="How texts of JSON lines are cut: words, characters or whitespace.", rich_help_panel=DATA),
    ] = "words",
    encoding: Encoding = "utf-8",
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip broken sentences and report them.", rich_help_panel=DATA)
    ] = False,
    cache: Annotated[
        str | None,
        typer.Option(
            help="A folder for compiled training data, which need not fit into memory then.", rich_help_panel=DATA
        ),
    ] = None,
    scheme: Annotated[
        str,
        typer.Option(
            help="The tag scheme whose rules hold: IOB1, IOB2, BIOES, BMES …; auto detects it, none is no rules.",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    on_illegal: Annotated[
        str,
        typer.Option(help="Tags that break the rules: repair, drop the sentence, or error.", rich_help_panel=MODEL),
    ] = "repair",
    min_frequency: Annotated[int, typer.Option(help="Leave out attributes that are rarer.", rich_help_panel=MODEL)] = 1,
    all_possible_states: Annotated[
        bool,
        typer.Option(
            "--all-possible-states",
            help="Weights for attributes with labels never seen together.",
            rich_help_panel=MODEL,
        ),
    ] = False,
    all_possible_transitions: Annotated[
        bool,
        typer.Option(
            "--all-possible-transitions", help="Weights for label pairs that were never seen.", rich_help_panel=MODEL
        ),
    ] = False,
    start_end: Annotated[
        bool,
        typer.Option("--start-end", help="Weights for the first and the last label.", rich_help_panel=MODEL),
    ] = False,
    label_weights: Annotated[
        str | None,
        typer.Option(
            help="How much sentences with a label count: balanced, or B-PER=2,B-LOC=0.5.", rich_help_panel=MODEL
        ),
    ] = None,
    hash_bits: Annotated[
        int | None,
        typer.Option(help="Number attributes by so many bits of a hash and keep no names.", rich_help_panel=MODEL),
    ] = None,
    smoothing: Annotated[
        str,
        typer.Option(help="Of an HMM's counts: add-k, witten-bell or dirichlet (no prior).", rich_help_panel=MODEL),
    ] = "add-k",
    add_k: Annotated[float, typer.Option(help="Pseudo-count of --smoothing add-k.", rich_help_panel=MODEL)] = 0.1,
    unknown: Annotated[
        str, typer.Option(help="Words that an HMM never saw: smooth, or error.", rich_help_panel=MODEL)
    ] = "smooth",
    algorithm: Annotated[
        str,
        typer.Option(
            "-a",
            "--algorithm",
            help="auto (stochastic passes, then L-BFGS), lbfgs, owlqn, sgd, gd, ap, pa, arow.",
            rich_help_panel=DESCENT,
        ),
    ] = "auto",
    c1: Annotated[float, typer.Option(help="Penalty c1·Σ|w|; makes weights 0.", rich_help_panel=DESCENT)] = 0.0,
    c2: Annotated[float, typer.Option(help="Penalty c2·Σw²; CRF++'s -c C is 1/(2C).", rich_help_panel=DESCENT)] = 1.0,
    max_iterations: Annotated[
        int | None, typer.Option(help="Passes at most; no limit if left out.", rich_help_panel=DESCENT)
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(help="Stop after this time and keep what there is.", rich_help_panel=DESCENT)
    ] = None,
    patience: Annotated[
        int,
        typer.Option(
            help="With --dev: stop after so many passes without a better score; 0 never.", rich_help_panel=DESCENT
        ),
    ] = 10,
    passes: Annotated[
        int | None,
        typer.Option(help="Of stochastic and online algorithms; by default their own.", rich_help_panel=DESCENT),
    ] = None,
    epsilon: Annotated[
        float, typer.Option(help="Converged where ‖gradient‖ / max(1, ‖w‖) is below.", rich_help_panel=DESCENT)
    ] = 1e-5,
    delta: Annotated[
        float,
        typer.Option(help="Converged where the objective changes by less in --period passes.", rich_help_panel=DESCENT),
    ] = 1e-5,
    period: Annotated[int, typer.Option(help="Passes for --delta.", rich_help_panel=DESCENT)] = 10,
    seed: Annotated[int, typer.Option(help="Of the order of sentences.", rich_help_panel=DESCENT)] = 0,
    threads: Annotated[
        int | None, typer.Option(help="By default TAGLINE_THREADS or one a core.", rich_help_panel=DESCENT)
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Tell nothing.", rich_help_panel=TELL)] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="A line for every pass.", rich_help_panel=TELL)
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the facts as JSON to stdout.", rich_help_panel=TELL)
    ] = False,
) -> None:
    """Train a model, from labelled sentences to a file.

    Ctrl-C ends training early: what was learned so far is saved, and the exit code is 130.

    \b
    Examples:
      tagline train train.txt -o model.tagline
      tagline train train.txt -o model.tagline --dev dev.txt --template my.template --c2 0.1
      tagline train train.txt -o model.tagline --model hmm --smoothing witten-bell
      tagline train huge.txt.gz -o model.tagline --cache /tmp/compiled --hash-bits 22
    """
    from tagline import compiled
    from tagline.cli.kinds import settings_for
    from tagline.cli.labelled import Source
    from tagline.cli.outcome import report_lines
    from tagline.cli.progress import Limits, reporting
    from tagline.cli.settings import label_weights_of, most_passes
    from tagline.cli.train import Plan, train_file

    if threads is not None:
        compiled.set_threads(threads, "--threads")
    values = {
        "template": template,
        "cache": cache,
        "scheme": None if scheme.lower() == "none" else scheme,
        "on_illegal": on_illegal,
        "min_frequency": min_frequency,
        "all_possible_states": all_possible_states,
        "all_possible_transitions": all_possible_transitions,
        "start_end": start_end,
        "label_weights": label_weights_of(label_weights),
        "hash_bits": hash_bits,
        "algorithm": algorithm,
        "c1": c1,
        "c2": c2,
        "max_iterations": max_iterations,
        "max_seconds": max_seconds,
        "patience": patience if dev is not None and patience != 0 else None,
        "passes": passes,
        "epsilon": epsilon,
        "delta": delta,
        "period": period,
        "random_state": seed,
        "smoothing": smoothing,
        "k": add_k,
        "unknown": unknown,
    }
    settings = settings_for(model, values, _given(context))
    source = Source(form, tag_column, tokens, encoding, lenient)
    used = settings.pop("template", None), settings.pop("cache", None)
    plan = Plan(file, output, used[0], dev, source, settings, used[1], model)
    limits = Limits(most_passes(algorithm, max_iterations, passes), max_seconds, period, delta)
    try:
        with reporting(limits, quiet=quiet, verbose=verbose) as tell:
            done = train_file(plan, tell)
            tell.finish()
            for line in report_lines(done):
                tell.say(line)
    except KeyboardInterrupt:
        typer.echo(f"interrupted before there was anything to save; {output} was not written", err=True)
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(done.as_dict(), ensure_ascii=False, indent=2))
    if done.interrupted:
        raise typer.Exit(130)


train.__doc__ = f"{train.__doc__}\n    \b\n    Models:\n{advice()}"


def _given(context: typer.Context) -> list[str]:
    """The parameters whose options stand on the command line."""
    named = {"seed": "random_state", "add_k": "k"}
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = (name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE")
    return [named.get(name, name) for name in given]


def tag(
    model: ModelFile,
    files: Annotated[list[str] | None, typer.Argument(help="Files, .gz or not; - or none for standard input.")] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", help="columns, jsonl or text (a sentence a line); by the file's name, else columns."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="columns, jsonl, brackets or html; left out: jsonl for .jsonl files, else columns."
        ),
    ] = None,
    marginals: Annotated[bool, typer.Option("--marginals", help="Add the probability of each tag.")] = False,
    k_best: Annotated[int, typer.Option("-k", "--k-best", help="So many labellings with their probabilities.")] = 0,
    spans: Annotated[
        bool,
        typer.Option("--spans", help="Entities with their exact probabilities; in columns, a table of them."),
    ] = False,
    min_probability: Annotated[float, typer.Option(help="With --spans: leave out those below.")] = 0.0,
    tokens: Annotated[
        str,
        typer.Option(help="How text is cut: words, characters, whitespace; auto as the model's tokens were."),
    ] = "auto",
    encoding: Encoding = "utf-8",
    threads: Annotated[int | None, typer.Option(help="By default TAGLINE_THREADS or one a core.")] = None,
) -> None:
    """Tag sentences with a model; answers go to stdout.

    Columns come out as they came in, with the tag behind them. Columns that the model does not look at, such as the
    right tags, are kept, so that tagline eval can read the last two. Standard input is answered sentence by sentence.

    \b
    Examples:
      tagline tag -m model.tagline test.txt | tagline eval -
      echo "Anna Smith lives in Rome." | tagline tag -m model.tagline --format text -o brackets
      tagline tag -m model.tagline --format text --spans -o jsonl < news.txt
    """
    from tagline import compiled
    from tagline.cli.tag import Questions, load_tagger, tag_stream

    if threads is not None:
        compiled.set_threads(threads, "--threads")
    questions = Questions(output, marginals, k_best, spans, min_probability)
    loaded = load_tagger(model)
    told = partial(typer.echo, err=True)
    for text in tag_stream(loaded, files or ["-"], questions, form=form, tokens=tokens, encoding=encoding, notice=told):
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()


def inspect(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that tagline train wrote.")],
    top: Annotated[int, typer.Option(help="Features of each label, and transitions, to show.")] = 5,
    label: Annotated[str | None, typer.Option(help="Features of this label only.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    weights: Annotated[
        str | None, typer.Option(help="Write all weights to this file: .csv, or .jsonl for JSON lines.")
    ] = None,
    plot: Annotated[str | None, typer.Option(help="Draw the transitions into this PNG file; needs matplotlib.")] = None,
) -> None:
    """Show what a model has learned: labels, counts, the heaviest features and transitions, how it was trained.

    Of an HMM: what each tag emits most often, and which tag follows which, with their probabilities.

    \b
    Examples:
      tagline inspect model.tagline --top 10 --label B-PER
      tagline inspect model.tagline --weights weights.csv --plot transitions.png
    """
    from tagline.cli.inspect import table_of, view
    from tagline.models.loading import load

    loaded = load(model)
    seen = view(loaded, top, label)
    typer.echo(json.dumps(seen.as_dict(), ensure_ascii=False, indent=2) if as_json else seen.text().rstrip("\n"))
    if weights is not None:
        table_of(loaded, "--weights").write_weights(weights)
        typer.echo(f"wrote {weights}", err=True)
    if plot is not None:
        table_of(loaded, "--plot").plot_transitions(plot)
        typer.echo(f"wrote {plot}", err=True)


def explain(
    sentence: Annotated[
        str, typer.Argument(help="A sentence; word/column1/… where the model looks at several columns.")
    ],
    model: ModelFile,
    token: Annotated[str | None, typer.Option(help="This token only: the word, or its number from 0.")] = None,
    most: Annotated[int, typer.Option(help="Reasons for each token.")] = 5,
    tokens: Annotated[
        str,
        typer.Option(help="How text is cut: words, characters, whitespace; auto as the model's tokens were."),
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Say why each token got its tag and not the runner-up: what spoke for it (+) and against it (−).

    \b
    Example:
      tagline explain -m model.tagline "Anna Smith lives in Rome." --token Rome
    """
    from tagline.cli.explain import explain_text, legend, only
    from tagline.cli.tag import load_tagger
    from tagline.errors import InputError

    if most < 0:
        raise InputError(f"--most: expected 0 or more, got {most}")
    loaded = load_tagger(model)
    explanation = explain_text(loaded, sentence, tokens)
    if token is not None:
        explanation = only(explanation, token)
    if as_json:
        typer.echo(json.dumps(explanation.as_dict(), ensure_ascii=False, indent=2))
    else:
        typer.echo(explanation.text(most), nl=False)
        for line in legend(getattr(loaded, "features", None), explanation, most):
            typer.echo(line)
