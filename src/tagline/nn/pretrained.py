"""Pretrained encoders from a folder or the hub: a model and its tokenizer, checked to belong together.

A name is looked for as a folder, then among the files that were downloaded before, then on the Hugging Face hub. Code
that a repository brings along is never run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from os.path import exists, isdir, join
from typing import Any, TypeVar

import torch
from torch import Tensor

from tagline.errors import InputError
from tagline.features.lexicons.embeddings import Embeddings
from tagline.features.subwords import PieceTable
from tagline.messages import message
from tagline.nn.classifiers import ENDING, Classifier, label_names, linear_on_top
from tagline.nn.library import library, quietly
from tagline.nn.transformer import TransformerEncoder, max_length_of

USUAL_LENGTH = 512
"""Pieces of a window unless more are asked for: attention costs their square."""

_HUB_NAME = re.compile(r"\w[\w.-]*(/[\w.-]+)?")

Loaded = TypeVar("Loaded")


def pretrained(
    name: str | PathLike[str], *, max_length: int | None = None, stride: int = 64, **settings: Any
) -> tuple[TransformerEncoder, PieceTable]:
    """Load an encoder and its tokenizer.

    Arguments:
        name: a folder with config.json, weights and tokenizer, or a name on the hub such as "bert-base-cased".
        max_length: pieces of a window; 512 or what the encoder takes, whichever is less, when left out.
        stride: pieces of context where a long sentence is cut.
        settings: pooling, dropout, freeze, checkpointing of `TransformerEncoder`.
    """
    transformers, place = library(), fspath(name)
    with quietly():
        model = _model(place, transformers.AutoModel)
        tokenizer = _tokenizer(place)
    return _checked(model, tokenizer, max_length, stride, settings)


def pretrained_tagger(
    name: str | PathLike[str], *, max_length: int | None = None, stride: int = 64, **settings: Any
) -> tuple[TransformerEncoder, PieceTable, Classifier | None]:
    """Load what `pretrained` does, and the layer of labels where the files are a checkpoint for token classification.

    The layer is None where they are not, or where more than one layer stands between encoder and labels.
    """
    transformers, place = library(), fspath(name)
    with quietly():
        if not _is_tagger(_config(place)):
            return *pretrained(name, max_length=max_length, stride=stride, **settings), None
        model = _model(place, transformers.AutoModelForTokenClassification)
        tokenizer = _tokenizer(place)
    return *_checked(model.base_model, tokenizer, max_length, stride, settings), Classifier.of(model)


def stored_tagger(name: str) -> tuple[Mapping[str, Tensor], Mapping[str, Tensor], list[str]]:
    """Load what `save_checkpoint` wrote: weights of the encoder, of the layer of labels if it is there, and labels."""
    transformers = library()
    with quietly():
        config = _config(name)
        tagger = _is_tagger(config)
        model = _model(name, transformers.AutoModelForTokenClassification if tagger else transformers.AutoModel)
    linear = linear_on_top(model) if tagger else None
    encoder = TransformerEncoder(model.base_model if tagger else model)
    labels = label_names(config.id2label, len(config.id2label))
    return encoder.state_dict(), {} if linear is None else linear.state_dict(), labels


def companion(place: str, name: str, mark: str) -> str | None:
    """Find a file beside an encoder's own: None where it is not there, and config.json does not ask for it.

    Arguments:
        place: the folder, or the name on the hub.
        name: of the file.
        mark: the entry of config.json that asks for it.
    """
    if isdir(place) and exists(join(place, name)):
        return join(place, name)
    library()
    with quietly():
        asked = getattr(_config(place), mark, None)
    if asked is None:
        return None
    try:
        if isdir(place):
            raise FileNotFoundError(message("no {} in the folder", name))
        import huggingface_hub

        return huggingface_hub.hf_hub_download(place, name)
    except Exception as error:
        raise InputError(
            "{}: expected {} beside config.json, which asks for it, got: {}; copy it from where the "
            "model was saved, or take {} out of config.json to begin with the encoder and classifier alone",
            place,
            name,
            _shown(error),
            mark,
        ) from error


def _is_tagger(config: Any) -> bool:
    """Whether a configuration is that of a checkpoint for token classification."""
    return any(str(kind).endswith(ENDING) for kind in config.architectures or ())


def _checked(
    model: Any, tokenizer: Any, max_length: int | None, stride: int, settings: dict[str, Any]
) -> tuple[TransformerEncoder, PieceTable]:
    """An encoder and its tokenizer, which fit together."""
    encoder = TransformerEncoder(model, **settings)
    table = piece_table(tokenizer, model, max_length=max_length, stride=stride)
    encoder.check(table)
    return encoder, table


def input_vectors(name: str | PathLike[str]) -> Embeddings:
    """Return the vectors of words that an encoder begins with, of those words that are one piece to it.

    Arguments:
        name: as in `pretrained`.
    """
    encoder, table = pretrained(name)
    words = table.whole_words()
    if not words:
        raise InputError("encoder {}: expected pieces that are words, got none", fspath(name))
    embeddings: Any = encoder.model.get_input_embeddings()
    vectors = embeddings.weight.detach().float()
    return Embeddings(tuple(words), vectors[list(words.values())].numpy())


def piece_table(tokenizer: Any, model: Any, *, max_length: int | None = None, stride: int = 64) -> PieceTable:
    """Make the table of a tokenizer of the library transformers for a model of it."""
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            "tokenizer: expected a fast one, which has a tokenizer.json, got {}; save the fast one of this "
            "encoder beside its weights",
            type(tokenizer).__name__,
        )
    if {*tokenizer.get_vocab().values()} <= {*tokenizer.all_special_ids}:
        raise InputError(
            "tokenizer: expected one that knows pieces of words, got one that knows none; its tokenizer.json or "
            "vocab.txt is missing from the encoder's folder"
        )
    limits = [max_length_of(model), int(min(tokenizer.model_max_length, 2**31))]
    limit = min(length for length in (*limits, USUAL_LENGTH) if length is not None)
    unknown = [tokenizer.unk_token_id, tokenizer.mask_token_id, tokenizer.pad_token_id]
    padding = [tokenizer.pad_token_id, model.config.pad_token_id, 0]
    return PieceTable(
        tokenizer.backend_tokenizer.to_str(),
        unknown=next((piece for piece in unknown if piece is not None), 0),
        padding=next(piece for piece in padding if piece is not None),
        max_length=limit if max_length is None else max_length,
        stride=stride,
    )


def _config(place: str) -> Any:
    """What config.json says."""
    load = library().AutoConfig.from_pretrained
    return _loaded(place, lambda **where: load(place, trust_remote_code=False, **where))


def _tokenizer(place: str) -> Any:
    load = library().AutoTokenizer.from_pretrained
    return _loaded(place, lambda **where: load(place, trust_remote_code=False, **where))


def _model(place: str, owner: Any) -> Any:
    """A model of a class of the library's, with weights for all of it."""
    asked: dict[str, Any] = {"output_loading_info": True, "ignore_mismatched_sizes": True}  # both are checked here
    model, report = _loaded(
        place,
        lambda **where: owner.from_pretrained(place, trust_remote_code=False, dtype=torch.float32, **asked, **where),
    )
    if others := [*report["mismatched_keys"]]:
        name, has, wants = sorted(others)[0]
        raise InputError(
            "encoder {}: expected weights of the shapes that its config.json says, got {} instead of "
            "{} for {} (one of {}); take config.json and weights from the same model",
            place,
            [*has],
            [*wants],
            name,
            len(others),
        )
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise InputError(
            "encoder {}: expected weights for all of it, got none for {} and {} more; its files "
            "are of another kind of model than its config.json says",
            place,
            missing[0],
            len(missing) - 1,
        )
    return model


def _loaded(place: str, load: Callable[..., Loaded]) -> Loaded:
    """Load from a folder, from what was downloaded before, or from the hub."""
    if isdir(place):
        try:
            return load(local_files_only=True)
        except Exception as error:  # the library's errors are of many classes
            raise InputError("encoder {}: expected an encoder that loads, got: {}", place, _shown(error)) from error
    if exists(place):
        raise InputError("encoder {}: expected a folder with config.json, weights and tokenizer, got a file", place)
    if not _HUB_NAME.fullmatch(place):
        raise InputError("encoder {}: expected a folder, or a name on the Hugging Face hub, got no such folder", place)
    try:
        return load(local_files_only=True)
    except Exception:
        pass  # not downloaded yet, or not all of it
    import huggingface_hub  # transformers has brought it

    try:
        # Ask once ourselves: where nobody answers, the loader tries again for half a minute.
        huggingface_hub.get_hf_file_metadata(huggingface_hub.hf_hub_url(place, "config.json"))
        return load()
    except Exception as error:
        raise InputError(
            "encoder {0}: expected a folder, or a name on the Hugging Face hub, got neither: no such folder, "
            "nothing downloaded before, and the hub gave nothing ({1}); where there is no network, download "
            "it elsewhere (hf download {0} --local-dir FOLDER) and give the folder",
            place,
            _shown(error),
        ) from error


def _shown(error: Exception) -> str:
    """The first line of a message."""
    return (str(error).strip() or type(error).__name__).partition("\n")[0][:300]
