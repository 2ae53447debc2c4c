"""`tagline tune`: draws, halving here and on Ray, records that are kept, what mattered; GridSearchCV on Ray."""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline as package
from tagline.datasets import make_entities
from tagline.errors import InputError
from tagline.models.registry import kind_named
from tagline.readers import write_columns
from tagline.readers.training_files import LabelledFiles
from tagline.scale import trials
from tagline.scale.cluster import Cluster
from tagline.scale.search import SearchResult, rounds_of, search
from tagline.scale.search_report import shares
from tagline.scale.space import Range, draws, read_space, usual_space
from tagline.scale.trials import Record, Study, run_trial
from tests.cli.commands import line_of, tagline

CRF = kind_named("crf")
DRAWS: list[dict[str, Any]] = [{"c2": c2, "min_frequency": least} for c2 in (0.05, 1.0, 20.0) for least in (1, 3)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tune")
    write_columns(make_entities(60), folder / "train.txt")
    write_columns(make_entities(30, seed=1, split="test"), folder / "dev.txt")
    return folder


def study_of(files: Path, folder: Path, kind: str = "crf") -> Study:
    return Study(str(folder), kind, str(files / "train.txt"), str(files / "dev.txt"), LabelledFiles())


class TestSpace:
    def test_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "space.toml"
        path.write_text('c1 = [0.0, 1]\nc2 = {low = 0.01, high = 10, log = true}\nalgorithm = "lbfgs"\n')
        space = read_space(str(path), CRF)
        assert space == {"c1": [0.0, 1], "c2": Range(0.01, 10, True), "algorithm": ["lbfgs"]}
        drawn = draws(space, 200, seed=1)
        assert drawn == draws(space, 200, seed=1) != draws(space, 200, seed=2)
        logs = np.log10([draw["c2"] for draw in drawn])
        assert logs.min() >= -2
        assert logs.max() <= 1
        assert abs(np.median(logs) + 0.5) < 0.3
        path.write_text("[crf]\nmin_frequency = {low = 1, high = 3}\n[bilstm]\nhidden = [8]\n")
        numbers = {draw["min_frequency"] for draw in draws(read_space(str(path), CRF), 50, 0)}
        assert numbers == {1, 2, 3}

    def test_a_template_of_ones_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "my.template").write_text("U00:%x[0,0]\n")
        (tmp_path / "space.toml").write_text('template = ["english_ner", "my.template"]')
        assert read_space("space.toml", CRF) == {"template": ["english_ner", str(tmp_path / "my.template")]}

    def test_a_small_space_is_tried_whole(self) -> None:
        assert len(draws({"c1": [0.0, 1.0], "min_frequency": [1, 2]}, 40, 0)) == 4

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("c3 = [1]", "expected a setting of --model crf"),
            ("c2 = []", "expected values to choose from for c2, got none"),
            ("c2 = ['much']", "c2: expected a number of 0 or more, got 'much'"),
            ("c2 = [-1.0]", "c2: expected a number of 0 or more, got -1.0"),
            ("order = [1.5]", "order: expected a whole number from 1 to 2, got 1.5"),
            ("c2 = {low = 1}", "expected low, high and perhaps log for c2"),
            ("c2 = {low = 2, high = 1}", "expected low < high for c2, got 2 and 1"),
            ("c2 = {low = 0, high = 1, log = true}", "expected low < high above 0 for c2, got 0 and 1"),
            ("c2 = ", "expected TOML, got"),
            ("", "expected settings to try, got none"),
        ],
    )
    def test_what_cannot_be_meant(self, tmp_path: Path, text: str, line: str) -> None:
        (tmp_path / "space.toml").write_text(text)
        with pytest.raises(InputError) as caught:
            read_space(str(tmp_path / "space.toml"), CRF)
        assert line in str(caught.value)

    def test_every_kind_with_settings_has_a_usual_space(self) -> None:
        for name in ("crf", "memm", "maxent", "semicrf", "bilstm", "transformer", "hmm"):
            kind = kind_named(name)
            for setting, domain in usual_space(kind).items():
                for value in domain if isinstance(domain, list) else [domain.low, domain.high]:
                    assert kind.options[setting].read(value) == value
        with pytest.raises(InputError, match="--space: expected a file for --model trigram"):
            usual_space(kind_named("trigram"))


class TestTrials:
    @pytest.mark.parametrize("least", [1, 3])
    def test_a_trial_is_a_training(self, files: Path, tmp_path: Path, least: int) -> None:
        settings = {"c2": 0.5, "min_frequency": least, "template": "english_ner"}
        study = study_of(files, tmp_path)
        study.begin()
        record = run_trial(study, settings, 6, keep=True)
        model = package.load(study.model_path(settings, 6))
        train, dev = (package.readers.read(files / name) for name in ("train.txt", "dev.txt"))
        plain = package.CRF("english_ner", c2=0.5, min_frequency=least, max_iterations=6)
        plain.set_params(patience=None).fit(train, X_dev=dev)
        assert record.score == plain.evaluate(dev).spans.f1
        assert model.min_frequency == least
        for mine, theirs in zip(model.predict_marginals(dev), plain.predict_marginals(dev), strict=True):
            assert mine == theirs

    def test_a_record_is_not_made_twice(self, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        study = study_of(files, tmp_path)
        study.begin()
        record = run_trial(study, DRAWS[0], 3)
        monkeypatch.setattr(trials, "_trained", None)
        assert run_trial(study, DRAWS[0], 3) == record

    def test_ctrl_c_in_a_trial_leaves_no_record(
        self, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        study = study_of(files, tmp_path)
        study.begin()

        def interrupted(self: object, *_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(trials.Silent, "passed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_trial(study, DRAWS[0], 5)
        monkeypatch.undo()
        assert study.records() == []

    def test_a_folder_of_another_search(self, files: Path, tmp_path: Path) -> None:
        study_of(files, tmp_path).begin()
        with pytest.raises(InputError, match=r"--folder"):
            study_of(files, tmp_path, "memm").begin()

    def test_a_failed_trial_has_its_reason(self, files: Path, tmp_path: Path) -> None:
        study = study_of(files, tmp_path)
        study.begin()
        record = run_trial(study, {"scheme": "IOBES", "on_illegal": "error"}, 3)
        assert math.isnan(record.score)
        assert "expected tags that BIOES allows, got " in record.error
        with pytest.raises(InputError, match="tune: expected a trial that can be trained, got none; the first one: "):
            search(study, [{"scheme": "IOBES", "on_illegal": "error"}], 3, workers=1)


def test_rounds_triple() -> None:
    assert rounds_of(9, 18) == [2, 6, 18]
    assert rounds_of(1, 5) == [5]
    assert rounds_of(40, 2) == [2]


def test_here_and_on_ray_the_best_is_the_same(cluster: Cluster, files: Path, tmp_path: Path) -> None:
    here = search(study_of(files, tmp_path / "here"), DRAWS, 9, workers=1)
    handler = signal.getsignal(signal.SIGINT)
    ray = search(study_of(files, tmp_path / "ray"), DRAWS, 9, ray=True)
    assert signal.getsignal(signal.SIGINT) is handler
    assert here.rounds == ray.rounds == [3, 9]
    assert len([record for record in here.records if record.passes == 3]) == len(DRAWS)
    assert len([record for record in here.records if record.passes == 9]) == len(DRAWS) // 3
    scores = {json.dumps(record.settings): record.score for record in here.records if record.passes == 3}
    assert {json.dumps(record.settings): record.score for record in ray.records if record.passes == 3} == scores
    assert ray.best.score >= here.best.score  # it may let more trials go on, never fewer
    assert here.best.settings in [record.settings for record in ray.records if record.passes == 9]


class TestCommand:
    def test_the_table_the_picture_and_the_model(self, files: Path, tmp_path: Path) -> None:
        out = tmp_path / "m.tagline"
        command = ("tune", files / "train.txt", "--dev", files / "dev.txt", "-o", out, "--trials", 3, "--passes", 6)
        done = tagline(*command, "--workers", 1)
        assert done.code == 0, done.err
        head, *rows = [line.split("\t") for line in done.out.splitlines()]
        assert head == ["score", "passes", "seconds", "c1", "c2", "min_frequency"]
        assert [row[1] for row in rows] == ["6", "2", "2", "2"]
        model = package.load(out)
        dev = package.readers.read(files / "dev.txt")
        assert f"{100 * model.evaluate(dev).spans.f1:.2f}" == rows[0][0]
        assert str(model.c2) == rows[0][4]
        home = tmp_path / "m.tagline.tune"
        assert (home / "trials.tsv").read_text("utf-8") == done.out
        assert (home / "settings.svg").read_text("utf-8").startswith("<?xml")
        again = tagline(*command, "--workers", 1)
        assert again.out == done.out

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (("--trials", "0"), "--trials: "),
            (("--model", "tree"), "--model: "),
            (("--model", "trigram"), "--space: "),
        ],
    )
    def test_what_cannot_be_meant(self, files: Path, tmp_path: Path, words: tuple[str, ...], line: str) -> None:
        command = ("tune", files / "train.txt", "--dev", files / "dev.txt", "-o", tmp_path / "m.tagline")
        assert line in line_of(tagline(*command, *words))


def test_other_files_and_knowledge(files: Path, tmp_path: Path) -> None:
    """What `train` takes; a trial with knowledge reads the sentences, one without learns from compiled ones."""
    for name in ("train", "dev"):
        package.readers.write(package.readers.read(files / f"{name}.txt"), tmp_path / f"{name}.jsonl")
    lines = Study(
        str(tmp_path / "lines"), "crf", *(str(tmp_path / f"{name}.jsonl") for name in ("train", "dev")), LabelledFiles()
    )
    known: list[dict[str, Any]] = [{"mentions": 2}, {"mentions": 0}, {"stages": 2}, {"learn_dictionary": True}]
    columns = study_of(files, tmp_path / "columns")
    for study in (lines, columns):
        study.begin()
    scores = [run_trial(study, settings, 5) for study in (lines, columns) for settings in known]
    assert [record.error for record in scores] == [""] * 8
    assert [record.score for record in scores[:4]] == [record.score for record in scores[4:]]
    for order in (known[:2], known[1::-1]):
        study = study_of(files, tmp_path / f"order{order[0]['mentions']}")
        study.begin()
        trials_folder = Path(study.folder) / trials.COMPILED
        search(study, order, 2, workers=1)
        assert len(list(trials_folder.iterdir())) == 1


def test_the_reason_of_a_failed_trial(files: Path, tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text('template = ["nowhere", "english_ner"]\nc2 = [1.0]\n')
    done = tagline(
        *("tune", files / "train.txt", "--dev", files / "dev.txt", "-o", tmp_path / "best", "--passes", 2),
        *("--space", tmp_path / "space.toml", "--workers", 1),
    )
    assert done.code == 0, done.err
    assert "trials that failed: 1; the first, template=nowhere, c2=1.0: template: " in done.err


def test_mixed_values_in_any_order() -> None:
    for values in ((1, 2, 3, "a", 5, 6), ("a", 6, 5, 3, 2, 1)):
        records = [Record({"x": value}, 9, k / 10, 1.0) for k, value in enumerate(values)]
        assert set(shares(SearchResult(records, [9]))) == {"x"}


def test_what_mattered() -> None:
    rng = np.random.default_rng(0)
    records = []
    for _ in range(200):
        settings = {"c1": float(rng.choice([0.0, 1.0])), "c2": float(rng.uniform(0, 1)), "same": 1}
        records.append(Record(settings, 1, settings["c1"] + 0.1 * settings["c2"], 1.0))
    explained = shares(SearchResult(records, [1]))
    assert list(explained) == ["c1", "c2"]
    assert explained["c1"] > 0.95
    assert explained["c2"] < 0.05


@pytest.mark.slow
def test_grid_search_under_joblib_on_ray(cluster: Cluster) -> None:
    import joblib
    from ray.util.joblib import register_ray
    from sklearn.model_selection import GridSearchCV

    register_ray()
    corpus = make_entities(40)
    X, y = corpus.tokens, corpus.tags
    settings = {"c2": [0.1, 10.0]}
    crf = package.CRF("english_ner", max_iterations=5)
    with joblib.parallel_backend("ray", n_jobs=2):
        on_ray = GridSearchCV(crf, settings, cv=2).fit(X, y)
    here = GridSearchCV(crf, settings, cv=2).fit(X, y)
    assert on_ray.best_params_ == here.best_params_
    np.testing.assert_array_equal(on_ray.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])


class TestSpaces:
    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ("max_iterations = [5, 7]", r"space\.toml: .*max_iterations"),
            ("c2 = {low = 0.1, high = inf, log = true}", r"space\.toml: .*\bc2\b"),
        ],
    )
    def test_what_cannot_be_tried(self, tmp_path: Path, text: str, place: str) -> None:
        (tmp_path / "space.toml").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=place):
            read_space(str(tmp_path / "space.toml"), kind_named("crf"))

    def test_a_template_that_changed_is_another_trial(self, files: Path, tmp_path: Path) -> None:
        study, template = study_of(files, tmp_path), tmp_path / "words.tpl"
        template.write_text("U00:%x[0,0]\n", encoding="utf-8")
        before = study.path("trials", {"template": str(template)}, 5)
        assert study.path("trials", {"template": str(template)}, 5) == before
        template.write_text("U00:%x[0,0]\nU01:%x[1,0]\n", encoding="utf-8")
        assert study.path("trials", {"template": str(template)}, 5) != before
