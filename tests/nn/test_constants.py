"""Rules, tied groups and lengths of segments survive every way in which modules are built, copied and moved."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from tagline import InputError  # noqa: E402
from tagline.nn import CRF, SemiCRF  # noqa: E402
from tagline.nn.heads import CRFHead  # noqa: E402
from tagline.readers.schemes import legal  # noqa: E402

LABELS = ["O", "B-X", "I-X", "B-Y"]
L = len(LABELS)
RULES = legal(LABELS, "IOB2")
GROUPS = np.array([[0, 1, 1, 2], [2, 0, 1, 1], [2, 2, 0, 1], [2, 2, 2, 0]])


class Network(nn.Module):
    """Every layer that holds more than its parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.crf = CRF(L, constraints=RULES)
        self.tied = CRF(L, constraints=RULES.transitions.tolist(), tied=GROUPS)
        self.segments = SemiCRF(L, 3, longest=[1, 3, 2, 3])
        self.head = CRFHead(5, L, rules=RULES)

    def forward(self, emissions: Any, scores: Any) -> Any:
        dtype = emissions.dtype
        layers = (self.crf, self.tied, self.head.crf)
        found = [part for layer in layers for part in layer.scores(dtype)]
        return [layer.log_partition(emissions) for layer in layers] + [self.segments.log_partition(scores)] + found


@pytest.fixture
def trained() -> Network:
    torch.manual_seed(3)
    return Network()


@contextmanager
def empty_weights() -> Iterator[None]:
    """What accelerate's `init_empty_weights(include_buffers=True)` does: each parameter and buffer goes to meta."""
    before = nn.Module.register_parameter, nn.Module.register_buffer

    def parameter(self: Any, name: str, value: Any) -> None:
        before[0](self, name, value)
        if value is not None:
            self._parameters[name] = nn.Parameter(value.to("meta"), requires_grad=value.requires_grad)

    def buffer(self: Any, name: str, value: Any, persistent: bool = True) -> None:
        before[1](self, name, value, persistent=persistent)
        if value is not None:
            self._buffers[name] = value.to("meta")

    nn.Module.register_parameter, nn.Module.register_buffer = parameter, buffer  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        nn.Module.register_parameter, nn.Module.register_buffer = before  # type: ignore[method-assign]


def on_meta() -> Network:
    with torch.device("meta"):
        return Network()


def emptied(trained: Network, strict: bool = True) -> Network:
    """Memory that was not cleared; here it holds what would allow everything."""
    made = on_meta().to_empty(device="cpu")
    for buffer in made.buffers():
        buffer.fill_(1)
    made.load_state_dict(trained.state_dict(), strict=strict)
    return made


def returned(trained: Network) -> Network:
    made = emptied(trained).to("meta").to_empty(device="cpu")
    made.load_state_dict(trained.state_dict())
    return made


def assigned(trained: Network) -> Network:
    made = on_meta()
    made.load_state_dict(trained.state_dict(), assign=True)
    return made


def accelerated(trained: Network) -> Network:
    with empty_weights():
        made = Network()
    assert next(made.parameters()).is_meta
    for name, value in trained.state_dict().items():
        place, _, own = name.rpartition(".")
        made.get_submodule(place)._parameters[own] = nn.Parameter(value)
    return made


def through_a_file(trained: Network) -> Network:
    file = io.BytesIO()
    torch.save(trained, file)
    file.seek(0)
    made: Network = torch.load(file, weights_only=False)
    return made


WAYS: dict[str, Callable[[Network], Network]] = {
    "to_empty": emptied,
    "to_empty, not strict": lambda trained: emptied(trained, False),
    "assign": assigned,
    "one by one": accelerated,
    "deepcopy": copy.deepcopy,
    "pickle": lambda trained: pickle.loads(pickle.dumps(trained)),
    "torch.save": through_a_file,
    "double and back": lambda trained: copy.deepcopy(trained).double().float(),
    "to meta and back": returned,
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_fixed_survives(trained: Network, way: str) -> None:
    emissions, scores = torch.randn(2, 5, L), torch.randn(2, 5, 3, L)
    made = WAYS[way](trained)
    assert made.state_dict().keys() == trained.state_dict().keys()
    for found, expected in zip(made(emissions, scores), trained(emissions, scores), strict=True):
        assert torch.equal(found, expected)


def test_the_state_dict_has_parameters_alone(trained: Network) -> None:
    assert not [*trained.buffers()]
    assert trained.crf.state_dict().keys() == {"transitions", "start_transitions", "end_transitions"}


def test_half_precision(trained: Network) -> None:
    halved = copy.deepcopy(trained).half()
    for found, expected in zip(halved.crf.scores(torch.float32), trained.crf.scores(torch.float32), strict=True):
        assert torch.equal(torch.isneginf(found), torch.isneginf(expected))
    assert torch.isneginf(halved.crf.scores(torch.float32)[1]).tolist() == (~RULES.start).tolist()


def test_from_pretrained(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")

    class Configuration(transformers.PretrainedConfig):  # type: ignore[name-defined,misc]
        model_type = "tagline-test"

    class Model(transformers.PreTrainedModel):  # type: ignore[name-defined,misc]
        config_class = Configuration

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.network = Network()
            self.post_init()

    torch.manual_seed(3)
    saved = Model(Configuration())
    saved.save_pretrained(tmp_path)
    emissions, scores = torch.randn(2, 5, L), torch.randn(2, 5, 3, L)
    loaded = Model.from_pretrained(tmp_path)
    for found, expected in zip(loaded.network(emissions, scores), saved.network(emissions, scores), strict=True):
        assert torch.equal(found, expected)


@pytest.mark.parametrize("first", ["inference", "func", "compile"])
def test_gradients_whatever_came_first(trained: Network, first: str) -> None:
    """Nothing that only holds inside of a mode or of a trace is kept for later."""
    made, emissions = assigned(trained), torch.randn(2, 5, L)
    tags = trained.crf.decode(emissions, pad_tag=-1).tags
    for layer in (made.crf, made.tied):
        for constant in (layer._may_follow, layer._may_start, layer._may_end, getattr(layer, "_groups", None)):
            if constant is not None:
                constant._copies.clear()  # as on a device on which nothing was asked so far
        if first == "inference":
            with torch.inference_mode():
                layer.decode(emissions)
        elif first == "func":
            torch.func.grad(layer.loss)(emissions, tags)
        else:
            compiled = torch.compile(layer.loss, backend="aot_eager", fullgraph=True)
            torch.testing.assert_close(compiled(emissions, tags), layer.loss(emissions, tags))
    for name in ("crf", "tied"):
        slopes = []
        for network in (trained, made):
            layer = getattr(network, name)
            slopes.append(torch.autograd.grad(layer.loss(emissions, tags), [*layer.parameters()]))
        for found, expected in zip(*reversed(slopes), strict=True):
            torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", ["constraints", "tied"])
def test_tensors_without_values_are_refused(name: str) -> None:
    values = torch.ones(L, L, dtype=torch.bool if name == "constraints" else torch.int64)
    with torch.device("meta"):
        assert CRF(L, **{name: values}).num_tags == L
        with pytest.raises(InputError, match=f"^{name}: .*meta"):
            CRF(L, **{name: values.to("meta")})
