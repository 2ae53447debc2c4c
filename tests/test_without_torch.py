"""Where PyTorch is not installed, every door that needs it says how to install it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "models" / "fixtures"

BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
"""

DOORS = {
    "tagline.BiLSTMCRF": "BiLSTMCRF: ",
    "tagline.TransformerCRF": "TransformerCRF: ",
    "tagline.nn": "tagline.nn: ",
    "__import__('tagline.nn')": "tagline.nn: ",
    "__import__('tagline.interop.torchcrf')": "tagline.interop.torchcrf: ",
    "__import__('tagline.chain.tensors')": "tagline.chain.tensors: ",
    "__import__('tagline.models.neural.bilstm')": "tagline.models.neural: ",
    f"tagline.load({str(FIXTURES / 'bilstm.tagline')!r})": f"{FIXTURES / 'bilstm.tagline'}, a bilstm model: ",
}


@pytest.fixture(scope="module")
def answers() -> list[str]:
    """What each door says, a line each; one process for all of them."""
    tries = "".join(
        f"try:\n    {door}\n    print('no error')\n"
        "except Exception as error:\n"
        "    print(isinstance(error, ImportError), isinstance(error, tagline.InputError), error)\n"
        for door in DOORS
    )
    code = f"{BLOCK}\nimport tagline\n{tries}\nprint(tagline.load({str(FIXTURES / 'crf.tagline')!r}).kind)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("place", range(len(DOORS)), ids=list(DOORS))
def test_doors_name_the_pip_line(answers: list[str], place: int) -> None:
    (door, where), line = list(DOORS.items())[place], answers[place]
    assert line.startswith(f"True True {where}")
    assert line.endswith(f"pip install 'tagline[{'transformers' if 'Transformer' in door else 'torch'}]'")


def test_other_models_are_loaded(answers: list[str]) -> None:
    assert answers[-1] == "crf"


def test_a_name_that_is_not_there_is_still_an_attribute_error() -> None:
    import tagline

    with pytest.raises(AttributeError, match="has no attribute 'BiLSTM'"):
        _ = tagline.BiLSTM  # type: ignore[attr-defined]
