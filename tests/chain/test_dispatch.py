"""Which backend answers: names, choices and their scope, environment variables, and a missing core."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tagline.chain as public
from tagline import compiled
from tagline.chain import dispatch, naive
from tagline.errors import InputError, TaglineError
from tagline.types import Chain

CHAIN = Chain([[1.0, 0.0], [0.0, 0.5]], [[0.0, 1.0], [0.25, 0.0]])
AVAILABLE = ["naive", *(["native"] if compiled.core is not None else [])]


class Asked(tuple[Any, ...]):
    """A question; as an answer it has scores of the usual size."""

    log_z = scores = np.zeros(1)
    log_likelihood = np.full(1, -0.3)

    def __array__(self, *given: Any, **named: Any) -> Any:
        return self.log_z


class Recorder:
    """A backend that notes what it is asked."""

    def __getattr__(self, question: str) -> Any:
        return lambda *given, **named: Asked((question, given, named))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> str:
    """One more engine, so that there is a choice where no core was built."""
    monkeypatch.setattr(dispatch._choice, "engines", (*dispatch.ENGINES, "recorder"))
    monkeypatch.setitem(sys.modules, "tagline.chain.recorder", Recorder())
    return "recorder"


@pytest.mark.parametrize("name", AVAILABLE)
def test_the_engine_in_use_is_named(name: str) -> None:
    with public.using_engine(name):
        assert public.engine() == name
        assert name == dispatch._backends[name].NAME


def test_a_block_restores_the_engine(recorder: str) -> None:
    before = public.engine()
    with public.using_engine(recorder):
        with public.using_engine("naive"):
            assert public.engine() == "naive"
        assert public.engine() == recorder
    assert public.engine() == before


def test_an_error_inside_the_block_restores_the_engine(recorder: str) -> None:
    before = public.engine()
    with pytest.raises(RuntimeError, match="inside"), public.using_engine(recorder):
        raise RuntimeError("inside")
    assert public.engine() == before


def test_a_choice_lasts(recorder: str) -> None:
    before = public.engine()
    try:
        public.use_engine(recorder)
        assert public.engine() == recorder
        assert public.entropy(CHAIN) == ("entropy", (CHAIN,), {})
    finally:
        public.use_engine(before)


def test_an_unknown_name_lists_the_known_ones() -> None:
    before = public.engine()
    for choose in (public.use_engine, lambda name: public.using_engine(name).__enter__()):
        with pytest.raises(InputError, match=r"^engine: .*'fast'"):
            choose("fast")
    assert public.engine() == before


QUESTIONS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "score": (("labels",), {}),
    "log_partition": ((), {"allow_no_path": True}),
    "forward": ((), {}),
    "backward": ((), {}),
    "marginals": ((), {"edges": True}),
    "viterbi": ((), {}),
    "k_best": ((3,), {}),
    "sample": (("uniforms",), {}),
    "entropy": ((), {}),
    "max_marginal": ((), {}),
    "span_probability": (("spans",), {}),
    "expected_counts": ((), {}),
    "gradients": (("labels",), {}),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_reaches_the_backend_as_it_was_asked(question: str, recorder: str) -> None:
    given, named = QUESTIONS[question]
    with public.using_engine(recorder):
        assert getattr(public, question)(CHAIN, *given, **named) == (question, (CHAIN, *given), named)


def test_every_backend_answers_every_question() -> None:
    for name in AVAILABLE:
        with public.using_engine(name):
            assert all(callable(getattr(dispatch._backends[name], question)) for question in QUESTIONS)
    assert set(QUESTIONS) <= set(public.__all__)
    assert set(QUESTIONS) <= set(naive.__all__)


@pytest.mark.parametrize("name", AVAILABLE)
def test_the_public_functions_answer(name: str) -> None:
    with public.using_engine(name):
        assert public.viterbi(CHAIN).labels.tolist() == [0, 1]
        np.testing.assert_allclose(public.log_partition(CHAIN), naive.log_partition(CHAIN), rtol=1e-13)
        assert public.marginals(CHAIN).edges is None
        assert len(public.k_best(CHAIN, 9)[0].scores) == 4


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with some environment variables set and the others of Tagline unset."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TAGLINE_")}
    return subprocess.run(
        [sys.executable, "-c", code], env={**clean, **environment}, capture_output=True, text=True, check=False
    )


ASK = "import tagline.chain as chain; print(chain.engine())"
WITHOUT_CORE = "import sys; sys.modules['tagline._core'] = None; "


def test_the_environment_chooses() -> None:
    assert run(ASK, TAGLINE_ENGINE="naive").stdout == "naive\n"
    assert run(ASK).stdout == f"{AVAILABLE[-1]}\n"


def test_a_wrong_engine_in_the_environment() -> None:
    done = run(ASK, TAGLINE_ENGINE="fast")
    assert done.returncode != 0
    assert "InputError: TAGLINE_ENGINE: " in done.stderr


def test_without_the_core_one_warning_and_the_naive_engine() -> None:
    done = run(WITHOUT_CORE + ASK)
    assert done.stdout == "naive\n"
    assert done.returncode == 0
    assert done.stderr.count("RuntimeWarning: tagline: the compiled core is missing") == 1
    assert "pip install ." in done.stderr


def test_without_the_core_native_is_refused_with_what_to_do() -> None:
    for code, environment in (
        (WITHOUT_CORE + ASK, {"TAGLINE_ENGINE": "native"}),
        (WITHOUT_CORE + "import tagline.chain as chain; chain.use_engine('native')", {}),
    ):
        done = run(code, **environment)
        assert done.returncode != 0
        assert "TaglineError: the compiled core is missing" in done.stderr
        assert "pip install ." in done.stderr


def test_without_the_core_the_settings_have_stand_ins() -> None:
    code = "from tagline import compiled as c; c.set_threads(2); print(c.supported_cpus(), c.cpu(), c.threads())"
    assert run(WITHOUT_CORE + code).stdout == "() None 1\n"
    refused = run(WITHOUT_CORE + "from tagline import compiled as c; c.use_cpu('v2')")
    assert "the compiled core is missing" in refused.stderr


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_wrong_numbers_of_threads(count: int) -> None:
    with pytest.raises(InputError, match=r"^threads: "):
        compiled.set_threads(count)
    assert issubclass(InputError, TaglineError)
