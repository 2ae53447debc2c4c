"""Pieces of words as the network in this folder reads them: a tokenizer, and windows for long sentences.

Where `wordpiece` of export.json has rules, words are cut here, as BERT's tokenizer does; otherwise the package
tokenizers cuts them.
"""

import json
import re
import unicodedata
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SETTINGS, TOKENIZER = (
    json.loads((HERE / name).read_text(encoding="utf-8")) for name in ("export.json", "tokenizer.json")
)
WINDOW = SETTINGS["window"]
ROOM = WINDOW["max_length"] - len(WINDOW["before"]) - len(WINDOW["after"])

if RULES := SETTINGS["wordpiece"]:
    VOCABULARY, MODEL = TOKENIZER["model"]["vocab"], TOKENIZER["model"]
    WHOLE = {token["content"]: token["id"] for token in TOKENIZER["added_tokens"]}
    SPLIT = re.compile(f"({'|'.join(map(re.escape, sorted(WHOLE, key=len, reverse=True))) or '(?!)'})")
    DROPPED, CHINESE, ACCENTS, PUNCTUATION = (
        {chr(code) for first, last in RULES[name] for code in range(first, last + 1)}
        for name in ("dropped", "chinese", "accents", "punctuation")
    )
else:
    from tokenizers import Tokenizer

    CUTTER = Tokenizer.from_file(str(HERE / "tokenizer.json"))


def cut(word: str) -> list[int]:
    """Cut a word into pieces, at least one."""
    word = word.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    ids = pieces(word) if RULES else CUTTER.encode([word], is_pretokenized=True, add_special_tokens=False).ids
    return ids[: WINDOW["longest_word"]] or [WINDOW["unknown"]]


def pieces(word: str) -> list[int]:
    """Cut as BERT does: at whole tokens such as [SEP], then what is between them."""
    parts = enumerate(SPLIT.split(word))
    return [piece for k, part in parts for piece in ([WHOLE[part]] if k % 2 else cleaned_pieces(part))]


def cleaned_pieces(text: str) -> list[int]:
    """Drop and change characters, then cut at blanks and around Chinese characters and punctuation marks."""
    text = "".join(f" {c} " if c in CHINESE else c for c in text if c not in DROPPED)
    if RULES["strip_accents"]:
        text = "".join(c for c in unicodedata.normalize("NFD", text) if c not in ACCENTS)
    text = "".join(RULES["lower"].get(c, c) for c in text)
    text = "".join(f" {c} " if c in PUNCTUATION else c for c in text)
    return [piece for part in text.split() for piece in wordpieces(part)]


def wordpieces(part: str) -> list[int]:
    """Take the longest piece of the vocabulary, then the longest of the rest."""
    ids, begin, unknown = [], 0, VOCABULARY[MODEL["unk_token"]]
    while begin < len(part) <= MODEL["max_input_chars_per_word"]:
        prefix = MODEL["continuing_subword_prefix"] if begin else ""
        ends = (end for end in range(len(part), begin, -1) if prefix + part[begin:end] in VOCABULARY)
        if not (end := next(ends, 0)):
            return [unknown]
        ids.append(VOCABULARY[prefix + part[begin:end]])
        begin = end
    return ids or [unknown]


def windows(ends: np.ndarray) -> list[tuple[int, int]]:
    """Cut a sentence, given the pieces before each word and at its end, into windows of words (first, last + 1)."""
    T, begin, cuts = len(ends) - 1, 0, []
    overlap = 2 * min(WINDOW["stride"], ROOM // 4)
    while ends[T] - ends[begin] > ROOM:
        end = int(np.searchsorted(ends, ends[begin] + ROOM, "right")) - 1
        cuts.append((begin, end))
        begin = int(np.searchsorted(ends, ends[end] - overlap, "right")) - 1
    if cuts:
        begin = int(np.searchsorted(ends, ends[T] - ROOM, "left"))
    return [*cuts, (begin, T)]


def batch(sentences: list[list[str]]) -> dict[str, np.ndarray]:
    """The inputs of the network: windows of pieces, and where each word is read, the window with most context."""
    rows: list[tuple[list[int], list[int]]] = []  # pieces of each window, and the words that they belong to
    places: list[list[tuple[int, int, int]]] = []  # context, window and first piece of each word
    for sentence in sentences:
        cuts = [cut(word) for word in sentence]
        ends = np.cumsum([0, *map(len, cuts)])
        best = [(-1, 0, 0)] * len(cuts)
        for begin, end in windows(ends):
            ids, words = [*WINDOW["before"]], [-1] * len(WINDOW["before"])
            for t in range(begin, end):
                context = min(ends[t] - ends[begin], ends[end] - ends[t + 1])
                best[t] = max(best[t], (context, len(rows), len(ids)), key=lambda place: place[0])
                ids += cuts[t]
                words += [t] * len(cuts[t])
            rows.append((ids + WINDOW["after"], words))
        places.append(best)
    S = max(len(ids) for ids, _ in rows)
    return {
        "input_ids": padded([ids for ids, _ in rows], WINDOW["padding"]),
        "widths": np.array([len(ids) for ids, _ in rows], np.int64),
        "words": padded([words + [-1] * (S - len(words)) for _, words in rows]),
        "first": padded([[window * S + place for _, window, place in best] for best in places]),
        "lengths": np.array([len(sentence) for sentence in sentences], np.int64),
    }


def padded(rows: list[list[int]], padding: int = 0) -> np.ndarray:
    """Rows of different lengths as one table, padding behind each."""
    table = np.full((len(rows), max(map(len, rows))), padding, np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table
