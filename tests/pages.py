"""Pages of documents as the tests run them: their blocks, the files that a reader has, a shell for their commands.

A fence says what its block is. ``python`` and ``shell`` blocks run, in the order of the page and in one scratch folder;
``console`` blocks are shown only. A list of commands that is set off by four blanks is shell, too (``indented``).
"""

from __future__ import annotations

import contextlib
import gzip
import os
import pickle
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = (ROOT / "docs", ROOT / "examples", ROOT / "benchmarks")
PAGES = [*sorted(ROOT.glob("*.md")), *(page for folder in FOLDERS for page in sorted(folder.rglob("*.md")))]

FENCE = re.compile(r"^( *)(`{3,}|~{3,})([^\n`]*)\n(.*?)^\1\2 *$", re.M | re.S)
COMMAND = re.compile(r"^(tagline|make|pip|python|alias|curl|docker|cd|export|\.) ", re.M)
TIMEOUT = 300


@dataclass(frozen=True)
class Block:
    """A block of a page: the word behind its fence, what is in it, and the text block after it, if there is one."""

    kind: str
    text: str
    line: int
    printed: str | None = None


def name_of(page: Path) -> str:
    """Where a page stands in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page and its indented commands, in order."""
    text = page.read_text(encoding="utf-8")
    blocks = [*_fenced(text), *_indented(FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text))]
    return sorted(blocks, key=lambda block: block.line)


def shell_lines(block: Block) -> list[str]:
    """The commands of a block, without comments."""
    lines = (re.sub(r"(^| +)#.*", "", line).strip() for line in block.text.splitlines())
    return [line for line in lines if line]


def _fenced(text: str) -> list[Block]:
    fences = list(FENCE.finditer(text))
    blocks = []
    for fence, after in zip_longest(fences, fences[1:]):
        between = text[fence.end() : after.start()] if after else ""
        printed = _content(after) if after and after[3].strip() == "text" and between == "\n\n" else None
        blocks.append(Block(fence[3].strip(), _content(fence), text.count("\n", 0, fence.start()) + 1, printed))
    return blocks


def _content(fence: re.Match[str]) -> str:
    return textwrap.dedent(fence[4]) if fence[1] else fence[4]


def _indented(text: str) -> list[Block]:
    """Runs of lines with four blanks before them, behind an empty line, of which one is a command."""
    runs = re.finditer(r"(?<=\n\n)(?: {4}.*\n)+", text)
    return [
        Block("indented", textwrap.dedent(run[0]), text.count("\n", 0, run.start()) + 1)
        for run in runs
        if COMMAND.search(textwrap.dedent(run[0]))
    ]


# The files that a reader has. `GIVEN` names those of a page; a Chinese page has those of the English one.


def _columns(sentences: int, split: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from tagline.datasets import make_entities
        from tagline.readers import write_columns

        write_columns(make_entities(sentences, language="en", split=split), path)

    return write


def _text(content: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(content, encoding="utf-8")

    return write


def _series(groups: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import numpy as np

        random = np.random.default_rng(0)
        states = np.repeat([0, 1, 0, 2, 0], 20)
        rows = np.array([[15.0, 8.0], [11.0, 30.0], [31.0, 6.0]])[states] + random.normal(size=(100, 2))
        stations = [f"{'north' if day < 50 else 'south'}," if groups else "" for day in range(100)]
        lines = [f"{station}{warmth:.2f},{wind:.2f}" for station, (warmth, wind) in zip(stations, rows, strict=True)]
        path.write_text("\n".join([f"{groups}warmth,wind", *lines, ""]), encoding="utf-8")

    return write


def _vectors(path: Path) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{word} {k % 3} {k % 2} 1\n" for k, word in enumerate(("the", "a", "of", "in", "was")))


def _encoder(path: Path) -> None:
    from tests.models.neural.cases import encoder_folder

    shutil.copytree(encoder_folder("bert"), path)


def _network(path: Path) -> None:
    from tagline import BiLSTMCRF

    X, y = [["Anna", "sings"], ["Bob", "runs"]] * 4, [["B-PER", "O"]] * 8
    BiLSTMCRF(word_dim=4, char_size=4, hidden=4, epochs=1, device="cpu").fit(X, y).save(path)


def _crf(path: Path) -> None:
    from tagline import CRF
    from tagline.datasets import make_entities

    CRF("english_ner", scheme="IOB2", c2=0.3).fit(make_entities(200, language="en")).save(path)


def _foreign(kind: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from tagline import CRF
        from tagline.interop.formats import write_model

        X, y = [["Anna", "sings"], ["Bob", "runs"]], [["B-PER", "O"], ["B-PER", "O"]]
        write_model(CRF("U00:%x[0,0]\nU01:%x[-1,0]\nB\n", c2=0.1, scheme=None).fit(X, y), path, kind)

    return write


def _pickle(path: Path) -> None:
    import sklearn_crfsuite

    model = sklearn_crfsuite.CRF(c2=0.1).fit([[{"word": "Anna"}, {"word": "sings"}]], [["N", "V"]])
    path.write_bytes(pickle.dumps(model))


WORDS = ["我们 在 北京 大学 学习 中文 。", "他 在 上海 工作 。", "我 爱 北京 。", "我们 去 上海 学习 。"]
ITEMS = "N\tw=Anna\tlength:4\nV\tw=sings\n\nN\tw=Bob\nV\tw=sings\n\nN\tw=Rain\nV\tw=falls\n\n"
CHUNKS = "the DT B-NP\ncat NN I-NP\nsat VBD O\n\na DT B-NP\ndog NN I-NP\nsang VBD O\n\n"

FILES: dict[str, Callable[[Path], None]] = {
    "train.txt": _columns(30, "train"),
    "dev.txt": _columns(12, "test"),
    "test.txt": _columns(12, "test"),
    "new.txt": _text("Anna\nsings\n\nBob\nruns\n\n"),
    "words.txt": _text("Anna\nsings\n\nBob\nruns\n\n"),
    "news.txt": _text("我们在北京工作。\n他爱上海。\n"),
    "train.seg": _text("\n".join([*WORDS * 5, ""])),
    "dev.seg": _text("\n".join([*WORDS, ""])),
    "test.seg": _text("我们 在 北京 工作 。\n他 爱 上海 。\n"),
    "series.csv": _series(""),
    "weather.csv": _series("station,"),
    "new.csv": _series("station,"),
    "glove.6B.100d.txt.gz": _vectors,
    "bert-base-cased": _encoder,
    "network.tagline": _network,
    "model.tagline": _crf,
    "news.tagline": _crf,
    "names.tagline": _crf,
    "their.model": _foreign("crfsuite"),
    "wapiti.mdl": _foreign("wapiti"),
    "crf.pkl": _pickle,
    "items/train.txt": _text(ITEMS),
    "items/test.txt": _text(ITEMS),
    "chunks/train.txt": _text(CHUNKS),
    "chunks/test.txt": _text(CHUNKS),
    "template": _text("U00:%x[0,0]\nU01:%x[-1,0]/%x[0,1]\nB\n"),
}
"""How each is made, smaller than a reader's. A folder before the name tells files of one name apart."""

GIVEN = {
    "README.md": ("series.csv", "network.tagline", "their.model"),
    "README.zh.md": ("series.csv", "network.tagline", "their.model", "train.seg", "dev.seg", "test.seg", "news.txt"),
    "docs/command-line.md": ("train.seg", "dev.seg", "test.seg", "news.txt"),
    "docs/hmm.md": ("weather.csv", "new.csv"),
    "docs/neural.md": ("train.txt", "dev.txt", "test.txt", "words.txt", "glove.6B.100d.txt.gz", "bert-base-cased"),
    "docs/scale.md": ("train.txt", "dev.txt"),
    "docs/serving.md": ("model.tagline", "news.tagline", "names.tagline", "new.txt"),
    "docs/migrate/crfpp.md": ("template", "chunks/train.txt", "chunks/test.txt"),
    "docs/migrate/crfsuite.md": ("items/train.txt", "items/test.txt"),
    "docs/migrate/sklearn-crfsuite.md": ("crf.pkl",),
    "docs/migrate/wapiti.md": ("wapiti.mdl", "new.txt"),
}


def give(page: Path, folder: Path) -> None:
    """Put the files into a folder that a reader of this page has."""
    for file in GIVEN.get(name_of(page).replace("docs/zh/", "docs/"), ()):
        FILES[file](folder / Path(file).name)


# The shell. `tagline serve` is started in the background, on a free port, and the next line runs when it answers.

PRELUDE = """
tagline() {
  if [ "${1-}" != serve ]; then command tagline "$@"; return; fi
  if [ "$BASHPID" != $$ ]; then echo "$BASHPID" > "$STATE"; exec tagline "$@" --port "$PORT"; fi  # a page's own "&"
  if [ -s "$STATE" ]; then kill "$(cat "$STATE")" || true; while answers; do sleep 0.05; done; fi
  command tagline "$@" --port "$PORT" & echo $! > "$STATE"
  until answers; do kill -0 $!; sleep 0.05; done
}
answers() { (exec 3<> "/dev/tcp/127.0.0.1/$PORT") 2>&-; }
"""


class Shell:
    """Runs blocks with bash in a folder, one after the other; at the end, what they left running is ended."""

    def __init__(self, folder: Path, state: Path) -> None:
        self.folder, self.state, self.groups = folder, state, list[int]()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])

    def __enter__(self) -> Shell:
        self.state.mkdir()
        return self

    def __exit__(self, *error: object) -> None:
        for group in self.groups:
            self._end(group)

    def run(self, block: str) -> subprocess.CompletedProcess[str]:
        """What a block wrote, and how it ended: not with 0 where one of its commands failed."""
        block = re.sub(r"(127\.0\.0\.1|localhost):[89]000", rf"\1:{self.port}", block)
        out, err = self.state / "out", self.state / "err"
        with out.open("wb") as stdout, err.open("wb") as stderr:  # no pipes: a server would keep them open
            process = subprocess.Popen(
                ["bash", "-e", "-o", "pipefail", "-O", "expand_aliases", "-c", PRELUDE + block],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            self.groups.append(process.pid)
            try:
                code = process.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                self._end(process.pid)
                code = process.wait()
        printed, said = (path.read_text(encoding="utf-8") for path in (out, err))
        return subprocess.CompletedProcess(block, code, printed, said)

    def _environment(self) -> dict[str, str]:
        """The command and the interpreter that run the tests come first; networks are tiny and take one thread."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        ours = {"PATH": path, "HOME": str(self.state), "PORT": self.port, "STATE": str(self.state / "server")}
        quiet = {"BROWSER": "true", "OMP_NUM_THREADS": "1", "TAGLINE_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        return {**os.environ, **ours, **quiet}

    @staticmethod
    def _end(group: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
