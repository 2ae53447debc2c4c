"""The command that makes models: `tagline train`, its options and its help. What it does is imported when it runs."""

from __future__ import annotations

import json
import os
from typing import Annotated

import typer

from tagline.cli.kinds import KINDS, advice

DATA, MODEL, NETWORK, DESCENT, TELL = "Data", "Model", "Networks: bilstm, transformer", "Training", "Messages"

Encoding = Annotated[str, typer.Option(help="Of the input; what is written is UTF-8.", rich_help_panel=DATA)]


def use_threads(count: int | None) -> None:
    """Let the core and PyTorch work with so many threads; None for as many as they choose."""
    from tagline import compiled

    # Threads of PyTorch that wait for one another burn the time of those that work: on two cores that others use, too,
    # an epoch takes seven times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if count is not None:
        compiled.set_threads(count, "--threads")
        os.environ["OMP_NUM_THREADS"] = str(count)  # PyTorch reads it when it is loaded


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
    embeddings: Annotated[
        str | None,
        typer.Option(
            help="Word vectors for bilstm: GloVe, word2vec or fastText as text, .gz or not, or a folder with a "
            "pretrained encoder, whose vectors are taken.",
            rich_help_panel=NETWORK,
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="For transformer: a folder with a pretrained encoder, or its name on the Hugging Face hub.",
            rich_help_panel=NETWORK,
        ),
    ] = None,
    hidden: Annotated[
        int | None, typer.Option(help="Size of the LSTM in each direction; 200.", rich_help_panel=NETWORK)
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(help="crf, or softmax, which decides on each token by itself; crf.", rich_help_panel=NETWORK),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes at most; 30 for bilstm, 5 for transformer.", rich_help_panel=NETWORK)
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(help="Sentences of a step; 16 for bilstm, 32 for transformer.", rich_help_panel=NETWORK),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="The highest; 2e-3 for bilstm, 5e-5 for transformer.", rich_help_panel=NETWORK),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="cpu, cuda, cuda:1 …; a GPU where there is one.", rich_help_panel=NETWORK),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            help="A TOML file with these and all other settings of a network, by their names in Python; options win "
            "over it. The whole configuration is saved beside the model.",
            rich_help_panel=NETWORK,
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="A file for the state of training, written after each epoch.", rich_help_panel=NETWORK),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from --checkpoint, if it is there.", rich_help_panel=NETWORK),
    ] = False,
    log: Annotated[
        str | None, typer.Option(help="Add a line of JSON to this file after each epoch.", rich_help_panel=NETWORK)
    ] = None,
    tensorboard: Annotated[
        str | None, typer.Option(help="A folder for TensorBoard, which must be installed.", rich_help_panel=NETWORK)
    ] = None,
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
      tagline train train.txt -o model.tagline --model bilstm --dev dev.txt --embeddings glove.txt.gz
      tagline train train.txt -o model.tagline --dev dev.txt --config other.toml --epochs 10
    """
    from tagline.cli.networks import speaks
    from tagline.cli.outcome import report_lines
    from tagline.cli.plans import plan_of
    from tagline.cli.progress import reporting
    from tagline.cli.settings import label_weights_of
    from tagline.cli.train import train_file
    from tagline.errors import InputError
    from tagline.readers.labelled import LabelledFiles

    use_threads(threads)
    given = _given(context)
    if dev is None and patience and "patience" in given:
        raise InputError("--patience: expected --dev FILE, whose score it waits for, got none")
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
        "embeddings": embeddings,
        "encoder": encoder,
        "hidden": hidden,
        "head": head,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "device": device,
        "config": config,
        "checkpoint": checkpoint,
        "resume": resume,
        "log": log,
        "tensorboard": tensorboard,
    }
    source = LabelledFiles(form, tag_column, tokens, encoding, lenient)
    plan = plan_of(file, output, model, values, given, dev=dev, source=source)
    try:
        with reporting(plan.limits, quiet=quiet or not speaks(), verbose=verbose) as tell:
            done = train_file(plan, tell)
            tell.finish()
            for line in report_lines(done) if speaks() else ():
                tell.say(line)
    except KeyboardInterrupt:
        kept = plan.run.checkpoint is not None and os.path.exists(plan.run.checkpoint)
        left = f"; --checkpoint {plan.run.checkpoint} --resume goes on" if kept else ""
        typer.echo(f"interrupted, nothing was saved: {output} was not written{left}", err=True)
        raise typer.Exit(130) from None
    if as_json and speaks():
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
