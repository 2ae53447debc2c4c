"""What the layer refuses or warns of, and what it says."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tagline import InputError  # noqa: E402
from tagline.nn import CRF, tensor_engine, use_tensor_engine, using_tensor_engine  # noqa: E402

EMISSIONS = torch.randn(2, 3, 4)
TAGS = torch.zeros(2, 3, dtype=torch.long)


@pytest.mark.parametrize(
    ("emissions", "tags", "mask", "place"),
    [
        (EMISSIONS[0], TAGS, None, r"^emissions: .*batch_first="),
        (EMISSIONS[:, :, :3], TAGS, None, r"^emissions: "),
        (EMISSIONS.long(), TAGS, None, r"^emissions: "),
        (EMISSIONS, TAGS[:, :2], None, r"^tags: "),
        (EMISSIONS, TAGS.float(), None, r"^tags: "),
        (EMISSIONS, TAGS.bool(), None, r"^tags: "),
        (EMISSIONS, TAGS, TAGS[:, :2], r"^mask: "),
        (
            EMISSIONS,
            TAGS + 4,
            None,
            r"^tags: .*sentence 0, step 0",
        ),
        (EMISSIONS, TAGS - 1, None, r"^tags: "),
        (
            EMISSIONS * torch.nan,
            TAGS,
            None,
            r"^emissions: .*sentence 0, step 0, tag 0",
        ),
        (EMISSIONS.exp() * torch.inf, TAGS, None, r"^emissions: "),
    ],
)
def test_errors(emissions: Any, tags: Any, mask: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        CRF(4).loss(emissions, tags, mask)


@pytest.mark.parametrize("batch_first", [True, False])
def test_places_are_those_of_the_given_tensors(batch_first: bool) -> None:
    emissions, tags = torch.zeros(3, 4, 5), torch.zeros(3, 4, dtype=torch.long)
    mask = torch.tensor([[1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 0]], dtype=torch.bool)  # packed rows are others
    transitions = torch.zeros(3, 4, 5, 5)
    crf = CRF(5, batch_first=batch_first)

    def loss(**changed: Any) -> Any:
        values = {"emissions": emissions, "tags": tags, "mask": mask, **changed}
        return crf.loss(**{name: value if batch_first else value.transpose(0, 1) for name, value in values.items()})

    for name, value, place, told in (
        ("emissions", emissions, (1, 3, 2), "got nan at sentence 1, step 3, tag 2;"),
        ("transitions", transitions, (1, 2, 4, 0), "got nan at sentence 1, step 2, tag 4 to 0;"),
    ):
        wrong = value.clone()
        wrong[place] = torch.nan
        with pytest.raises(InputError, match=f"{name}: .* {told}"):
            loss(**{name: wrong})
    wrong = tags.clone()
    wrong[2, 1] = 7
    with pytest.raises(InputError, match=r"^tags: .*sentence 2, step 1"):
        loss(tags=wrong)


def test_no_emissions() -> None:
    nothing: Any = None
    with pytest.raises(InputError, match=r"^emissions: "):
        CRF(4).loss(nothing, TAGS)


@pytest.mark.parametrize("name", ["emissions", "tags", "mask", "lengths", "allowed", "transitions"])
def test_what_is_no_tensor(name: str) -> None:
    values: dict[str, Any] = {"emissions": EMISSIONS, "tags": TAGS, name: [[0.0]]}
    with pytest.raises(InputError, match=f"^{name}: "):
        CRF(4).loss(**values)
    values = {"emissions": EMISSIONS, name: EMISSIONS.numpy()}
    for options in ({}, {"pad_tag": -1}) if name != "tags" else ():
        with pytest.raises(InputError, match=f"^{name}: "):
            CRF(4).decode(**values, **options)


def test_kernels_are_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    crf = CRF(4)
    with using_tensor_engine("fused"):
        for ask in (lambda: crf.loss(EMISSIONS, TAGS), lambda: crf.log_partition(EMISSIONS)):
            with pytest.raises(InputError, match='"fused": '):
                ask()


def test_other_errors() -> None:
    crf = CRF(4)
    with pytest.raises(InputError, match=r"^reduction: .*token_mean"):
        crf.loss(EMISSIONS, TAGS, reduction="max")
    with pytest.raises(InputError, match=r"^num_tags: "):
        CRF(0)
    with pytest.raises(InputError, match=r"^rank: "):
        CRF(3, rank=0)
    with pytest.raises(InputError, match=r"^constraints: "):
        CRF(3, constraints=[[True]])
    with pytest.raises(InputError, match=r"^k: "):
        crf.k_best(EMISSIONS, 0)
    with pytest.raises(InputError, match=r"^lengths: "):
        crf.decode(EMISSIONS, lengths=torch.tensor([3.0, 1.0]))
    with torch.no_grad():
        crf.transitions[0, 1] = torch.nan
    with pytest.raises(InputError, match=r"^transitions: "):
        crf.decode(EMISSIONS)


def test_tags_where_the_mask_is_off_may_be_anything() -> None:
    crf, mask = CRF(4), torch.tensor([[1, 1, 0], [1, 0, 0]])
    wild = torch.where(mask == 1, TAGS, 999)
    torch.testing.assert_close(crf.loss(EMISSIONS, wild, mask), crf.loss(EMISSIONS, TAGS, mask))


def test_one_warning_of_probabilities() -> None:
    crf, probabilities = CRF(4), EMISSIONS.softmax(2)
    with pytest.warns(UserWarning, match=r"^tagline\.nn\.CRF: "):
        crf.loss(probabilities, TAGS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crf.loss(probabilities, TAGS)
        CRF(4).loss(EMISSIONS, TAGS)
        CRF(4).loss(EMISSIONS.log_softmax(2), TAGS)


def test_the_engine_can_be_chosen() -> None:
    assert tensor_engine() == "auto"
    with using_tensor_engine("batched"):
        assert tensor_engine() == "batched"
        with pytest.raises(InputError, match=r"^tensor engine: .*'fast'"):
            use_tensor_engine("fast")
    assert tensor_engine() == "auto"


def test_the_environment_chooses_the_engine() -> None:
    ask = [sys.executable, "-c", "from tagline import nn; print(nn.tensor_engine())"]
    named = subprocess.run(ask, env={**os.environ, "TAGLINE_TENSOR_ENGINE": "batched"}, capture_output=True, text=True)
    assert named.stdout == "batched\n"
    wrong = subprocess.run(ask, env={**os.environ, "TAGLINE_TENSOR_ENGINE": "wrong"}, capture_output=True, text=True)
    assert wrong.returncode != 0
    assert "InputError: TAGLINE_TENSOR_ENGINE: expected one of" in wrong.stderr


def test_the_core_is_for_the_cpu() -> None:
    pytest.importorskip("tagline._core")
    crf = CRF(4).to("meta")
    with (
        using_tensor_engine("native"),
        pytest.raises(InputError, match=r'^tensor engine "native": '),
    ):
        crf.log_partition(EMISSIONS.to("meta"))
