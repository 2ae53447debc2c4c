"""How fast and how good is the feature CRF? Tagline against python-crfsuite on CoNLL-2000, and scores on its tasks.

    python benchmarks/crf.py                          all tables
    python benchmarks/crf.py speed --quick            a tenth of the data, one run of each: does everything work?
    python benchmarks/crf.py speed --only sparse dense
    python benchmarks/crf.py speed --only scale --plot docs/images/crf-scaling.png
    python benchmarks/crf.py quality --only pos
    python benchmarks/crf.py quality --only pos --dev --set c2=0.3      choose settings on held-out training sentences
    python benchmarks/crf.py knowledge --only conll2003                 with clusters, vectors, mentions, two stages
    python benchmarks/crf.py kinds --only crf memm maxent semicrf       the other models with features

Speed: the same template, objective and penalty (c2 = 1) for both; each measure in a fresh process, ours and the rival's
in turn. Before a time is printed both must have the same number of weights and the same objective at w = 0; at the
rival's weights our objective must be the loss of its log, and our decoder must give its labels; what we call optimal is
computed again in float64. An iteration of the rival is taken from its own log (CPU seconds). Evaluations and iterations
are compared by CPU seconds of one thread, what runs on two threads by the wall clock.

Reading files, extracting and saving count where a row says file; imports never do.

Tables go to stdout, progress to stderr. The exit status is 1 where sides disagree, a measure fails or a bar is missed.

The corpora are looked for in TAGLINE_DATA, else in ../shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import timing
from feature_crf import further, quality, scale, tagging, training
from feature_crf.bench import QUICK, Bench, Neighbours, Plan, bench, rows_of, say
from feature_crf.children import ChildError
from feature_crf.tables import HEAD, Row, markdown

import tagline
from tagline import compiled

GROUPS: dict[str, Callable[[Bench], list[Row]]] = {
    "sparse": training.sparse,
    "dense": training.dense,
    "pos44": training.pos,
    "tagging": tagging.tagging,
    "items": tagging.items,
    "scale": scale.rows,
}
PACKAGES = ("numpy", "python-crfsuite", "scikit-learn")


def speed_table(run: Bench, names: Sequence[str]) -> tuple[str, bool]:
    """Measure groups and lay out their rows; False where one fails or misses a bar."""
    rows: list[Row] = []
    good = True
    for name in names:
        measured, went_well = rows_of(name, GROUPS[name], run)
        rows += measured
        good &= went_well and all(row.met is not False for row in measured)
    return markdown(HEAD, [row.cells() for row in rows]), good


def quality_table(run: Bench, names: Sequence[str], dev: bool, changes: Mapping[str, Any]) -> tuple[str, bool]:
    """Train and score tasks and lay out their rows."""
    rows, good = [], True
    for name in names:
        try:
            rows.append(quality.row(run, name, dev, changes))
            good &= "**no**" not in rows[-1]
        except ChildError as error:
            say(str(error))
            rows.append([name, f"failed: {error}", *[""] * (len(quality.HEAD) - 2)])
            good = False
    return markdown(quality.HEAD, rows), good


def further_table(run: Bench, group: str, names: Sequence[str], dev: bool) -> tuple[str, bool]:
    """Train and score the tasks of a group beside the quality table."""
    rows, good = [], True
    for name in names:
        try:
            rows += further.rows(run, group, name, dev)
        except ChildError as error:
            say(str(error))
            rows.append([name, f"failed: {error}", *[""] * (len(further.HEAD) - 2)])
            good = False
    return markdown(further.HEAD, rows), good and not any("**no**" in row for row in rows)


def facts(plan: Plan) -> str:
    """What the numbers were measured on and with."""
    versions = f"tagline {tagline.__version__} ({compiled.cpu()}), {timing.versions(PACKAGES)}"
    quick = " A quick run: a tenth of the data, no bars." if plan.quick else ""
    return f"{timing.machine()}; {versions}; {plan.rounds} rounds.{quick}"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = {"speed": list(GROUPS), "quality": list(quality.TASKS), **{k: list(v) for k, v in further.GROUPS.items()}}
    parser.add_argument("what", nargs="*", help=f"{', '.join(names)} (default all)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=", ".join(chain.from_iterable(names.values())))
    parser.add_argument("--quick", action="store_true", help="a smoke test: a tenth of the data, one round")
    parser.add_argument("--rounds", type=int, help="processes of each measure (default 3)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw tokens, labels and threads against seconds")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the tables there, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    parser.add_argument("--dev", action="store_true", help="quality, knowledge, kinds: score training sentences")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="quality: another setting")
    options = parser.parse_args(arguments)
    for name in options.what:
        if name not in names:
            parser.error(f"expected {', '.join(names)}, got {name!r}")
    options.what = options.what or list(names)
    known = [name for what in options.what for name in names[what]]
    for name in options.only or ():
        if name not in known:
            parser.error(f"--only: expected some of {', '.join(known)}, got {name!r}")
    options.names = {what: [name for name in names[what] if not options.only or name in options.only] for what in names}
    if options.plot and ("speed" not in options.what or "scale" not in options.names["speed"]):
        parser.error("--plot: expected the speed group scale among what is run, got others only")
    if set(options.names["speed"]) - {"scale"} and "speed" in options.what and find_spec("pycrfsuite") is None:
        parser.error(
            "expected python-crfsuite, got no module pycrfsuite; install it with: pip install 'tagline[bench]'"
        )
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    options = parse(arguments)
    plan = QUICK if options.quick else Plan()
    plan = replace(plan, rounds=options.rounds) if options.rounds else plan
    neighbours, good, parts = Neighbours(), True, [facts(plan)]
    print(parts[0], flush=True)
    with bench(plan) as run:
        for what in options.what:
            names = options.names[what]
            if not names:
                continue
            if what == "speed":
                table, fine = speed_table(run, names)
            elif what in further.GROUPS:
                table, fine = further_table(run, what, names, options.dev)
            else:
                table, fine = quality_table(run, names, options.dev, quality.changes_of(options.set))
            good &= fine
            parts.append(f"## {what.capitalize()}\n\n{table}")
            print(f"\n{parts[-1]}", flush=True)
        if options.plot and "tokens" in run.shared:
            scale.curves(run)
            scale.draw(run, options.plot)
        if options.json:
            options.json.write_text(json.dumps(run.records, indent=1) + "\n", encoding="utf-8")
    parts.append(f"{neighbours}.")
    print(f"\n{parts[-1]}")
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
