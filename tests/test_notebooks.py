"""The notebooks run from top to bottom, are kept without their outputs, and use nothing but Python.

A cell is run as a notebook runs it: what its last line is worth is shown, as HTML where it has that. Magics would need
IPython; there are none, and so no kernel is started here.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

ROOT = Path(__file__).parents[1]
HOME = ROOT / "examples" / "notebooks"
NEEDS = {"swap_crf_layer": ("torch",), "hmm_time_series": ("pandas",)}
NOTEBOOKS = {
    "ner_english": r"HMM: F1 0\.\d.*F1 9\d.*PER +0\.\d+  Maria Lindqvist.*MB True",
    "ner_chinese": r"chinese_ner +F1 0\.[89].*0 2 PER 0\.\d+ 李明",
    "segmentation": r"CRF  F1 0\.9.*研究生 / 在 / 成都 / 研究 / 生命 / 起源",
    "hmm_time_series": r"→ +3 .*9\d\.\d % of the hours.*rises at every one: True",
    "swap_crf_layer": r"the same labels: True.*with rules +0 of 100 sentences",
    "error_analysis": r"p = 0\.0.*boundary.*recall 0\.\d+",
}
"""What each prints, as a regular expression."""


def read(name: str) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads((HOME / f"{name}.ipynb").read_text(encoding="utf-8"))
    return notebook


def run_cell(source: str, place: str, names: dict[str, Any]) -> None:
    """Run a cell; show the value of its last line, as a notebook does."""
    tree = ast.parse(source, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), place, "eval"), names)
        if value is not None and not source.rstrip().endswith(";"):
            html = getattr(value, "_repr_html_", None)
            assert html is None or html(), place
            print(repr(value))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        for number, cell in enumerate(read(name)["cells"], start=1):
            if cell["cell_type"] == "code":
                run_cell("".join(cell["source"]), f"{name}.ipynb, cell {number}", names)
                names["plt"].close("all") if "plt" in names else None
    assert re.search(NOTEBOOKS[name], output.getvalue(), re.S), output.getvalue()
    assert not list(tmp_path.iterdir()), "a notebook leaves nothing behind"


def test_all_notebooks_are_known() -> None:
    assert {path.stem for path in HOME.glob("*.ipynb")} == {*NOTEBOOKS}
    index = (HOME / "README.md").read_text(encoding="utf-8")
    assert all(f"({name}.ipynb)" in index for name in NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_stripped(name: str) -> None:
    """No outputs, no counts, no metadata but the language; so that a change of a line is a change of a line."""
    notebook = read(name)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            assert not re.search(r"^\s*[%!?]|\?$", "".join(cell["source"]), re.M), "magics need IPython"
    written = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
    assert (HOME / f"{name}.ipynb").read_text(encoding="utf-8") == written


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_links_of_notebooks_lead_somewhere(name: str) -> None:
    text = "\n".join("".join(cell["source"]) for cell in read(name)["cells"] if cell["cell_type"] == "markdown")
    for link in re.findall(r"\]\(([^)\s#]+)", text):
        assert (HOME / link).exists(), link
    for notebook in re.findall(r"`(\w+\.ipynb)`", text):
        assert (HOME / notebook).exists(), notebook
