"""Embedding tables: the gradient against PyTorch's own, by both ways, and its bits on a GPU."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tagline.nn import embedding  # noqa: E402
from tagline.nn.embedding import Embedding, rows_of  # noqa: E402

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def case(V: int, shape: tuple[int, ...], D: int, device: str = "cpu", dtype: Any = torch.float64) -> tuple[Any, ...]:
    draw = torch.Generator().manual_seed(V)
    table = torch.randn(V, D, generator=draw, dtype=dtype).to(device).requires_grad_()
    ids = torch.randint(0, V, shape, generator=draw).to(device)
    return table, ids, torch.randn(*shape, D, generator=draw, dtype=dtype).to(device)


@pytest.mark.parametrize("padding", [None, 0, 3])
@pytest.mark.parametrize("cells", [embedding.MOST_CELLS, 10], ids=["product", "kernel"])
def test_the_gradient_is_that_of_pytorch(padding: int | None, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "MOST_CELLS", cells)
    table, ids, slope = case(7, (4, 6), 5)
    found = embedding._Lookup.apply(table, ids, padding)
    expected = torch.nn.functional.embedding(ids, table, padding)
    assert torch.equal(found, expected)
    (one,), (other,) = (torch.autograd.grad(rows, [table], slope) for rows in (found, expected))
    torch.testing.assert_close(one, other, rtol=1e-14, atol=1e-14)
    assert not torch.are_deterministic_algorithms_enabled()


@on_gpu
@pytest.mark.parametrize(("V", "shape", "D"), [(13, (256, 16), 4), (100, (2048, 32), 30), (2000, (64, 128), 60)])
@pytest.mark.parametrize("cells", [embedding.MOST_CELLS, 10], ids=["product", "kernel"])
def test_the_same_bits_every_time(
    V: int, shape: tuple[int, ...], D: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "MOST_CELLS", cells)
    table, ids, slope = case(V, shape, D, "cuda", torch.float32)
    ids[:, shape[1] // 4 :] = 1  # a frequent one, whose sum PyTorch's kernel splits
    runs = [torch.autograd.grad(rows_of(table, ids, 0), [table], slope)[0] for _ in range(10)]
    assert all(torch.equal(runs[0], again) for again in runs[1:])


def test_a_table_is_one_of_pytorch() -> None:
    table = Embedding(5, 3, padding_idx=0)
    assert isinstance(table, torch.nn.Embedding)
    assert list(table.state_dict()) == ["weight"]
    ids = torch.tensor([[1, 0, 4]])
    assert torch.equal(table(ids), torch.nn.functional.embedding(ids, table.weight))
