"""A neural tagger to a file and back, and through pickle and copy: settings and arrays of `tagline.storage`.

    model, version      the kind ("bilstm", "transformer"), and the number of this layout
    labels, scheme      strings, and the tag scheme whose rules hold
    network             what the network is built from; a kind of tagger says what that is
    settings, training  the estimator's parameters; `Facts`

and the arrays ``network.…``, the state of the PyTorch module by its names, and ``coder.…``, what turns sentences into
numbers: vocabularies, or a tokenizer. No code is kept and none is run; names, shapes and types of all arrays are
checked against the network that is built first, and every number must be finite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from tagline import storage
from tagline.errors import StorageError
from tagline.models.network import Coder, Network
from tagline.models.packing import Facts, bad_file, facts_of, plain_settings, reading
from tagline.nn.heads import Tagger
from tagline.readers.roles import Rules, legal, scheme
from tagline.storage import ModelFile

VERSION = 1
MOST_LABELS = 2**14

_NETWORK, _CODER = "network.", "coder."
_CODE = ("callbacks", "verbose", "device")  # settings of the moment


class NeuralSaving:
    """The methods of a neural tagger that keep it."""

    kind: ClassVar[str]
    network_: Network
    training_: Facts

    def save(self, path: storage.Path) -> None:
        """Write the model to one file, whole or not at all; `tagline.load` reads it."""
        storage.write(path, *self._packed())

    @property
    def size_(self) -> int:
        """The size of the model file in bytes."""
        return len(storage.dumps(*self._packed()))

    @classmethod
    def from_file(cls, file: ModelFile, device: str = "auto") -> Self:
        """Make the model of a file that was read; see `tagline.load`."""
        out = cls()
        known = set(out._settings())
        with reading(file):
            for name, value in file.setting("settings", dict).items():
                if name in known:
                    setattr(out, name, value)
            out.device = device  # type: ignore[attr-defined]
            out.network_, out.training_ = out._unpacked(file), facts_of(file)
        return out

    # What a kind of tagger says.

    def _describe(self, network: Network) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What the coder and the network are built from: plain data, and the coder's arrays."""
        raise NotImplementedError

    def _rebuild(self, file: ModelFile, arrays: Mapping[str, NDArray[Any]]) -> Coder:
        """The coder that a file describes."""
        raise NotImplementedError

    def _skeleton(self, file: ModelFile, coder: Coder, num_labels: int, rules: Rules | None) -> Tagger:
        """The network that a file describes, with any weights."""
        raise NotImplementedError

    def _fitted(self) -> Network:
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        """The estimator's parameters that may be plain data."""
        found: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {name: value for name, value in found.items() if name not in _CODE}

    def _packed(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        network = self._fitted()
        described, arrays = self._describe(network)
        config = {
            "model": self.kind,
            "version": VERSION,
            "labels": list(network.labels),
            "scheme": network.scheme,
            "network": described,
            "settings": plain_settings(self._settings()),
            "training": self.training_.as_dict(),
        }
        state = {_NETWORK + name: value.detach().cpu().numpy() for name, value in network.tagger.state_dict().items()}
        return config, {**{_CODER + name: array for name, array in arrays.items()}, **state}

    def _unpacked(self, file: ModelFile) -> Network:
        from tagline.models.neural import device_of

        version = file.setting("version", int)
        if version > VERSION:
            raise StorageError(
                f"{file.source}: expected a {self.kind} tagger of layout {VERSION} or older, got {version}, written by "
                "a newer Tagline; upgrade Tagline to read it"
            )
        labels = _labels(file)
        name = file.config.get("scheme")
        if name is not None and not isinstance(name, str):
            raise bad_file(file, "the name of a tag scheme", name)
        rules = None if name is None else legal(labels, scheme(name))
        arrays = {key.removeprefix(_CODER): one for key, one in file.tensors.items() if key.startswith(_CODER)}
        coder = self._rebuild(file, arrays)
        tagger = self._skeleton(file, coder, len(labels), rules)
        _fill(tagger, file)
        return Network(tuple(labels), name, coder, tagger.to(device_of(self.device)).eval())  # type: ignore[attr-defined]

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy keep: of a fitted model the bytes of its file, everything else as it is."""
        state = dict(vars(self))
        if "network_" in state:
            state["_file"] = storage.dumps(*self._packed())
            del state["network_"], state["training_"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest = dict(state)
        data = rest.pop("_file", None)
        self.__dict__.update(rest)
        if data is not None:
            file = storage.loads(data, source="<pickle>")
            self.network_, self.training_ = self._unpacked(file), facts_of(file)


def _labels(file: ModelFile) -> list[str]:
    labels = file.setting("labels", list)
    if not 1 <= len(labels) <= MOST_LABELS or not all(isinstance(label, str) for label in labels):
        raise bad_file(file, f"1 to {MOST_LABELS} labels that are strings", labels)
    if len(set(labels)) != len(labels):
        raise bad_file(file, "labels, each once", labels)
    return labels


def _fill(tagger: Tagger, file: ModelFile) -> None:
    """Load the weights of a file into a network of the same shape."""
    state = {}
    stored = {key.removeprefix(_NETWORK) for key in file.tensors if key.startswith(_NETWORK)}
    wanted = tagger.state_dict()
    if strange := stored ^ wanted.keys():
        raise bad_file(file, f"{len(wanted)} arrays of the network", ", ".join(sorted(strange)))
    for name, value in wanted.items():
        kind = np.dtype(str(value.dtype).removeprefix("torch.").replace("bool", "bool_"))
        array = file.tensor(_NETWORK + name, kind, *value.shape)
        if kind.kind == "f" and not np.isfinite(array).all():
            raise bad_file(file, f"finite numbers in {_NETWORK}{name}", "others")
        state[name] = torch.from_numpy(np.array(array))  # a copy: PyTorch knows no read-only memory
    tagger.load_state_dict(state)
