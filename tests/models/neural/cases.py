"""Small corpora, networks and encoders that the tests of the neural taggers share, and what their answers must be."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from itertools import pairwise, product
from string import ascii_letters
from typing import Any

import numpy as np
import pytest
import torch

from tagline import BiLSTMCRF, Corpus, TransformerCRF
from tagline import chain as engine
from tagline.features.lexicons.embeddings import Embeddings
from tagline.models.neural.tagger import NeuralTagger
from tagline.readers.rules import legal
from tagline.types import Chain

PEOPLE, PLACES = ("Anna", "Bob", "Carla Bruni", "Dave"), ("Rome", "New York", "Paris", "Bad Ems")
VERBS, REST = ("sees", "likes", "visits"), ("in", "the", "1996", "often", ",")

SMALL: dict[str, Any] = {
    **{"word_dim": 8, "char_dim": 4, "char_size": 6, "case_dim": 2, "hidden": 8},
    **{"dropout": 0.0, "word_dropout": 0.0},
    **{"epochs": 12, "learning_rate": 0.03, "batch_size": 8, "device": "cpu"},
}
STILL = {**SMALL, "epochs": 1, "learning_rate": 1e-12, "weight_decay": 0.0}
"""Nothing is learned: the loss of the epoch is that of the network that comes out."""


def people(seed: int = 0, sentences: int = 24) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences with names of people and places, in IOB2."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        words: list[str] = []
        tags: list[str] = []
        for kind, names in (("PER", PEOPLE), ("O", VERBS), ("O", REST), ("LOC", PLACES), ("O", REST)):
            if rng.random() < 0.75:
                name = str(rng.choice(names)).split()
                words += name
                tags += ["O"] if kind == "O" else [f"B-{kind}", *[f"I-{kind}"] * (len(name) - 1)]
        X.append(words or ["often"])
        y.append(tags or ["O"])
    return X, y


LABELS = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]

SHORT = ([["Anna", "sees", "Rome"], ["in", "New", "York"], ["Bob"]],
         [["B-PER", "O", "B-LOC"], ["O", "B-LOC", "I-LOC"], ["B-PER"]])  # fmt: skip
"""Sentences of which all labellings can be enumerated."""

VECTORS = Embeddings(
    ("anna", "Rome", "the", "unseen"),
    np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32),
)


@cache
def bilstm(**settings: Any) -> BiLSTMCRF:
    """A fitted tagger; nobody may change it."""
    return BiLSTMCRF(**{**SMALL, **settings}).fit(*people())


def weights_of(model: NeuralTagger) -> dict[str, Any]:
    """A copy of the weights of a model."""
    return {name: value.detach().cpu().numpy().copy() for name, value in model.network_.tagger.state_dict().items()}


def same_weights(one: Any, other: Any) -> bool:
    """Whether two models, or dictionaries of weights, are the same to the bit."""
    mine, theirs = (weights_of(part) if isinstance(part, NeuralTagger) else part for part in (one, other))
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


def same_answers(one: NeuralTagger, other: NeuralTagger, X: list[list[str]]) -> None:
    """Whether two models agree to the bit."""
    assert one.labels_ == other.labels_
    assert one.scheme_name == other.scheme_name
    assert one.predict(X) == other.predict(X)
    for mine, theirs in zip(one.marginal_arrays(X), other.marginal_arrays(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.log_likelihood(X), other.log_likelihood(X))


def emissions_of(model: NeuralTagger, words: list[str]) -> Any:
    """Scores ``[T, L]`` of one sentence, alone in its batch."""
    network = model.network_
    coded = network.coder.read(Corpus.from_sentences([{"token": words}]))
    with torch.no_grad():
        scores = network.tagger.emissions(coded.batch(np.zeros(1, np.int64), network.device))
    return scores[0].numpy()


def moves_of(model: NeuralTagger) -> tuple[Any, Any, Any]:
    """Transitions, start and end from the raw parameters and the rules of the scheme, in float64."""
    L, head = len(model.labels_), model.network_.tagger.head
    found = [np.zeros((L, L)), np.zeros(L), np.zeros(L)]
    if hasattr(head, "crf"):
        parts = (head.crf.transitions, head.crf.start_transitions, head.crf.end_transitions)
        found = [part.detach().double().numpy().copy() for part in parts]
    if model.scheme_name is not None:
        rules = legal(model.labels_, model.scheme_name)
        for part, allowed in zip(found, (rules.transitions, rules.start, rules.end), strict=True):
            part[~allowed] = -np.inf
    return found[0], found[1], found[2]


def scores_of(model: NeuralTagger, words: list[str]) -> dict[tuple[str, ...], float]:
    """The score of every labelling of a sentence, by enumeration."""
    e = emissions_of(model, words).astype(np.float64)
    moves, start, end = moves_of(model)
    found = {}
    for path in product(range(len(model.labels_)), repeat=len(words)):
        total = sum(e[t, k] for t, k in enumerate(path)) + sum(moves[a, b] for a, b in pairwise(path))
        total += (start[path[0]] + end[path[-1]]) if path else 0.0
        found[tuple(model.labels_[k] for k in path)] = float(total)
    return found


def chain_of(model: NeuralTagger, words: list[str]) -> Chain:
    """One sentence, scored alone, as the engine takes it."""
    parts = (part.astype(np.float32) for part in moves_of(model))
    return Chain(emissions_of(model, words), *parts, np.array([0, len(words)]))


def check_against_the_engine(model: NeuralTagger, X: list[list[str]]) -> None:
    """Every answer about sentences in company is the engine's about each of them alone."""
    labels = np.array(model.labels_, object)
    alone = [chain_of(model, words) for words in X]
    assert model.predict(X) == [labels[engine.viterbi(chain).labels].tolist() for chain in alone]
    for nodes, chain in zip(model.marginal_arrays(X), alone, strict=True):
        np.testing.assert_allclose(nodes, engine.marginals(chain).nodes, atol=1e-6)
    log_z = np.concatenate([engine.log_partition(chain) for chain in alone])
    np.testing.assert_allclose(model.log_likelihood(X), log_z, rtol=1e-6, atol=2e-6)
    np.testing.assert_allclose(
        model.entropy(X), np.concatenate([engine.entropy(chain) for chain in alone]), rtol=1e-5, atol=2e-6
    )
    for ranked, chain in zip(model.predict_k_best(X, 3), alone, strict=True):
        best = engine.k_best(chain, 3)[0]
        assert [one.labels for one in ranked] == [labels[row].tolist() for row in best.labels]
        np.testing.assert_allclose([one.probability for one in ranked], best.probabilities, atol=1e-6)


def check_against_enumeration(model: NeuralTagger, words: list[str]) -> None:
    """Every answer about a tiny sentence is that of all its labellings."""
    scores = {path: score for path, score in scores_of(model, words).items() if np.isfinite(score)}
    log_z = float(np.logaddexp.reduce(list(scores.values())))
    p = {path: float(np.exp(score - log_z)) for path, score in scores.items()}
    ranked = sorted(p, key=lambda path: -p[path])
    assert model.predict([words]) == [list(ranked[0])]
    assert model.predict_single(words) == list(ranked[0])
    found = model.predict_k_best([words], 4)[0]
    assert [tuple(one.labels) for one in found] == ranked[:4]
    np.testing.assert_allclose([one.probability for one in found], [p[path] for path in ranked[:4]], atol=1e-5)
    np.testing.assert_allclose([one.score for one in found], [scores[path] for path in ranked[:4]], atol=1e-4)
    for t, row in enumerate(model.predict_marginals([words])[0]):
        for label, share in row.items():
            assert share == pytest.approx(sum(q for path, q in p.items() if path[t] == label), abs=1e-5)
    assert model.log_likelihood([words])[0] == pytest.approx(log_z, abs=1e-4)
    told = model.log_likelihood([words] * len(ranked), [list(path) for path in ranked])
    np.testing.assert_allclose(np.exp(told), [p[path] for path in ranked], atol=1e-5)
    assert model.entropy([words])[0] == pytest.approx(-sum(q * np.log(q) for q in p.values() if q), abs=1e-4)
    drawn = [tuple(row) for row in model.predict_samples([words], 1000, seed=1)[0]]
    assert set(drawn) <= p.keys()
    assert drawn.count(ranked[0]) / 1000 == pytest.approx(p[ranked[0]], abs=0.06)


def check_explanation(model: NeuralTagger, words: list[str], known: Any = None) -> None:
    """Amounts add up to the margin, which is that of the engine; every word is named."""
    scores = scores_of(model, words)
    if known is not None:
        scores = {
            path: s for path, s in scores.items() if all(k in (None, a) for a, k in zip(path, known, strict=True))
        }
    best = max(scores, key=lambda path: scores[path])
    found = model.explain(words, known=known)
    assert found.labels == list(best)
    for t, one in enumerate(found.tokens):
        others = {path: s for path, s in scores.items() if path[t] != best[t] and np.isfinite(s)}
        if not others:
            assert one.runner_up is None
            continue
        rival = max(others, key=lambda path: others[path])
        assert one.runner_up == rival[t]
        assert one.margin == pytest.approx(scores[best] - others[rival], abs=1e-4)
        assert sum(term.amount for term in one.contributions) == pytest.approx(one.margin)
        assert {term.name for term in one.contributions if term.kind == "input"} <= set(words)
        assert {term.kind for term in one.contributions} <= {"input", "rest", "start", "end", "transition"}


# Transformers.

TINY: dict[str, Any] = {
    **{"dropout": 0.0, "epochs": 12, "learning_rate": 5e-3, "head_rate": 1.0},
    **{"batch_size": 8, "stride": 4, "device": "cpu"},
}


@cache
def transformer(kind: str = "bert", **settings: Any) -> TransformerCRF:
    """A fitted tagger; nobody may change it."""
    return TransformerCRF(encoder_folder(kind), **{**TINY, **settings}).fit(*people())


@cache
def encoder_folder(kind: str) -> str:
    """A folder with a tiny random encoder and its tokenizer: "bert" or "roberta"; it lives as long as the process."""
    import transformers

    folder = tempfile.mkdtemp(prefix="tagline-encoder-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    pieces = _wordpiece() if kind == "bert" else _bytes()
    vocab = pieces.get_vocab_size()
    torch.manual_seed(7)
    if kind == "bert":
        config = transformers.BertConfig(vocab_size=vocab, max_position_embeddings=48, **size)
        model: Any = transformers.BertModel(config)
        names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    else:
        config = transformers.RobertaConfig(vocab_size=vocab, max_position_embeddings=50, pad_token_id=1, **size)
        model = transformers.RobertaModel(config)
        names = {"unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>"}
    model.save_pretrained(folder)
    # Not trained on a text, which would break ties in another way each time.
    transformers.PreTrainedTokenizerFast(tokenizer_object=pieces, **names).save_pretrained(folder)
    return folder


def _wordpiece() -> Any:
    """BERT's kind of tokenizer: a few words, then letters."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    special, letters = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "abcdefghijklmnopqrstuvwxyz0123456789,.-"
    names = [*special, *letters, *(f"##{letter}" for letter in letters), "anna", "rome", "new", "the", "##eekeepers"]
    made = Tokenizer(models.WordPiece({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def _bytes() -> Any:
    """RoBERTa's kind of tokenizer: bytes, a few of them joined."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    merges = [*(("Ġ", letter) for letter in ascii_letters), ("n", "n"), ("nn", "a"), ("i", "n")]
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    names += ["".join(pair) for pair in merges]
    made = Tokenizer(models.BPE({name: number for number, name in enumerate(names)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made
