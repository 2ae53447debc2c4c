"""The compiled core, where there is one: found at import, its CPU variant and its threads chosen here.

`core` is None where the package was not built (only ``PYTHONPATH=src``, or another Python) and where the processor is
too old for it; one warning says so and the engine falls back to NumPy.
Environment: ``TAGLINE_CPU`` forces an instruction set (v2, v3, v4 for x86-64-v2 …; neon is all that ARM has),
``TAGLINE_THREADS`` the number of threads.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from tagline.errors import InputError, TaglineError
from tagline.messages import message

_BUILD = message("build it with: pip install . in the source tree")


def _in_main_interpreter() -> bool:
    try:
        interpreters = import_module("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    except ImportError:
        return True  # a Python that has one alone
    first, current = (call() for call in (interpreters.get_main, interpreters.get_current))
    return bool(first == current)


def _other_copy() -> str:
    """Return the file of another copy of the core in this process, whose types ours would be confused with."""
    spec = find_spec("tagline._core")
    ours = "" if spec is None else str(spec.origin)
    first = sys.__dict__.get("_tagline_core", ours)
    return "" if ours in ("", first) else str(first)


def _find() -> tuple[ModuleType | None, str, str]:
    """Return the core; or None, why there is none, and what would help."""
    if not _in_main_interpreter():
        return None, message("it works in the main interpreter alone"), message("import it there")
    try:
        if other := _other_copy():
            return None, message("another copy is loaded, {}", other), message("use one copy in a process")
        core = import_module("tagline._core")
        sys.__dict__["_tagline_core"] = str(core.__file__)
        return core, "", ""
    except ImportError as error:
        refused = "this processor" in str(error)
        return None, str(error), message("take another machine") if refused else _BUILD


core, _missing, _remedy = _find()
if core is None:
    warnings.warn(
        message(
            "tagline: the compiled core is missing ({}); the slow NumPy engine answers instead; {}", _missing, _remedy
        ),
        RuntimeWarning,
        stacklevel=3,  # the line that imports tagline
    )


_refused: InputError | None = None


def check_environment() -> None:
    """Raise what is wrong with ``TAGLINE_CPU`` or ``TAGLINE_THREADS``."""
    if _refused is not None:
        raise _refused


def require() -> ModuleType:
    """Return the compiled core; raise where it is missing, or not as the environment wants it."""
    if _refused is not None:
        raise _refused
    if core is None:
        raise TaglineError('the compiled core is missing ({}); {}, or use the engine "naive"', _missing, _remedy)
    return core


def let_torch_wait() -> bool:
    """Let threads of PyTorch sleep while they wait for one another; return False where PyTorch is loaded already.

    By default they spin, and burn the time of those that work: on two cores that others use, too, an epoch takes seven
    times as long. OpenMP reads ``OMP_WAIT_POLICY`` once, when it is loaded with PyTorch; a value that is set stays.
    """
    if "torch" in sys.modules:
        return False
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    return True


def supported_cpus() -> tuple[str, ...]:
    """Name the compiled variants that this processor can run, the best last; empty without a core."""
    return () if core is None else tuple(core.supported_cpus())


def cpu() -> str | None:
    """Name the variant in use."""
    check_environment()
    return None if core is None else str(core.cpu())


def use_cpu(name: str, source: str = "cpu") -> None:
    """Use another variant from now on."""
    core = require()
    if name not in supported_cpus():
        raise InputError(
            "{}: expected one of {} on this processor, got {!r}", source, ", ".join(supported_cpus()), name
        )
    core.use_cpu(name)


def threads() -> int:
    """Tell how many threads the core uses; 1 without a core.

    >>> import tagline
    >>> tagline.threads() >= 1
    True
    """
    check_environment()
    return 1 if core is None else int(core.threads())


def set_threads(count: int, source: str = "threads") -> None:
    """Use so many threads from now on; the results are the same bytes for any number.

    >>> import tagline
    >>> before = tagline.threads()
    >>> tagline.set_threads(1)
    >>> tagline.threads()
    1
    >>> tagline.set_threads(before)
    """
    if not 1 <= count <= 1024:
        raise InputError("{}: expected 1 to 1024, got {}", source, count)
    if core is not None:
        core.set_threads(count)


def _from_environment() -> InputError | None:
    """Do as the environment says; return what is wrong with it, to be raised at the first question and caught there."""
    try:
        if wanted := os.environ.get("TAGLINE_CPU"):
            use_cpu(wanted, "TAGLINE_CPU")
        if wanted := os.environ.get("TAGLINE_THREADS"):
            if not wanted.isdecimal():
                raise InputError("TAGLINE_THREADS: expected a whole number, got {!r}", wanted)
            set_threads(int(wanted), "TAGLINE_THREADS")
    except InputError as error:
        return error
    return None


if core is not None:
    _refused = _from_environment()
