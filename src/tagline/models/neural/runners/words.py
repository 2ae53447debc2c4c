"""Words as the network in this folder reads them: numbers of words, of how they are written, of their characters."""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SETTINGS, KNOWN = (json.loads((HERE / name).read_text(encoding="utf-8")) for name in ("export.json", "vocabulary.json"))
WORDS, CHARACTERS = ({name: 2 + k for k, name in enumerate(KNOWN[part])} for part in ("words", "characters"))
UNKNOWN = 1  # 0 is padding


def word_number(word: str) -> int:
    """Look a word up as it is, in lower case, with its digits as 0, then with both."""
    forms = [word, word.lower()] if SETTINGS["lowercase"] else [word]
    forms += ["".join("0" if letter.isdecimal() else letter for letter in form) for form in forms]
    return next((WORDS[form] for form in forms if form in WORDS), UNKNOWN)


def case_number(word: str) -> int:
    """How a word is written: 1 lower, 2 title, 3 upper, 4 mixed, 5 number, 6 letters and digits, 7 other."""
    upper = [letter.isupper() for letter in word if letter.isupper() or letter.islower()]
    if any(letter.isdecimal() for letter in word):
        return 6 if upper or any(letter.isalpha() for letter in word) else 5
    if not upper:
        return 7
    if not any(upper):
        return 1
    return 2 if sum(upper) == 1 and upper[0] else 3 if all(upper) else 4


def character_numbers(word: str) -> list[int]:
    """The characters of a word; of a long one the first half and the last half."""
    longest = SETTINGS["longest"]
    tail = longest // 2
    read = word if len(word) <= longest else word[: longest - tail] + word[len(word) - tail :]
    return [CHARACTERS.get(letter, UNKNOWN) for letter in read]


def padded(rows: list[list[int]]) -> np.ndarray:
    """Rows of different lengths as one table, 0 behind each."""
    table = np.zeros((len(rows), max([1, *map(len, rows)])), np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table


def batch(sentences: list[list[str]]) -> dict[str, np.ndarray]:
    """The inputs of the network: distinct words, numbered from 1, and which of them each token is."""
    distinct = {word: 1 + k for k, word in enumerate(dict.fromkeys(word for row in sentences for word in row))}
    return {
        "forms": padded([[distinct[word] for word in row] for row in sentences]),
        "words": np.array([0, *map(word_number, distinct)], np.int64),
        "cases": np.array([0, *map(case_number, distinct)], np.int64),
        "characters": padded([[], *map(character_numbers, distinct)]),
        "lengths": np.array([len(row) for row in sentences], np.int64),
    }
