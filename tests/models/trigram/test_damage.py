"""Damaged files of trigram taggers: every truncation and every flipped bit is refused by our own error, or harmless.

The checksum is switched off, so that everything behind it has to hold. Only NumPy and the core are needed: the test
also runs on the sanitized core.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tagline import storage
from tagline.errors import StorageError, TaglineError
from tagline.models.files import TrainingFacts, facts_of, settings_of
from tagline.models.trigram.file import pack, unpack
from tagline.models.trigram.parameters import TaggedCounts, TaggedWords, TrigramParameters, learn

WORDS = ["Anna", "sees", "the", "cats"]
ASKED = ["Anna", "seas", "Cats", "é", ""]


def small_model() -> TrigramParameters:
    ids, tags = np.array([0, 1, 2, 3, 2, 3, 1]), np.array([1, 2, 0, 1, 0, 2, 2])
    data = TaggedWords(WORDS, ids, tags, np.array([0, 4, 7]))
    return learn(TaggedCounts.of(data, 3, True), ["D", "N", "V"], rare=10, longest=3, ratio=1e3)


def packed() -> tuple[dict[str, Any], dict[str, Any]]:
    return pack(small_model(), {"rare": 10}, TrainingFacts(2, 1, reason="counted"))


def answers(p: TrigramParameters) -> list[int]:
    words = p.lexicon.find(ASKED)
    states, _ = p.trigrams.best(p.lists, words, np.array([0, 2, 5]))
    return [int(state) for state in states]


def survives(data: bytes) -> bool:
    """Whether bytes are a model that answers."""
    try:
        file = storage.loads(data, verify=False)
        found, _, _ = unpack(file), facts_of(file), settings_of(file)
        states = answers(found)
        assert all(found.names[state] in found.labels for state in states)
        assert np.isfinite(found.trigrams.posterior(found.lists, found.lexicon.find(ASKED), np.array([0, 5]))[0]).all()
    except TaglineError:
        return False
    return True


def test_a_file_keeps_everything() -> None:
    config, arrays = packed()
    file = storage.loads(storage.dumps(config, arrays))
    training = facts_of(file)
    assert answers(unpack(file)) == answers(small_model())
    assert (training.sentences, training.reason) == (2, "counted")
    assert settings_of(file) == {"rare": 10}


def test_every_truncation_is_refused() -> None:
    data = storage.dumps(*packed())
    assert survives(data)
    for size in range(len(data)):
        assert not survives(data[:size]), size


@pytest.mark.parametrize("turn", range(2))
def test_a_flipped_bit_at_every_place_is_refused_or_harmless(turn: int) -> None:
    data = bytearray(storage.dumps(*packed()))
    accepted = 0
    for place in range(len(data)):
        bit = 1 << (3 * place + 5 * turn) % 8
        data[place] ^= bit
        accepted += survives(bytes(data))
        data[place] ^= bit
    assert 0 < accepted < len(data)


def changed(name: str, place: Any, value: Any) -> Any:
    def change(config: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return change


def setting(name: str, value: Any) -> Any:
    return lambda config, arrays: config.update({name: value})


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (setting("version", 2), r"^<bytes>: .*layout"),
        (setting("labels", ["D", "N", "N"]), r"^<bytes>: .*labels"),
        (setting("labels", ["D", "N", 3]), r"^<bytes>: .*labels"),
        (setting("labels", []), r"^<bytes>: .*labels"),
        (setting("labels", [str(n) for n in range(3000)]), r"^<bytes>: .*labels"),
        (setting("labels", ["D", "N"]), r"^<bytes>: .*\b[34]\b"),
        (setting("capitals", 1), r"^<bytes>: .*'capitals'"),
        (setting("capitals", False), r"^<bytes>: .*\b3\b"),
        (setting("weights", [0.5, 0.5]), r"^<bytes>: .*weights"),
        (setting("weights", [0.5, 0.5, 0.5]), r"^<bytes>: .*weights"),
        (setting("weights", [0.0, 0.5, 0.5]), r"^<bytes>: .*weights"),
        (setting("weights", [0.2, 0.3, "a"]), r"^<bytes>: .*weights"),
        (setting("longest", -1), r"^<bytes>: .*endings"),
        (changed("trigrams", (0, 0), 9), r"^<bytes>: .*trigrams"),
        (changed("trigrams", (1,), [0, 0, 0]), r"^<bytes>: .*trigrams"),
        (changed("trigrams.counts", 0, 0), r"^<bytes>: .*trigrams"),
        (changed("trigrams.counts", 0, -5), r"^<bytes>: .*trigrams"),
        (changed("trigrams.counts", 0, 2**62), r"^<bytes>: .*trigrams"),
        (changed("candidates.counts", 0, 0), r"^<bytes>: .*candidates"),
        (changed("candidates.states", 0, 6), r"^<bytes>: .*states"),
        (changed("candidates.scores", 0, np.nan), r"^<bytes>: .*scores"),
        (changed("candidates.scores", 0, np.inf), r"^<bytes>: .*scores"),
        (changed("words.bytes", 0, 255), r"^<bytes>: vocabulary bytes: "),
        (lambda config, arrays: arrays.pop("small.marks"), r"vocabulary: .*'marks'"),
        (lambda config, arrays: arrays.pop("trigrams"), r"^<bytes>: .*'trigrams'"),
        (lambda config, arrays: arrays.update(trigrams=np.zeros((0, 3), np.uint16)), r"^<bytes>: .*trigrams.counts"),
    ],
)
def test_what_is_wrong_is_named(change: Any, place: str) -> None:
    config, arrays = packed()
    change(config, arrays)
    with pytest.raises(StorageError, match=place):
        unpack(storage.loads(storage.dumps(config, arrays)))


def test_no_list_may_be_empty() -> None:
    config, arrays = packed()
    counts = arrays["candidates.counts"].copy()
    counts[1] += counts[0]
    counts[0] = 0
    arrays["candidates.counts"] = counts
    with pytest.raises(StorageError, match=r"^<bytes>: "):
        unpack(storage.loads(storage.dumps(config, arrays)))
