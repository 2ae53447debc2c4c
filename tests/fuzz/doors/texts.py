"""Doors for text files: corpora, templates, configurations, word vectors, dictionaries, sub-word vocabularies."""

from __future__ import annotations

import gzip
import json
from random import Random

import numpy as np

from tagline.features.expansion import expand
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.features.lexicons.embeddings import read_embeddings
from tagline.features.templates.sets import load_set, sets
from tagline.features.templates.template import Template
from tagline.features.vocabulary import Vocabulary
from tagline.readers import iter_columns, read_columns, read_conllu, read_jsonl, read_text, write
from tagline.readers.corpus import Corpus
from tagline.readers.detection import detect
from tagline.readers.raw_text import TOKENIZERS, cut_by_script
from tagline.readers.rules import legal
from tagline.readers.scheme_conversion import convert, tags_to_spans
from tagline.readers.schemes import SCHEMES, spans_to_tags
from tagline.readers.streams import StreamFormat, read_stream
from tagline.readers.validation import repair, validate
from tests.fuzz.doors.base import Door, ensure, one_in
from tests.fuzz.mutation import mutated, mutated_json

ENCODINGS = ("utf-8", "latin-1", "utf-16", "gb18030", "shift_jis", "ascii", "utf-7", "cp1252", "utf-8-sig")


def check_corpus(corpus: Corpus) -> None:
    """Raise where a corpus does not hold together."""
    ensure(corpus.offsets[-1] == corpus.num_tokens, "offsets that do not end at the last token")
    for column in corpus.columns.values():
        ensure(len(column) == corpus.num_tokens, "columns of different lengths")
        ensure(not len(column) or (column.ids.min() >= 0 and column.ids.max() < len(column.vocabulary)), "ids")
    for sentence in corpus:
        ensure(len(sentence.tokens) == len(sentence), "a sentence of another length")
    repr(corpus)


class Columns(Door):
    """Column files."""

    name = "columns"
    ways = 1
    words = (b"-DOCSTART- ", b"\n\n", b" O\n", b"B-PER", b"#", b"\t\t", b"  ", b"\r\n", b"_", b"a b c\n")

    def valid(self) -> list[bytes]:
        return [
            b"Anna NNP B-PER\nsees VBZ O\nRome NNP B-LOC\n\nBob NNP B-PER\n. . O\n\n",
            b"-DOCSTART- -X- O\n\n# a comment\na\tx\tO\r\nb\ty\tI-X\r\n\r\nc\tz\tO\r\n",
            "北 B\n京 E\n　 S\n\né S\n".encode(),
            b"one\ntwo\n\nthree\n",
            b"\xef\xbb\xbfword tag\n",
            b"",
        ]

    def draw(self, random: Random) -> bytes:
        return bytes([random.randrange(256)]) + super().draw(random)

    def use(self, data: bytes) -> None:
        how = data[0] if data else 0
        text, form = data[1:], {"strict": bool(how & 1), "docstart": bool(how & 2), "comment": "#" if how & 4 else ""}
        label = (-1, None, 0, 1)[how >> 3 & 3]
        encoding = ENCODINGS[how >> 5] if how >> 5 < 3 else "utf-8"
        path = self.file(text)
        if how & 64:
            for block in iter_columns(path, label=label, encoding=encoding, block_bytes=1 + how % 97, **form):
                check_corpus(block)
            return
        corpus = read_columns(path, label=label, encoding=encoding, **form)
        check_corpus(corpus)
        if not one_in(8, data):
            return
        corpus.describe()
        write(corpus, f"{self.scratch}/written")
        again = read_columns(f"{self.scratch}/written", label=label)
        ensure([*again.tokens] == [*corpus.tokens], "other tokens after writing and reading")


class JSONLines(Door):
    """JSON lines of tokens and tags, or texts and spans; also as a stream to tag."""

    name = "jsonl"
    ways = 1
    words = (
        b'"tokens"',
        b'"tags"',
        b'"text"',
        b'"spans"',
        b"null",
        b"true",
        b'["a"]',
        b'[[0,1,"X"]]',
        b"\\ud83d",
        b"{}",
    )

    def valid(self) -> list[bytes]:
        return [
            b'{"tokens": ["Anna", "sees"], "tags": ["B-PER", "O"]}\n{"tokens": [], "tags": []}\n',
            '{"text": "Anna sieht Röm\u2028e.", "spans": [[0, 4, "PER"], [11, 16, "LOC"]]}\n{"text": ""}\n'.encode(),
            b'{"tokens": ["\\u00e9", "\\ud83d\\ude00"]}',
        ]

    def draw(self, random: Random) -> bytes:
        how = bytes([random.randrange(256)])
        if random.random() < 0.4:
            lines = [json.loads(line) for line in random.choice(self.seeds).splitlines()]
            for _ in range(random.randrange(1, 4)):
                lines = mutated_json(random, lines)
            if isinstance(lines, list):
                return how + "\n".join(json.dumps(line) for line in lines).encode()
        return how + super().draw(random)

    def use(self, data: bytes) -> None:
        how, path = data[0] if data else 0, self.file(data[1:], "input.jsonl")
        if how & 1:
            for block in read_stream(path, StreamFormat("jsonl"), cut_by_script):
                check_corpus(block.corpus)
            return
        tokenizer, scheme = list(TOKENIZERS)[how >> 1 & 1], list(SCHEMES)[(how >> 2) % len(SCHEMES)]
        corpus = read_jsonl(path, tokenizer=tokenizer, scheme=scheme, strict=bool(how & 2))
        check_corpus(corpus)
        if not one_in(8, data):
            return
        write(corpus, f"{self.scratch}/written.jsonl")
        if not corpus.problems and len(corpus):
            ensure(read_jsonl(f"{self.scratch}/written.jsonl").tokens == corpus.tokens, "other tokens when read again")


class CoNLLU(Door):
    """CoNLL-U."""

    name = "conllu"
    words = (b"\t_", b"\t", b"1-2", b"1.1", b"# text = x\n", b"\n\n", b"1\ta\ta\tX\tY\t_\t_\t_\t_\t_\n")

    def valid(self) -> list[bytes]:
        row = "\t".join(("{}", "word", "lemma", "NOUN", "NN", "_", "0", "root", "_", "_")) + "\n"
        return [
            ("# text = x\n" + row.format(1) + row.format("2-3") + row.format(2) + "\n" + row.format(1) + "\n").encode(),
            (row.format("1").replace("word", "a b") + row.format("1.1")).replace("\n", "\r\n").encode(),
        ]

    def use(self, data: bytes) -> None:
        path = self.file(data, "input.conllu")
        odd = one_in(2, data)
        corpus = read_conllu(path, tag="upos" if odd else "xpos", strict=odd)
        check_corpus(corpus)
        if one_in(16, data):
            write(corpus, f"{self.scratch}/written.conllu")


class Text(Door):
    """Raw text, in several encodings, packed or not."""

    name = "text"
    ways = 1

    def valid(self) -> list[bytes]:
        text = "Anna's cat – 他住在北京。\nカタカナ\n\n  x-y  \n"
        return [text.encode(), text.encode("utf-16"), text.encode("gb18030"), gzip.compress(text.encode(), mtime=0)]

    def draw(self, random: Random) -> bytes:
        return bytes([random.randrange(256)]) + super().draw(random)

    def use(self, data: bytes) -> None:
        how = data[0] if data else 0
        path = self.file(data[1:], "input.gz" if how & 128 else "input.txt")
        encoding = ENCODINGS[(how >> 2 & 15) % len(ENCODINGS)]
        if how & 64:
            check_corpus(read_text(path, list(TOKENIZERS)[(how & 3) % 3], encoding=encoding))
            return
        for block in read_stream(path, StreamFormat("text"), cut_by_script):
            check_corpus(block.corpus)


class Tags(Door):
    """Tags of every scheme: detection, rules, repair, spans, conversion."""

    name = "tags"
    ways = 2
    words = (b"B-X ", b"I-X ", b"E-X ", b"S-X ", b"O ", b"B ", b"L-X ", b"U-X ", b"X-B ", b"B_X ", b"-", b"\n", b"- ")

    def valid(self) -> list[bytes]:
        return [b"B-PER I-PER O B-LOC\nO\nS-X O B-Y E-Y", b"B I E S\nS S", b"I-A B-A I-A O", b"A_B O A_I\nU-X L-X"]

    def draw(self, random: Random) -> bytes:
        return random.randbytes(2) + super().draw(random)

    def use(self, data: bytes) -> None:
        names, how = list(SCHEMES), (*data[:2], 0, 0)
        source, target = names[how[0] % len(names)], names[how[1] % len(names)]
        text = data[2:].decode(errors="surrogateescape")
        sentences = [line.split() for line in text.split("\n")]
        way = how[0] // len(names) % 7
        if way < 6:
            corpus = Corpus.from_sentences([(["w"] * len(tags), tags) for tags in sentences])
            (
                lambda: detect(sentences),
                lambda: [str(violation) for violation in validate(corpus, source)],
                lambda: repair(corpus, source, ("conlleval", "discard", "raise")[how[1] % 3]).summary,
                lambda: convert(sentences, source, target),
                lambda: legal(sorted({tag for tags in sentences for tag in tags}), source),
                lambda: corpus.describe(),
            )[way]()
            return
        for tags in sentences[:3]:
            spans = tags_to_spans(tags, source, ("conlleval", "discard", "raise")[how[1] % 3])
            written = spans_to_tags(spans, len(tags), source)
            ensure(tags_to_spans(written, source) == spans, "other spans when written and read")


class Templates(Door):
    """Templates, and what they make of a small corpus; the core's answer is that of the definition."""

    name = "templates"
    words = (
        *(b"%x[0,0]", b"%x[-1,1]", b'%t[0,0,"', b'%m[0,0,"[A-Z]"]', b"%x[", b"]", b"U00:", b"B", b"B01:%x[0,0]", b"%%"),
        *(b"%l[0,0]", b"%X[@1,0]", b"\\", b'"', b"%shape[0,0]", b"%prefix3[0,0]", b"%suffix2[0,0]", b"^.*$", b"[a-z]+"),
    )

    def valid(self) -> list[bytes]:
        self.corpus = Corpus.from_sentences(
            [
                {"token": ["Anna", "sees", "Röm-1", "", "的"], "pos": ["N", "V", "N", "X", "_"], "tag": ["A"] * 5},
                {"token": ["x"], "pos": ["\ufffd"], "tag": ["B"]},
                {"token": [], "pos": [], "tag": []},
            ]
        )
        ready = [load_set(name).text.encode() for name in sets()]
        return [
            b"U00:%x[0,0]\nU01:%x[-1,0]/%x[0,1]\nB\nB01:%x[0,0]\n",
            *(text[: text.rindex(b"\n", 0, 700)] for text in ready),
        ]

    def use(self, data: bytes) -> None:
        template = Template.parse(data.decode(errors="surrogateescape"))
        repr(template)
        expanded = expand(template, self.corpus)
        if len(template.lines) < 40:
            names, states = expanded.states.names(), expanded.features.states
            for b, sentence in enumerate(self.corpus):
                columns = {name: words for name, words in sentence.columns.items() if name != "tag"}
                first = int(self.corpus.offsets[b])
                for t, texts in enumerate(template.strings(columns)[0]):
                    got = states.ids[states.offsets[first + t] : states.offsets[first + t + 1]]
                    ensure([names[k] for k in got] == texts, "other attributes than the definition's")
        expand(template, self.corpus, hash_bits=7)


class Configurations(Door):
    """Configuration files of networks, as far as a plan."""

    name = "toml"
    ways = 1
    needs = ("torch", "tokenizers")
    words = (
        *(b"[bilstm]\n", b"[transformer]\n", b"hidden = ", b"epochs = ", b"true", b'"none"', b"scheme = ", b"[[x]]\n"),
        *(b"[1, 2]", b"{a = 1}", b"nan", b"-inf", b"1979-05-27", b"07:32:00", b"'''", b'"""', b"0o7", b"encoder = "),
        *(b"learning_rate = ", b"batch_size = ", b"device = ", b"precision = ", b"embeddings = ", b"dropout = "),
    )

    def valid(self) -> list[bytes]:
        from tagline.cli.configuration import settings_of, toml_of
        from tagline.models.registry import kind_named

        full = []
        for name in ("bilstm", "transformer"):
            usual = {setting: entry.default for setting, entry in settings_of(kind_named(name)).items()}
            full.append(toml_of(name, usual, {}, "x").encode())
        return [*full, b"hidden = 8\n", b'[bilstm]\nhidden = 8\nscheme = "none"\nlearning_rate = 0.01\n']

    def draw(self, random: Random) -> bytes:
        return bytes([random.randrange(256)]) + super().draw(random)

    def use(self, data: bytes) -> None:
        from tagline.cli.training import _configured

        path, how = self.file(data[1:], "config.toml"), data[0] if data else 0
        kind, settings = _configured("bilstm" if how & 1 else None, {"config": path})
        estimator = kind.estimator(**settings)
        repr(estimator)
        estimator.check()


class WordVectors(Door):
    """Files of word vectors."""

    name = "vectors"
    ways = 1
    words = (b" 0.5", b" -1e10", b"3 2\n", b" nan", b" 1", b"\xc3\x28 ", b"a b ", b" 1e39", b"\xc2\xa0", b" .", b" 1d5")

    def valid(self) -> list[bytes]:
        return [
            b"3 2\nthe 0.5 -1\nof 1e-3 2\nAnna 3 4\n",
            b"the 0.5 -1 7\n. 1 2 3\nNew York 1 2 3\n\xe7\x9a\x84 1 1 1\n",
            gzip.compress(b"a 1 2\nb 3 4\n", mtime=0),
            b"the 0.5\n",
        ]

    def draw(self, random: Random) -> bytes:
        return bytes([random.randrange(4)]) + super().draw(random)

    def use(self, data: bytes) -> None:
        how = data[0] if data else 0
        path = self.file(data[1:], "vectors.gz" if how == 3 else "vectors.txt")
        vectors = read_embeddings(path, ["the", "Anna", "a", "New York"] if how == 1 else None)
        ensure(vectors.vectors.shape == (len(vectors.words), vectors.size), "a table of another shape")
        ensure(bool(np.isfinite(vectors.vectors).all()), "vectors that are not finite")
        if len(vectors.words):
            table = vectors.table(Vocabulary.of(["the", "x", "ANNA"]), np.random.default_rng(0))
            ensure(bool(np.isfinite(table).all()), "a table that is not finite")


class Dictionaries(Door):
    """Dictionary files, and what they find."""

    name = "dictionaries"
    ways = 1
    words = (b"\t", b"\tLOC\n", b"Rome", b"New York", b"\t\t", "的".encode(), b"\n", b" ", b"#")

    def valid(self) -> list[bytes]:
        self.corpus = Corpus.from_sentences([{"token": ["New", "York", "in", "的", "Rome"]}, {"token": []}])
        return [b"Rome\tLOC\nNew York\tLOC\nYork\tPER\n", "的 京\tX\n的\tY\n".encode(), b"Rome\nNew York City\n"]

    def draw(self, random: Random) -> bytes:
        return bytes([random.randrange(256)]) + super().draw(random)

    def use(self, data: bytes) -> None:
        path, how = self.file(data[1:], "dictionary.tsv"), data[0] if data else 0
        dictionary = Dictionary.read(
            path,
            None if how & 1 else "LOC",
            tokenizer=list(TOKENIZERS)[how >> 1 & 1],
            fold_case=bool(how & 4),
            conflicts=("error", "first", "last")[(how >> 3) % 3],
        )
        repr(dictionary), len(dictionary), dictionary.entries()
        if how & 32:
            spans = dictionary.match(self.corpus)
            ensure(bool((spans.start < spans.end).all()), "an empty span")
        elif how & 64:
            dictionary.column(self.corpus, "BIOES")
        elif how & 128:
            dictionary.allowed(self.corpus, ["O", "B-LOC", "I-LOC", "B-PER", "I-PER", "B-X", "I-X"], "IOB2")


class Subwords(Door):
    """Sub-word vocabularies: the text of a tokenizer.json, and how it cuts words."""

    name = "subwords"
    needs = ("tokenizers",)
    words = (b'"ByteLevel"', b'"Sequence"', b"null", b'"unk_token"', b'"[UNK]"', b"true", b'"##a"', b'"Metaspace"')

    def valid(self) -> list[bytes]:
        return [json.dumps(document, ensure_ascii=False).encode() for document in _TOKENIZERS]

    def draw(self, random: Random) -> bytes:
        if random.random() < 0.7:
            document = json.loads(random.choice(self.seeds))
            for _ in range(random.randrange(1, 4)):
                document = mutated_json(random, document)
            return json.dumps(document).encode()
        return mutated(random, self.seeds, self.words)

    def use(self, data: bytes) -> None:
        from tagline.features.subwords import PieceTable

        table = PieceTable(data.decode(errors="surrogateescape"), unknown=0, padding=0, max_length=16, stride=2)
        pieces = table.pieces(["a", "ab", "的", "", " ", "\udcff", "abc" * 9])
        ensure(len(pieces.sizes) == 7 and bool((pieces.sizes >= 1).all()), "a word without pieces")
        batch = pieces.batch([np.arange(7), np.zeros(0, np.int64), np.array([1] * 20)])
        ensure(bool((batch.input_ids >= 0).all()), "pieces below 0")
        table.strings(pieces.ids.tolist()), table.whole_words()


_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_ADDED = [
    {
        **{"id": number, "content": content, "special": True, "normalized": False},
        **{"single_word": False, "lstrip": False, "rstrip": False},
    }
    for number, content in enumerate(_SPECIAL)
]
_ENDS = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}},
}
_WORDS = {content: number for number, content in enumerate((*_SPECIAL, "a", "b", "##b", "的", "ab", "Ġa", "▁a", "c"))}
_COMMON = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": _ADDED, "post_processor": _ENDS}
_TOKENIZERS = (
    {
        **_COMMON,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": _WORDS,
        },
    },
    {
        **_COMMON,
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "[UNK]",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": _WORDS,
            "merges": [["a", "b"]],
        },
    },
    {
        **_COMMON,
        "normalizer": {"type": "NFKC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
            ],
        },
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {
            "type": "Unigram",
            "unk_id": 1,
            "byte_fallback": False,
            "vocab": [[content, -float(number)] for content, number in _WORDS.items()],
        },
    },
)

DOORS = (Columns, JSONLines, CoNLLU, Text, Tags, Templates, Configurations, WordVectors, Dictionaries, Subwords)
