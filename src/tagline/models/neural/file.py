"""The layout of a neural tagger in a model file: settings and arrays, in and out.

    model, version      the kind ("bilstm", "transformer"), and the number of this layout
    labels, scheme      strings, and the tag scheme whose rules hold
    network             the plan that the network was built from, and what its coder needs besides arrays
    settings, training  the estimator's parameters; `TrainingFacts`

and the arrays ``network.…``, the state of the PyTorch module by its names, and ``coder.…``, what turns sentences into
numbers: vocabularies, or a tokenizer. No code is kept and none is run; names, shapes and types of all arrays are
checked before a network is built from them, and every number must be finite.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tagline.errors import TaglineError
from tagline.messages import message
from tagline.models.files import (
    Packed,
    StoredModel,
    TrainingFacts,
    bad_file,
    config_of,
    facts_of,
    group_of,
    labels_of,
    reading,
    scheme_of,
    settings_of,
)
from tagline.models.neural.network import Coder, Network, device_of
from tagline.nn.heads import Tagger
from tagline.readers.corpus import TOKEN, Corpus
from tagline.readers.rules import Rules, legal
from tagline.storage import ModelFile
from tagline.training.iteration import Step

VERSION = 1

_NETWORK, _CODER = "network.", "coder."
_CODE = ("callbacks", "verbose", "device")  # settings of the moment


class StoredNetwork(StoredModel):
    """The methods of a neural tagger that keep it."""

    kind: ClassVar[str]
    _LEARNED: ClassVar[tuple[str, ...]] = ("network_", "training_")
    device: str
    network_: Network
    training_: TrainingFacts
    training_log_: tuple[Step, ...]

    @classmethod
    def from_file(cls, file: ModelFile, device: str = "auto") -> Self:
        """Make the model of a file that was read; see `tagline.load`."""
        device_of(device)  # first of all, whether there is one
        out = cls()
        with reading(file):
            out._set(settings_of(file))
        out.device = device
        out._take(file)
        out.training_log_ = ()
        return out

    def _take(self, file: ModelFile) -> None:
        with reading(file, VERSION, message("a {} tagger", self.kind)):
            self.network_, self.training_ = self._unpacked(file, device_of(self.device)), facts_of(file)
        self._keep_trained()

    # What a kind of tagger says.

    def _describe(self, network: Network) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What the coder is rebuilt from, besides the plan: plain data and arrays."""
        raise NotImplementedError

    def _rebuild(self, file: ModelFile, arrays: Mapping[str, NDArray[Any]]) -> tuple[Coder, dict[str, Any]]:
        """The coder and the plan that a file describes."""
        raise NotImplementedError

    def _build(
        self, plan: Mapping[str, Any], coder: Coder, num_labels: int, rules: Rules | None, state: Mapping[str, Tensor]
    ) -> Tagger:
        """The network of a plan with these weights, which are checked before anything large is made."""
        raise NotImplementedError

    def _fitted(self) -> Network:
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        """The estimator's settings that may be plain data; paths as strings."""
        return {
            name: os.fspath(value) if isinstance(value, os.PathLike) else value
            for name, value in super()._settings().items()
            if name not in _CODE
        }

    def _packed(self) -> Packed:
        network = self._fitted()
        described, arrays = self._describe(network)
        own = {"scheme": network.scheme, "network": {**network.plan, **described}}
        config = config_of(self.kind, VERSION, network.labels, own, self._settings(), self.training_)
        state = {_NETWORK + name: value.detach().cpu().numpy() for name, value in network.tagger.state_dict().items()}
        return config, {**{_CODER + name: array for name, array in arrays.items()}, **state}

    def _unpacked(self, file: ModelFile, device: torch.device) -> Network:
        labels, name = labels_of(file), scheme_of(file)
        file.tensor("network.head.linear.bias", np.float32, len(labels))  # before tables of L² numbers are made
        rules = None if name is None else legal(labels, name)
        coder, plan = self._rebuild(file, group_of(file, _CODER))
        with torch.random.fork_rng(devices=[]):  # modules draw weights before they are given any
            tagger = self._build(plan, coder, len(labels), rules, _state(file))
        network = Network(labels, name, coder, tagger.eval(), plan)
        _try_out(file, network)
        tagger.to(device)
        return network


def planned(file: ModelFile, name: str, *kinds: type) -> Any:
    """Return one of the values that the network of a file is built from, which must be of one of these types."""
    value = file.setting("network", dict).get(name, ...)
    if type(value) not in kinds or (type(value) is int and abs(value) >= 2**31):  # a size, which PyTorch keeps in int64
        raise bad_file(file, message("{} of the network", name), value)
    return value


def _try_out(file: ModelFile, network: Network) -> None:
    """Refuse a network that cannot score a sentence: not all that a plan says shows in the shapes of weights."""
    try:
        list(network.chains(network.coder.read(Corpus.from_sentences([{TOKEN: ["a", "b"]}]))))
    except TaglineError:
        raise
    except Exception as error:  # of PyTorch and of the libraries of encoders, of many classes
        raise bad_file(file, message("a network that scores sentences"), str(error)) from None


def _state(file: ModelFile) -> dict[str, Tensor]:
    """The weights of a file; copies, for PyTorch knows no read-only memory."""
    state = {}
    for name, array in group_of(file, _NETWORK).items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise bad_file(file, message("finite numbers in {}{}", _NETWORK, name), message("others"))
        state[name] = torch.from_numpy(np.array(array))
    return state
