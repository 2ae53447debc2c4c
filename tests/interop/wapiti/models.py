"""A small model in Wapiti's file format, written by hand, and its scores by the definition."""

from __future__ import annotations

import itertools
import math

PATTERNS = ["*", "u:w=%x[0,0]", 'u:n=%t[0,0,"\\d"]', "b:p=%X[-1,0]"]
LABELS = ["NAME", "O", "VERB"]
WEIGHTS = {
    ("*", None, "O"): 0.25,
    ("*", "NAME", "VERB"): 1.5,
    ("*", "VERB", "VERB"): -0.75,
    ("u:w=Anna", None, "NAME"): 2.0,
    ("u:w=sings", None, "VERB"): 1.125,
    ("u:w=sings", None, "NAME"): -0.5,
    ("u:w=Ärger", None, "O"): 0.375,
    ("u:n=true", None, "O"): 1.75,
    ("b:p=anna", "NAME", "VERB"): 0.625,
    ("b:p=anna", "O", "O"): -1.25,
}
OBSERVATIONS = ["*", "u:w=Anna", "u:n=false", "u:w=sings", "b:p=anna", "u:w=Ärger", "u:n=true", "b:p=never"]


def observed(words: list[str], token: int) -> list[str]:
    """The observations of a token, by the meaning of the patterns."""
    digit = any(letter in "0123456789" for letter in words[token])
    before = words[token - 1].replace("A", "a").replace("S", "s") if token else "_x-1"
    return ["*", f"u:w={words[token]}", f"u:n={str(digit).lower()}", f"b:p={before}"]


def score(words: list[str], labels: tuple[str, ...], token: int) -> float:
    """The score of a token's label and of the pair that leads to it."""
    names = observed(words, token)
    own = sum(WEIGHTS.get((name, None, labels[token]), 0.0) for name in names)
    if not token:
        return own
    return own + sum(WEIGHTS.get((name, labels[token - 1], labels[token]), 0.0) for name in names)


def labellings(words: list[str]) -> dict[tuple[str, ...], float]:
    """All labellings and their scores, the best first; among equal ones that which is smaller from its end."""
    every = list(itertools.product(LABELS, repeat=len(words)))
    every.sort(key=lambda labels: [LABELS.index(label) for label in reversed(labels)])
    scores = {labels: sum(score(words, labels, t) for t in range(len(words))) for labels in every}
    return dict(sorted(scores.items(), key=lambda entry: -entry[1]))


def posteriors(words: list[str]) -> list[dict[str, float]]:
    """The probability of each label of each token."""
    scores = labellings(words)
    total = sum(map(math.exp, scores.values()))
    return [
        {label: sum(math.exp(s) for labels, s in scores.items() if labels[t] == label) / total for label in LABELS}
        for t in range(len(words))
    ]


def local_probability(words: list[str], labels: tuple[str, ...], token: int) -> float:
    """The probability of a token's label given the label before it, in an MEMM with these weights."""
    rivals = [(*labels[:token], label) for label in LABELS]
    total = sum(math.exp(score(words, rival, token)) for rival in rivals)
    return math.exp(score(words, labels[: token + 1], token)) / total


def token_score(words: list[str], labels: tuple[str, ...], token: int) -> float:
    """The score of a token's label alone, as a maxent model has it."""
    return sum(WEIGHTS.get((name, None, labels[token]), 0.0) for name in observed(words, token))


def model_text() -> bytes:
    """The file of the model, from its parts."""

    def strings(texts: list[str]) -> str:
        return "".join(f"{len(text.encode())}:{text},\n" for text in texts)

    begins, lines, size = {}, [], len(LABELS)
    at = 0
    for name in OBSERVATIONS:
        begins[name] = at
        at += {"u": size, "b": size * size, "*": size + size * size}[name[0]]
    for (name, before, label), weight in WEIGHTS.items():
        place = begins[name] + LABELS.index(label)
        if before is not None:
            place += (name[0] == "*") * size + LABELS.index(before) * size
        lines.append((place, weight))
    rows = "".join(f"{place}={_hexadecimal(weight)}\n" for place, weight in sorted(lines))
    head = f"#mdl#2#{len(lines)}\n#rdr#{len(PATTERNS)}/0/0\n{strings(PATTERNS)}"
    quarks = f"#qrk#{len(LABELS)}\n{strings(LABELS)}#qrk#{len(OBSERVATIONS)}\n{strings(OBSERVATIONS)}"
    return (head + quarks + rows).encode()


def _hexadecimal(weight: float) -> str:
    """Quarters and eighths as C's %a writes them."""
    mantissa, exponent = math.frexp(abs(weight))
    digits = f"{int((2 * mantissa - 1) * 16**3):03x}".rstrip("0")
    return f"{'-' if weight < 0 else ''}0x1{'.' if digits else ''}{digits}p{exponent - 1:+d}"


MODEL = model_text()
SENTENCES = [["Anna", "sings"], ["sings"], ["Ärger", "Anna", "B2"], ["anna", "x", "sings", "sings"]]
