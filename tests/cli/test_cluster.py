"""`tagline cluster`, and `tagline train` with what it wrote: clusters, vectors, two stages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tagline.cli import clustering

from .commands import line_of, tagline

TEXT = "Anna saw Rome\nBen saw Oslo\nAnna left Oslo\nBen left Rome\n"
VECTORS = "rome 1 0\noslo 0.9 0.1\nbern 0.8 0\nanna 0 1\nben 0.1 1\nzoe 0 0.9\n"
TRAIN = "-DOCSTART- O\n\nAnna B-PER\nsaw O\nRome B-LOC\n\nBen B-PER\nleft O\nOslo B-LOC\n\n" * 6


def test_brown_clusters_of_a_text(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    done = tagline("cluster", tmp_path / "text.txt", "-o", tmp_path / "out.txt", "-k", "3")
    assert (done.code, done.out) == (0, "")
    assert done.err == f"{tmp_path / 'out.txt'}: 6 words in 3 clusters\n"
    lines = "00\tAnna\t2\n00\tBen\t2\n01\tOslo\t2\n01\tRome\t2\n1\tleft\t2\n1\tsaw\t2\n"
    assert (tmp_path / "out.txt").read_text() == lines


def test_clusters_of_characters_to_standard_output(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("天气好\n天气坏\n", encoding="utf-8")
    words = (
        "cluster",
        tmp_path / "text.txt",
        "-o",
        "-",
        "-k",
        "3",
        "--tokenizer",
        "characters",
        "--min-count",
        "1",
        "-q",
    )
    done = tagline(*words)
    clusters = dict(reversed(line.split("\t")[:2]) for line in done.out.splitlines())
    assert clusters["好"] == clusters["坏"] != clusters["天"]
    assert done.err == ""


@pytest.mark.parametrize("option", [("--clusters", "k.txt"), ("--vectors", "vectors.txt")])
def test_trained_with_what_was_written(
    option: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("vectors.txt").write_text(VECTORS)
    Path("train.txt").write_text(TRAIN)
    assert tagline("cluster", "--vectors", "vectors.txt", "-k", "2", "-o", "k.txt").code == 0
    done = tagline("train", "train.txt", "-o", "m.tagline", "--c2", "0.1", "--stages", "2", *option)
    assert done.code == 0, done.err
    tagged = tagline("tag", "-m", "m.tagline", input="Zoe\nsaw\nBern\n\n")
    assert [line.split()[-1] for line in tagged.out.splitlines() if line] == ["B-PER", "O", "B-LOC"]


def test_errors_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT)
    assert "--vectors: " in line_of(tagline("cluster", "text.txt", "text.txt", "--vectors"))
    assert "nowhere" in line_of(tagline("cluster", "text.txt", "-o", "nowhere/out.txt"))
    assert "--clusters: " in line_of(tagline("cluster", "text.txt", "-k", "0"))
    assert "got none" in line_of(tagline("cluster", "text.txt", "--min-count", "9"))
    assert "tokenizer" in line_of(tagline("cluster", "text.txt", "--tokenizer", "syllables"))
    assert not Path("clusters.txt").exists()


def test_an_interrupt_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "text.txt").write_text(TEXT)
    monkeypatch.setattr(clustering, "brown_clusters", interrupted)
    done = tagline("cluster", tmp_path / "text.txt", "-o", tmp_path / "out.txt")
    assert done.code == 130
    assert done.err == f"interrupted, nothing was saved: {tmp_path / 'out.txt'} was not written\n"
    assert not (tmp_path / "out.txt").exists()
