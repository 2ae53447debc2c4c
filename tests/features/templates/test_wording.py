"""Templates in words."""

from __future__ import annotations

import pytest

from tagline.features.templates.template import Template
from tagline.features.templates.wording import in_words, legend


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("U:%x[0,0]", "the token"),
        ("U:%x[-1,0:lower]/%x[1,1]", "lower of the token before / column 1 of the token after"),
        ("U:%x[-2,0]", "the token 2 before"),
        ("U:%x[3,0:lower:suffix2]", "suffix2 of lower of the token 3 after"),
        ('U:%t[0,0,"^[A-Z]"]', '"^[A-Z]" in the token'),
        ("U:bias", "the label alone"),
    ],
)
def test_lines_of_templates_in_words(line: str, words: str) -> None:
    assert in_words(Template.parse(f"{line}\n").lines[0]) == words


def test_a_legend_has_the_lines_that_are_used_in_their_order() -> None:
    template = Template.parse("U1:%x[0,0]\nU10:%x[1,0]\nU2:%x[-1,0]\n")
    assert legend(template, ["U2:the", "U10:cat", "other"]) == ["U10  the token after", "U2  the token before"]
    assert legend(template, []) == []


def test_vectors_in_words() -> None:
    assert legend(Template.parse("U80:%v[-1,0]"), ["U80:3"]) == ["U80  vector of the token before"]
