"""A transformer tagger as a folder of the library transformers: `save_pretrained` and `from_pretrained`.

    config.json          kind and sizes of the encoder, names of the labels (id2label, label2id)
    model.safetensors    weights of the encoder; those of the layer that scores labels as its classifier
    tokenizer files      as the library reads them
    tagline.safetensors  all else, in the layout of our model files: transitions, rules, tokenizer, settings

Other tools see a checkpoint for token classification, ``AutoModelForTokenClassification``, whose logits at the first
piece of a word are our emissions. `from_pretrained` puts the parts together again: the answers are the same to the bit.
A checkpoint without our file is the start of a tagger: its classifier gives the emissions, and transitions are 0.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

from numpy.typing import NDArray

from tagline import storage, writing
from tagline.checks import shown_value
from tagline.errors import InputError, StorageError
from tagline.messages import message
from tagline.models.files import FOLDER_FILE, FOLDER_PART, TrainingFacts
from tagline.models.neural.file import StoredNetwork
from tagline.models.neural.network import Network
from tagline.nn.classifiers import save_checkpoint
from tagline.nn.pretrained import companion, stored_tagger
from tagline.readers.sources import checked_path
from tagline.storage import ModelFile, Path

MARK = "tagline_chain"  # in config.json: the name of our file

_ENCODER, _LINEAR = "network.encoder.", "network.head.linear."


class FolderModel(StoredNetwork):
    """The methods of a transformer tagger that keep it in a folder."""

    scheme: str | None

    def save_pretrained(self, folder: Path) -> None:
        """Write the tagger as a folder that the library transformers reads, too.

        ``AutoModelForTokenClassification.from_pretrained(folder)`` has its encoder and emissions, but not its
        transitions; `from_pretrained` restores all of it.

        Arguments:
            folder: a new one, which appears whole or not at all; or one that is there: its other files stay.
        """
        network, place = self._fitted(), checked_path(folder)
        if os.path.exists(place) and not os.path.isdir(place):
            raise InputError("{}: expected a folder to write to, got a file; name another one", place)
        config, arrays = self._checked()
        tagger: Any = network.tagger
        coder: Any = network.coder
        try:
            with writing.new_folder(place, mix=os.path.isdir(place)) as new:
                whole = save_checkpoint(
                    new, tagger.encoder, tagger.head.linear, network.labels, coder.table, **{MARK: FOLDER_FILE}
                )
                rest = {name: array for name, array in arrays.items() if not _is_elsewhere(name, whole)}
                storage.write(os.path.join(new, FOLDER_FILE), {**config, "model": FOLDER_PART, "kind": self.kind}, rest)
        except OSError as error:
            remedy = writing.REMEDIES.get(error.errno or 0, message("make the folder above it or choose another place"))
            raise StorageError(
                "{:.400}: expected a place to write to, got: {}; {}", place, error.strerror, remedy
            ) from error

    @classmethod
    def from_pretrained(cls, folder: Path, *, device: str = "auto", **settings: Any) -> Self:
        """Make a tagger from a folder that `save_pretrained` wrote, or from a checkpoint for token classification.

        Of such a checkpoint (``AutoModelForTokenClassification``) the classifier gives the emissions and the names of
        labels; transitions are 0, so that each token gets the label that the classifier holds for the best. With
        ``scheme="IOB2"`` and the like illegal labellings are left out. `fit` goes on from there (``warm_start``).

        Arguments:
            folder: or a name on the Hugging Face hub.
            device: "auto", "cpu" or a GPU.
            settings: of the constructor, for the next `fit`; of a checkpoint those of the network, too (pooling, head,
                scheme, max_length, …).
        """
        place = checked_path(folder)
        own = companion(place, FOLDER_FILE, MARK)
        if own is None:
            return cls._from_checkpoint(place, {"device": device, **settings})
        model = cls.from_file(_joined(storage.read(own), place), device=device)
        model._change(settings)
        return model

    @classmethod
    def _from_checkpoint(cls, place: str, settings: Mapping[str, Any]) -> Self:
        usual = {"encoder": place, "scheme": None, "warm_start": True}
        model: Any = cls()
        model._change({**usual, **settings})
        if model.scheme == "auto":
            raise InputError(
                'scheme: expected a name such as "IOB2", or None, got "auto"; labels alone do not tell how they follow '
                "each other"
            )
        model.check()
        model.network_, model.training_, model.training_log_ = model._begun(place), TrainingFacts(), ()
        model._keep_trained()
        begun: Self = model
        return begun

    def _change(self, settings: Mapping[str, Any]) -> None:
        """Set parameters of the constructor, or say which there are."""
        known: Any = self
        names = known.get_params(deep=False)
        if odd := sorted(settings.keys() - names):
            raise InputError("{}: expected one of {}, got {}", odd[0], ", ".join(names), shown_value(settings[odd[0]]))
        known.set_params(**settings)

    def _begun(self, source: str) -> Network:
        """The network that a checkpoint stands for."""
        raise NotImplementedError


def _is_elsewhere(name: str, whole: bool) -> bool:
    """Whether an array is one of model.safetensors."""
    return name.startswith(_ENCODER) or (whole and name.startswith(_LINEAR))


def _joined(own: ModelFile, place: str) -> ModelFile:
    """The whole of a model whose weights are in two files, as `load` would read it from one."""
    if (kind := own.setting("model", str)) != FOLDER_PART:
        raise StorageError(
            "{}: expected a part of a folder, got a model of kind {!r}; use tagline.load", own.source, kind
        )
    encoder, classifier, labels = stored_tagger(place)
    if list(labels) != own.setting("labels", list):
        raise StorageError(
            "{}: expected the labels of {} as id2label of config.json, got others; both are of "
            "one save_pretrained: save the model anew",
            place,
            FOLDER_FILE,
        )
    config = {**own.config, "model": own.setting("kind", str)}
    arrays: dict[str, NDArray[Any]] = {_ENCODER + name: value.numpy() for name, value in encoder.items()}
    arrays |= {_LINEAR + name: value.numpy() for name, value in classifier.items()}
    size = own.size + sum(array.nbytes for array in arrays.values())
    return ModelFile(config, {**own.tensors, **arrays}, own.version, own.source, size)
