"""The layer in a user's life: autocast, compile, copies, checkpoints, several processes, learning."""

from __future__ import annotations

import copy
import io
import os
import pickle
import socket
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.multiprocessing as mp  # noqa: E402
from torch import nn  # noqa: E402

from tagline.nn import CRF, losses, using_tensor_engine  # noqa: E402
from tagline.readers.schemes import legal  # noqa: E402

L = 3
RULES = legal(["O", "B-X", "I-X"], "IOB2")


class Tagger(nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.linear = nn.Linear(4, L)
        self.crf = CRF(L, **options)

    def forward(self, inputs: Any, tags: Any, mask: Any) -> Any:
        return self.crf.loss(self.linear(inputs), tags, mask)


def batch(B: int = 4, T: int = 5) -> tuple[Any, Any, Any]:
    torch.manual_seed(B)
    mask = torch.arange(T) < torch.randint(1, T + 1, (B, 1))
    return torch.randn(B, T, 4), torch.randint(0, 2, (B, T)), mask


def gradients(model: nn.Module) -> list[Any]:
    return [parameter.grad.clone() for parameter in model.parameters()]


# What torch says of parts of its own compiler that are to go.
of_dynamo = pytest.mark.filterwarnings(
    "ignore:.*(should not be instantiated|torch.jit.script_method):DeprecationWarning"
)


@of_dynamo
@pytest.mark.parametrize("engine", ["auto", "batched"])
@pytest.mark.parametrize("lengths", [False, True])
def test_compile_without_a_break(engine: str, lengths: bool) -> None:
    inputs, tags, mask = batch()
    model = Tagger(constraints=RULES)
    wanted = model(inputs, tags, mask)
    wanted.backward()
    expected = gradients(model)
    model.zero_grad()

    def loss(x: Any, y: Any, m: Any) -> Any:
        given = {"lengths": m.sum(1)} if lengths else {"mask": m}
        return model.crf.loss(model.linear(x), y, **given)

    with using_tensor_engine(engine):
        torch._dynamo.reset()
        found = torch.compile(loss, backend="aot_eager", fullgraph=True)(inputs, tags, mask)
        found.backward()
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(gradients(model), expected)


@of_dynamo
def test_compiled_answers() -> None:
    inputs, _, mask = batch()
    model = Tagger()

    def answers(x: Any, m: Any) -> Any:
        scores = model.linear(x)
        crf = model.crf
        return crf.decode(scores, m, pad_tag=-1).tags, crf.log_partition(scores, m), crf.marginals(scores.detach(), m)

    torch._dynamo.reset()
    with torch.no_grad():
        found = torch.compile(answers, backend="aot_eager", fullgraph=True)(inputs, mask)
        torch.testing.assert_close(found, answers(inputs, mask))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("options", [{}, {"rank": 2}])
def test_autocast(kind: Any, options: Any) -> None:
    inputs, tags, mask = batch()
    model = Tagger(**options)
    with torch.autocast("cpu", kind):
        emissions = model.linear(inputs)
        assert emissions.dtype == kind
        loss = model.crf.loss(emissions, tags, mask)
        marginals = model.crf.marginals(emissions, mask)
        smoothed = model.crf.loss(emissions, tags, mask, objective=losses.LabelSmoothing())
    assert loss.dtype == marginals.dtype == smoothed.dtype == torch.float32
    torch.testing.assert_close(loss, model.crf.loss(emissions.float(), tags, mask))
    loss.backward()
    assert all(torch.isfinite(part).all() for part in gradients(model))


def test_a_half_precision_layer() -> None:
    crf = CRF(L).half()
    found = crf.loss(torch.randn(2, 3, L).half(), torch.zeros(2, 3, dtype=torch.long))
    found.backward()
    assert found.dtype == torch.float32
    assert crf.transitions.grad.dtype == torch.float16


@pytest.mark.parametrize("options", [{"constraints": RULES}, {"rank": 2}, {"tied": [[0, 1, 1], [0, 0, 1], [1, 1, 0]]}])
def test_copies_and_checkpoints(options: Any) -> None:
    inputs, tags, mask = batch()
    model = Tagger(**options)
    wanted = model(inputs, tags, mask)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(twin(inputs, tags, mask), wanted)
    kept = io.BytesIO()
    torch.save(model.state_dict(), kept)
    kept.seek(0)
    other = Tagger(**options)
    other.load_state_dict(torch.load(kept, weights_only=True))
    torch.testing.assert_close(other(inputs, tags, mask), wanted)


def test_checkpoints_of_pytorch_crf() -> None:
    theirs = pytest.importorskip("torchcrf").CRF(L, batch_first=True)
    ours = CRF(L, constraints=RULES)
    assert ours.load_state_dict(theirs.state_dict()).missing_keys == []
    assert set(theirs.state_dict()) == set(ours.state_dict())


def test_data_parallel() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"  # DataParallel takes the GPUs that it finds
    inputs, tags, mask = (tensor.to(device) for tensor in batch())
    model = Tagger().to(device)
    torch.testing.assert_close(nn.DataParallel(model)(inputs, tags, mask), model(inputs, tags, mask))


def _worker(rank: int, port: int, kept: str) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(Tagger())
    inputs, tags, mask = batch()
    half = slice(2 * rank, 2 * rank + 2)
    model(inputs[half], tags[half], mask[half]).backward()
    if rank == 0:
        torch.save(gradients(model), kept)
    torch.distributed.barrier()
    del model  # it holds the group, whose threads must end before the process does
    torch.distributed.destroy_process_group()


def test_two_processes(tmp_path: Any) -> None:
    """Each with half of the batch, the gradients are those of one with all of it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kept = str(tmp_path / "gradients")
    mp.spawn(_worker, (port, kept), nprocs=2)
    torch.manual_seed(0)
    model = Tagger()
    model(*batch()).backward()
    torch.testing.assert_close(torch.load(kept, weights_only=True), gradients(model))


def test_it_learns_what_only_transitions_tell() -> None:
    """0 → 1 → 2 → 0 with only the first token informative: accuracy 1 is reached."""
    crf = CRF(3)
    tags = torch.tensor([[(first + t) % 3 for t in range(6)] for first in range(3)])
    emissions = torch.zeros(3, 6, 3)
    emissions[torch.arange(3), 0, torch.arange(3)] = 5.0
    descent = torch.optim.SGD(crf.parameters(), lr=0.5)
    for _ in range(150):
        descent.zero_grad()
        crf.loss(emissions, tags).backward()
        descent.step()
    assert crf.decode(emissions) == tags.tolist()


@pytest.mark.parametrize("engine", ["auto", "batched"])
def test_gradients_by_finite_differences(engine: str) -> None:
    crf = CRF(L).double()
    emissions = torch.randn(2, 3, L, dtype=torch.float64, requires_grad=True)
    tags, mask = torch.tensor([[0, 1, 2], [2, 0, 0]]), torch.tensor([[True, False, True], [True, True, False]])

    def loss(scores: Any, transitions: Any) -> Any:
        return torch.func.functional_call(crf, {"transitions": transitions}, (scores, tags, mask))

    with using_tensor_engine(engine):
        inputs = (emissions, crf.transitions.detach().clone().requires_grad_())
        assert torch.autograd.gradcheck(loss, inputs)
        assert torch.autograd.gradgradcheck(loss, inputs)
