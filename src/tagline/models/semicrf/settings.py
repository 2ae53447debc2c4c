"""What `SemiCRF` was told, checked before anything is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagline.checks import check_functions, check_number, check_verbose, check_whole, seed_of, shown_value
from tagline.errors import InputError
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.models.labelled import check_labelling_settings
from tagline.models.semicrf.attributes import check_kinds
from tagline.training.algorithms import MOST_MEMORY

if TYPE_CHECKING:
    from tagline.models.semicrf.estimator import SemiCRF

MOST_TOKENS = 1000  # of a segment: tables have a column for each length


def check_semicrf(model: SemiCRF) -> None:
    """Raise where a setting is of a wrong kind; `Extraction` checks `features`."""
    check_kinds(model.segment_features)
    check_whole("max_length", model.max_length, 1, MOST_TOKENS, optional=True, wanted=f"1 to {MOST_TOKENS}")
    for name in ("c1", "c2"):
        check_number(name, getattr(model, name), least=0, wanted="a number of 0 or more")
    check_labelling_settings(model.scheme, model.on_illegal, model.label_weights)
    if model.scheme is None or str(model.scheme).lower() == "none":
        got = shown_value(model.scheme)
        raise InputError(f'scheme: expected "auto" or the name of a tag scheme, got {got}; segments are read from tags')
    for name in ("min_frequency", "min_segment_frequency"):
        check_number(name, getattr(model, name), least=0)
    dictionary = model.dictionary
    if dictionary is not None and (not isinstance(dictionary, Dictionary) or dictionary.priority != "feature"):
        raise InputError(
            f'dictionary: expected a Dictionary of priority "feature" or None, got {shown_value(dictionary)}'
        )
    for name in ("epsilon", "delta"):
        check_number(name, getattr(model, name), least=0, finite=False, wanted="0 or more")
    check_number("max_seconds", model.max_seconds, least=0, finite=False, optional=True, wanted="0 or more")
    check_whole("period", model.period, 0, wanted="0 or more")
    check_whole("max_iterations", model.max_iterations, 0, optional=True, wanted="0 or more")
    check_whole("patience", model.patience, 1, optional=True, wanted="1 or more")
    check_whole("memory", model.memory, 1, MOST_MEMORY, wanted=f"at least one step and at most {MOST_MEMORY}")
    seed_of(model.random_state)
    check_functions("callbacks", model.callbacks)
    check_verbose(model.verbose)
