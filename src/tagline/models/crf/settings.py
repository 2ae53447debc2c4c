"""What `CRF` was told, checked before anything is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagline.checks import check_functions, check_number, check_switch, check_verbose, check_whole, seed_of, shown_value
from tagline.errors import InputError
from tagline.features.templates.word_functions import MOST_MENTIONS
from tagline.models.crf.file import MOST_PRUNED
from tagline.models.labelled import check_labelling_settings
from tagline.training.algorithms import ALGORITHMS, Settings, check_settings

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF

SECOND_ORDER = ("auto", "lbfgs", "owlqn", "sgd", "gd")  # algorithms that learn label triples
SWITCHES = ("all_possible_states", "all_possible_transitions", "start_end", "warm_start")


def check_crf(crf: CRF) -> None:
    """Raise where a setting is of a wrong kind; `Extraction` checks `features`, `hash_bits` and `dictionary`."""
    check_settings(settings_of(crf))
    check_whole("stages", crf.stages, 1, 2, wanted="1 or 2")
    check_whole("mentions", crf.mentions, 0, MOST_MENTIONS, wanted=f"0 to {MOST_MENTIONS}")
    _check_order(crf)
    _check_kind(crf)
    check_labelling_settings(crf.scheme, crf.on_illegal, crf.label_weights)
    check_number("min_frequency", crf.min_frequency, least=0)
    check_number("min_feature_frequency", crf.min_feature_frequency, least=0)
    for name in SWITCHES:
        check_switch(name, getattr(crf, name))
    _check_cut(crf)
    if crf.stages == 2 and crf.warm_start:
        raise InputError("warm_start: expected False beside stages=2, got True; both stages are learned anew")
    if crf.stages == 2 and crf.dictionary is not None and crf.dictionary.priority == "feature":
        raise InputError('dictionary: expected priority "over" or "under" beside stages=2, got "feature"')
    check_number("vector_scale", crf.vector_scale, wanted="a finite number")
    check_number("epsilon", crf.epsilon, least=0, finite=False, wanted="0 or more")
    check_number("delta", crf.delta, least=0, finite=False, wanted="0 or more")
    _check_tolerance(crf)
    check_number("max_seconds", crf.max_seconds, least=0, finite=False, optional=True, wanted="0 or more")
    check_whole("period", crf.period, 0, wanted="0 or more")
    check_whole("max_iterations", crf.max_iterations, 0, optional=True, wanted="0 or more")
    check_whole("patience", crf.patience, 1, optional=True, wanted="1 or more")
    check_functions("callbacks", crf.callbacks)
    check_verbose(crf.verbose)


def _check_kind(crf: CRF) -> None:
    """Refuse what a model that is normalised at each token does not have."""
    name = type(crf).__name__
    if crf.algorithm not in crf.algorithms:
        raise InputError(
            f"algorithm: expected one of {', '.join(crf.algorithms)} for {name}, got {crf.algorithm!r}, which learns "
            "whole labellings; use a CRF for it"
        )
    if crf.local and crf.stages != 1:
        raise InputError(f"stages: expected 1 for {name}, got {shown_value(crf.stages)}; a CRF has two stages")
    if crf.chained:
        return
    pairs = {"all_possible_transitions": False, "edge_pairs": "observed"}
    for setting, default in pairs.items():
        if (value := getattr(crf, setting)) is not default and not (isinstance(value, str) and value == default):
            raise InputError(
                f"{setting}: expected {default!r} for {name}, whose labels do not see each other, got "
                f"{shown_value(value)}; MEMM and CRF have transitions"
            )


def _check_order(crf: CRF) -> None:
    """Refuse what a second-order model does not have, and pruning without one."""
    check_whole("order", crf.order, 1, 2, wanted="1 or 2")
    check_number("prune", crf.prune, least=0, most=MOST_PRUNED, optional=True, wanted="a number from 0 to 0.5, or None")
    if crf.order == 1:
        if crf.prune:
            raise InputError(
                f"prune: expected None with order=1, got {shown_value(crf.prune)}; models with order=2 are pruned"
            )
        return
    if crf.local:
        raise InputError(f"order: expected 1 for {type(crf).__name__}, got 2; a CRF has label triples")
    if crf.algorithm not in SECOND_ORDER:
        raise InputError(
            f"algorithm: expected one of {', '.join(SECOND_ORDER)} with order=2, got {crf.algorithm!r}, which does not "
            "learn label triples"
        )
    if crf.warm_start:
        raise InputError("warm_start: expected False with order=2, got True; label triples are learned anew")


def _check_tolerance(crf: CRF) -> None:
    """Refuse a tolerance where nothing can be proven."""
    check_number("tolerance", crf.tolerance, above=0, optional=True)
    if crf.tolerance is None:
        return
    if not ALGORITHMS[crf.algorithm].proves:
        able = ", ".join(name for name, algorithm in ALGORITHMS.items() if algorithm.proves)
        raise InputError(
            f"tolerance: expected None for {crf.algorithm}, whose passes know no gradient of the whole objective, got "
            f"{shown_value(crf.tolerance)}; algorithms that prove how far the optimum is: {able}"
        )
    if not crf.c2 > 0:
        raise InputError(
            f"tolerance: expected None beside c2=0, got {shown_value(crf.tolerance)}: without the penalty c2 nothing "
            "is proven about the optimum; raise c2, or stop by epsilon and delta"
        )


def _check_cut(crf: CRF) -> None:
    """Refuse a cut by frequency beside settings that ask for features that no sentence shows."""
    asked = [name for name in ("all_possible_states", "all_possible_transitions") if getattr(crf, name)]
    if isinstance(crf.edge_pairs, str) and crf.edge_pairs == "all":
        asked.append('edge_pairs="all"')
    if crf.min_feature_frequency > 0 and asked:
        raise InputError(
            f"min_feature_frequency: expected 0 beside {asked[0]}, got {shown_value(crf.min_feature_frequency)}: a "
            "feature that was never seen has frequency 0; leave one of the two out"
        )


def settings_of(crf: CRF) -> Settings:
    """Return how a new model is trained."""
    return Settings(
        crf.algorithm, crf.c1, crf.c2, crf.memory, crf.passes, seed_of(crf.random_state), crf.precision, crf.options
    )
