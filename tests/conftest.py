"""What every test may ask for: each engine that this machine can run, and how the random cases are drawn."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

with warnings.catch_warnings():  # all warnings are errors here, but the tests also run where no core was built
    warnings.filterwarnings("ignore", message="tagline: the compiled core is missing")
    from tagline import compiled

# Kernels for a GPU run on the CPU where there is none; Triton asks once, when it is imported.
if not os.path.exists("/dev/nvidia0"):
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Threads of PyTorch that wait for one another must not burn the time of other tests; it reads this when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("TAGLINE_LANG", "en")  # whatever the locale of whoever runs the tests

# Models carry the date of their training; tests compare the bytes of two runs.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1790000000")

# A job in the background of a shell ignores Ctrl-C, and so would the processes that tests send it to.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A test that waits for a slow machine or a sanitizer is not a failure; the same cases are drawn on every run.
settings.register_profile(
    "tagline",
    deadline=None,
    derandomize=True,
    max_examples=50,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile("few", settings.get_profile("tagline"), max_examples=10)  # for the slow, sanitized core
settings.register_profile("many", settings.get_profile("tagline"), max_examples=500)  # for make test-long
settings.load_profile("tagline")

# Made at collection: without a compiled core there is nothing to skip.
ENGINES = ["naive", *(f"native-{variant}" for variant in compiled.supported_cpus())]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """A backend of the chain engine, compiled ones once for each instruction set."""
    backend, _, variant = request.param.partition("-")
    before = compiled.cpu()
    if variant:
        compiled.use_cpu(variant)
    yield import_module(f"tagline.chain.{backend}")
    if before is not None:
        compiled.use_cpu(before)


@pytest.fixture(params=["float64", "float32"])
def dtype(request: pytest.FixtureRequest) -> str:
    """The type of a chain's scores."""
    return str(request.param)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """PyTorch on one thread: networks here are tiny, and sums depend on how many threads add them up."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
