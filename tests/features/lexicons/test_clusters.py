"""Clusters: tables through files, and what templates see of them, by the definition and by the core."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.features.expansion import expand
from tagline.features.knowledge import Knowledge
from tagline.features.lexicons.clusters import Clusters, as_clusters
from tagline.features.templates.template import Template
from tagline.readers import Corpus

BROWN = Clusters({"rome": "011010", "Oslo": "0111", "sings": "10"}, {"rome": 7, "sings": 2})
NUMBERS = Clusters({"Rome": 12, "in": 3})


def test_a_word_takes_the_cluster_of_its_lower_case() -> None:
    words = ["rome", "Rome", "Oslo", "oslo", "runs"]
    assert [BROWN.of(word) for word in words] == ["011010", "011010", "0111", None, None]
    assert [NUMBERS.of(word) for word in ("Rome", "rome", "IN")] == ["12", None, "3"]


def test_bits_and_numbers_are_told_apart() -> None:
    assert BROWN.is_bits
    assert not NUMBERS.is_bits
    assert not Clusters({"a": 0, "b": 1, "c": 10}).is_bits


def test_a_template_sees_whole_clusters_and_first_bits() -> None:
    lines = "U0:%x[0,0:cluster]\nU1:%x[-1,0:cluster:bits4]\nU2:%x[0,0:cluster2]/%x[1,0:cluster:bits1]\nB\n"
    template = Template.parse(lines).with_clusters((BROWN, NUMBERS))
    states, _ = template.strings([["in", "Rome", "Anna", "sings"]])
    assert states == [["U1:_B-1", "U2:3/0"], ["U0:011010"], ["U1:0110"], ["U0:10"]]


def test_the_core_sees_the_same() -> None:
    lines = "U0:%x[0,0:cluster]\nU1:%x[-1,0:cluster:bits4]\nU2:%x[0,0:cluster2]/%x[1,0:cluster:bits1]\nB\n"
    template = Template.parse(lines).with_clusters((BROWN, NUMBERS))
    corpus = Corpus.from_sentences([{"token": ["in", "Rome", "Anna", "sings"]}, {"token": ["Oslo", "", "rome"]}])
    expanded = expand(template, corpus)
    assert expanded.states is not None
    names, states = expanded.states.names(), expanded.features.states
    seen = [[names[i] for i in states.ids[a:b]] for a, b in zip(states.offsets, states.offsets[1:], strict=False)]
    wanted = [row for sentence in corpus.tokens for row in template.strings([sentence])[0]]
    assert seen == wanted


def test_a_pickled_template_keeps_its_tables() -> None:
    template = Template.parse("U0:%x[0,0:cluster]\n").with_clusters((BROWN,))
    again = pickle.loads(pickle.dumps(template))
    assert again.strings([["rome"]]) == template.strings([["rome"]]) == ([["U0:011010"]], [[]])


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "clusters.txt"
    BROWN.write(path)
    assert path.read_text() == "011010\trome\t7\n0111\tOslo\t1\n10\tsings\t2\n"
    assert Clusters.read(path) == BROWN
    NUMBERS.write(path)
    assert path.read_text() == "3\tin\t1\n12\tRome\t1\n"
    (tmp_path / "pairs.txt").write_text("7\tein Wort\n\n8\tnoch")
    assert Clusters.read(tmp_path / "pairs.txt") == Clusters({"ein Wort": 7, "noch": "8"})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("0110 rome 7\n", "clusters.txt:1: "),
        ("01\trome\tx\n", "clusters.txt:1: "),
        ("01\trome\n11\trome\n", "clusters.txt:2: "),
        ("\n\n", "clusters.txt: "),
    ],
)
def test_bad_files(text: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "clusters.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=place.replace(".", r"\.")):
        Clusters.read(path)


@pytest.mark.parametrize("table", [{"a\tb": 1}, {"": 1}, {"a": ""}, {"a": True}, {1: "a"}, ["a"], {"a": "x\n"}])
def test_bad_tables(table: object) -> None:
    with pytest.raises(InputError, match=r"^clusters: "):
        Clusters(table)  # type: ignore[arg-type]


def test_bad_settings() -> None:
    with pytest.raises(InputError, match=r"^clusters: "):
        as_clusters([])
    with pytest.raises(InputError, match=r"^clusters: "):
        as_clusters([3])
    with pytest.raises(InputError, match=r"^clusters: "):
        Clusters.of_arrays(["a", "a"], np.array([0, 0]), ["x"])
    with pytest.raises(InputError, match=r"^clusters: "):
        Clusters.of_arrays(["a", "b"], np.array([0, 1]), ["x"])


def test_a_template_without_tables_says_so() -> None:
    template = Template.parse("U0:%x[0,0:cluster2]\n", "my.txt")
    with pytest.raises(InputError, match=r"^clusters: "):
        template.strings([["rome"]])
    with pytest.raises(InputError, match=r"^clusters: .*my\.txt"):
        Knowledge.of([BROWN]).informed(template)


def test_lines_are_added_where_a_template_has_none() -> None:
    plain = Template.parse("U0:%x[0,0]\nB")
    informed = Knowledge.of([BROWN, NUMBERS]).informed(plain)
    texts = [line.text for line in informed.lines]
    assert texts[:2] == ["U0:%x[0,0]", "B"]
    assert "UC1.6-1:%x[-1,0:cluster:bits6]" in texts
    assert "UC2+0:%x[0,0:cluster2]" in texts
    assert not informed.notes
    own = Template.parse("U0:%x[0,0:cluster]\n")
    assert Knowledge.of([BROWN]).informed(own).text == own.text
    assert Knowledge().informed(plain) is plain
