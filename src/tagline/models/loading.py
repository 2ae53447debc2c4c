"""From a model file to a model, whichever kind it is: `tagline.load`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tagline.errors import StorageError
from tagline.models.answers import SequenceModel
from tagline.storage import Path, read

_HOMES = {
    "crf": ("tagline.models.crf.estimator", "CRF"),
    "hmm": ("tagline.models.hmm.estimator", "HMM"),
    "bilstm": ("tagline.models.neural.bilstm", "BiLSTMCRF"),
    "transformer": ("tagline.models.neural.transformer", "TransformerCRF"),
    "trigram": ("tagline.models.trigram.estimator", "TrigramTagger"),
}

CHECKPOINT = "training checkpoint"  # what `tagline.training.neural.checkpoints` writes; that needs PyTorch


def load(path: Path, *, verify: bool = True, **options: Any) -> SequenceModel:
    """Return the model that `save` wrote; its arrays are mapped, and no code of the file is run.

    Arguments:
        path: of the file.
        verify: compare the checksum, which reads the whole file once.
        options: what a kind of model cannot keep in a file. For a CRF: ``features``, the function that it was trained
            with. For neural taggers: ``device``.

    >>> import os, tempfile
    >>> from tagline import CRF, load
    >>> model = CRF(c2=0.1).fit([[{"word": "Anna"}, {"word": "sings"}]], [["N", "V"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "tiny.tagline"))
    ...     load(os.path.join(folder, "tiny.tagline")).predict([[{"word": "sings"}]])
    [['V']]
    """
    file = read(path, verify=verify)
    kind = file.setting("model", str)
    if kind == CHECKPOINT:
        raise StorageError(
            f"{file.source}: expected a model, got a {CHECKPOINT}; go on with it (resume=True, or tagline train "
            "--checkpoint FILE --resume) to get one"
        )
    if kind not in _HOMES:
        raise StorageError(
            f"{file.source}: expected a model of kind {' or '.join(_HOMES)}, got {kind!r:.60}; upgrade Tagline, or "
            "name another file"
        )
    home, name = _HOMES[kind]
    model: SequenceModel = getattr(import_module(home), name).from_file(file, **options)
    return model
