"""How `tagline train` trains a feature CRF: a template is named or chosen; data larger than memory are compiled."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tagline.errors import InputError
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.features.lexicons.gazetteers import dictionary_lines, learn_dictionary, read_dictionaries
from tagline.features.templates.choosing import choose_set, named_template
from tagline.features.templates.sets import load_set
from tagline.features.templates.template import Template
from tagline.messages import message
from tagline.models.contract import Model
from tagline.models.crf.compilation import CompiledCorpus, compile_corpus
from tagline.models.crf.extraction import with_matches
from tagline.models.crf.teaching import joined_corpus
from tagline.models.cutting import cut_for
from tagline.models.files import load_tagger
from tagline.models.recipes import Recipe
from tagline.readers import format_of, read
from tagline.readers.columns import iter_columns
from tagline.readers.corpus import TAG, Corpus
from tagline.readers.detection import detect
from tagline.readers.streams import StreamFormat, read_stream
from tagline.readers.training_files import LabelledFiles, check_labels
from tagline.settings import check_settings


class CRFRecipe(Recipe):
    """How a feature CRF is trained from files."""

    named: Template | None = None
    chosen: Template | None = None
    teacher: Model | None = None

    @property
    def template(self) -> str | None:
        """Where the template comes from."""
        return None if self.chosen is None else self.chosen.source

    @property
    def cache(self) -> str | None:
        """A folder for compiled sentences."""
        return getattr(self.files, "cache", None)

    def check(self) -> None:
        """Refuse settings that cannot be meant, and a template or a teacher that is not there."""
        super().check()
        if self.cache is not None:
            if self.model.min_frequency > 1:
                raise InputError(
                    "--cache, --min-frequency: expected one of them, got both; compiled data keep every attribute"
                )
            if asked := self.beyond_compiled():
                raise InputError(
                    "--cache, --{}: expected one of them, got both; compiled data hold the attributes of the "
                    "template alone",
                    asked[0].replace("_", "-"),
                )
        check_settings(self.model)
        if (teacher := getattr(self.files, "teacher", None)) is not None:
            self.teacher = load_tagger(teacher)
        if self.files.template is not None:
            self.named = named_template(self.files.template)

    def beyond_compiled(self) -> list[str]:
        """Return the knowledge that is asked for and that compiled data do not hold, by the names of settings."""
        usual = {"clusters": None, "vectors": None, "stages": 1, "mentions": 0}
        asked = [name for name, value in usual.items() if getattr(self.model, name) not in (None, value)]
        return asked + [
            name for name in ("dictionary", "learn_dictionary", "documents") if getattr(self.files, name, None)
        ]

    def read(self, reading: LabelledFiles, path: str, dev: Corpus | None) -> Any:
        """Read sentences, or their beginning where they are compiled; choose a template that suits them."""
        cached = self.cache is not None
        sample = _first_block(reading, path) if cached else reading.read(path)
        template, why = self._template(sample, dev)
        data = self._compiled(reading, path, template) if cached else self._matched(sample)
        self.introduce(data)
        if (dictionary := self.model.dictionary) is not None:
            self.tell.say(message("dictionary of {:,} phrases, types {}", len(dictionary), ", ".join(dictionary.types)))
        self._introduce_template(self.chosen or template, why)
        self.problems = sample.problems
        if sample.problems:
            self.tell.say(
                message("skipped {} broken sentences; the first: {}", len(sample.problems), sample.problems[0])
            )
        return data

    def choose(self, sample: Callable[[], Any], dev: Corpus | None) -> None:
        """Choose a template that suits the sentences, and say which."""
        self._introduce_template(*self._template(sample(), dev))

    def _template(self, sample: Corpus, dev: Corpus | None) -> tuple[Template, str]:
        """Return the template that was named, or one that suits the sentences and why."""
        check_labels(sample)
        name, why = ("", "") if self.named is not None else choose_set(sample)
        template = self.chosen = self.named or load_set(name)
        for corpus in (sample, dev):
            if corpus is not None:
                template.check_columns([column for column in corpus.names if column != TAG])
        return template, why

    def _introduce_template(self, template: Template, why: str) -> None:
        shown = template.source.removesuffix(".txt") if why else template.source
        self.tell.say(
            message("template {}: {}; --template names another", shown, why) if why else message("template {}", shown)
        )
        for note in template.notes:
            self.tell.say(note)

    def _matched(self, corpus: Corpus) -> Corpus:
        """Take over a dictionary, of files or of the corpus itself; the template gets lines for it where it has none.

        The corpus returned has the column of matches, behind the columns that the template looks at: others need not be
        there when new sentences are tagged.
        """
        columns = [name for name in corpus.names if name != TAG]
        if (paths := self.files.dictionary) is not None:
            self.model.dictionary = dictionary_for(corpus, paths)
        elif self.files.learn_dictionary:
            scheme = detect(corpus).scheme
            if scheme is None:
                raise InputError(
                    "--learn-dictionary: expected tags of a tag scheme, such as B-PER, got others in {}", corpus.source
                )
            self.model.dictionary, corpus = learn_dictionary(corpus, scheme.name)
        else:
            return corpus
        template = self.chosen
        if template is not None and template.num_columns <= len(columns):
            columns = columns[: max(1, template.num_columns)]
            if template.dialect != "crfpp":
                raise InputError("--dictionary: expected a template in the language of CRF++, got one of Wapiti's")
            lines = ["", "# dictionary", *dictionary_lines(len(columns)), ""]
            self.chosen = Template.parse("\n".join([template.text.rstrip("\n"), *lines]), template.source)
        dictionary: Dictionary = self.model.dictionary
        return corpus if dictionary.priority != "feature" else with_matches(corpus, dictionary, columns)

    def lesson(self, data: Any, dev: Corpus | None) -> tuple[Any, dict[str, Any]]:
        """Return what `fit` learns from, and its other arguments."""
        tell, files, run_files = self.tell, self.files, self.run_files()
        taught: dict[str, Any] = {}
        if self.teacher is not None:
            taught["teacher"] = self.teacher
            if files.teacher_weight is not None:
                taught["teacher_weight"] = files.teacher_weight
            if files.unlabelled is not None:
                tell.stage(message("reading {}", files.unlabelled))
                taught["unlabelled"] = more = read_unlabelled(files.unlabelled, self.teacher)
                tell.say(
                    message(
                        "and from {:,} sentences, {:,} tokens, of {} without tags",
                        len(more),
                        more.num_tokens,
                        files.unlabelled,
                    )
                )
            tell.stage(message("asking {}", files.teacher))
        else:
            tell.stage(message("numbering features"))
        self.model.features = self.chosen
        return data, {"X_dev": dev, **taught, **self.documents(data, dev), **run_files}

    def _compiled(self, reading: LabelledFiles, path: str, template: Template) -> CompiledCorpus:
        """The compiled corpus of a file; that of last time where neither the file nor how it is read has changed."""
        cache, bits = str(self.cache), self.model.hash_bits
        folder = Path(cache)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError("--cache: expected a folder, got {} ({})", cache, error.strerror) from None
        status = os.stat(path)
        facts = (os.path.abspath(path), status.st_size, status.st_mtime_ns, template.text, bits, reading)
        target = folder / f"{Path(path).stem}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}.compiled"
        if target.exists():
            self.tell.say(message("using {}, compiled before", target))
            return CompiledCorpus.open(target)
        blocks = iter_columns(path, encoding=reading.encoding, strict=not reading.lenient)
        chosen = (reading.choose(block) for block in blocks if len(block))

        def compiling(done: int) -> None:
            self.tell.stage(message("compiling {}: {:,} tokens", path, done))

        return compile_corpus(chosen, target, template, hash_bits=bits, progress=compiling)


def dictionary_for(corpus: Corpus, paths: Sequence[str]) -> Dictionary:
    """Read dictionaries, cut as the tokens of a corpus are: into characters where all of them are single ones."""
    words = corpus.column(corpus.names[0]).vocabulary
    return read_dictionaries(paths, "characters" if all(len(word) == 1 for word in words) else "words")


def read_unlabelled(path: str, teacher: Model) -> Corpus:
    """Read sentences without tags: columns, JSON lines, or raw text, which is cut as the teacher's tokens were."""
    form = format_of(path)
    if form == "conllu":
        return joined_corpus([read(path, form)])
    cut = cut_for(teacher)
    single, columns = len(cut("\u4e2d\u6587")) == 2, teacher.input_.columns
    how = StreamFormat(form, sure=False, by_character=single, encoding="auto", split=True, columns=columns)
    blocks = [block.corpus for block in read_stream(path, how, cut)]
    if not blocks:
        raise InputError("{}: expected sentences, got none", path)
    return joined_corpus(blocks)


def _first_block(files: LabelledFiles, path: str) -> Corpus:
    """The beginning of a training file, to choose by."""
    if format_of(path, files.form) != "columns" or path == "-":
        raise InputError("--cache: expected a column file to compile, got {}; leave --cache out", path)
    for block in iter_columns(path, encoding=files.encoding, strict=not files.lenient):
        if len(block):
            return files.choose(block)
    raise InputError("{}: expected sentences, got none", path)
