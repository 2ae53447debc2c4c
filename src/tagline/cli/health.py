"""What `tagline doctor` finds: versions, the compiled core, threads, a GPU, extras, variables of the environment."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import tagline
from tagline import compiled
from tagline.errors import TaglineError
from tagline.messages import message
from tagline.models.registry import is_installed

BASE = ("numpy", "scikit-learn", "rich", "click")
EXTRAS = {
    "torch": ("torch",),
    "transformers": ("transformers", "tokenizers"),
    "onnx": ("onnx", "onnxscript"),
    "plot": ("matplotlib",),
    "spacy": ("spacy",),
    "web": ("fastapi", "uvicorn", "pydantic", "prometheus-client"),
    "ray": ("ray",),
}
BESIDE = ("triton", "onnxruntime", "pandas", "polars", "datasets")  # used where they are there
VARIABLES = (
    *("SOURCE_DATE_EPOCH", "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES"),
    *("TRITON_INTERPRET", "HF_HOME", "HF_HUB_OFFLINE", "NO_COLOR", "LANG", "LC_ALL"),
)
REBUILD = message("pip install . in the source tree builds it")


@dataclass(frozen=True)
class Health:
    """What there is on this machine, and what is wrong.

    Attributes:
        version, python, system: of Tagline, of Python, the machine.
        engine: who answers questions about chains; None where that cannot be told.
        core: whether there is a compiled one.
        cpu, cpus: the variant in use, and those that this processor runs.
        threads, cores: of the core, and of the machine as far as this process may use them.
        gpu: its name; None where there is none, or where it was not looked for.
        packages: versions; None where a package is not installed.
        extras: the pip line of each that is not complete.
        environment: variables that are set and change something.
        problems: what is wrong, each with its remedy.
    """

    version: str
    python: str
    system: str
    engine: str | None
    core: bool
    cpu: str | None
    cpus: tuple[str, ...]
    threads: int | None
    cores: int
    gpu: str | None
    packages: dict[str, str | None]
    extras: dict[str, str]
    environment: dict[str, str]
    problems: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return asdict(self)

    def short(self) -> str:
        """Write which engine answers, on which instruction set and how many threads."""
        variants = ", ".join(self.cpus) or message("none")
        return "".join(
            [
                message("version  {}\n", self.version),
                message("engine   {}\n", self.engine),
                message(
                    "cpu      {} (this processor runs: {}; TAGLINE_CPU chooses)\n",
                    self.cpu or message("no compiled core"),
                    variants,
                ),
                message("threads  {} (TAGLINE_THREADS chooses)\n", self.threads),
            ]
        )

    def text(self) -> str:
        """Write everything, a line a fact."""
        lines: list[str] = [
            message("python   {}", self.python),
            message("system   {}, {} cores", self.system, self.cores),
            message("gpu      {}", self.gpu or message("none")),
        ]
        lines += ["", message("packages")]
        width = max(map(len, self.packages))
        lines += [f"  {name:{width}}  {found or message('not installed')}" for name, found in self.packages.items()]
        if self.extras:
            lines += [
                "",
                message("extras that can be installed"),
                *(f"  {name:{width}}  {line}" for name, line in self.extras.items()),
            ]
        if self.environment:
            lines += ["", message("environment"), *(f"  {name}={value}" for name, value in self.environment.items())]
        lines += ["", *(message("problem: {}", problem) for problem in self.problems or ())]
        lines += [] if self.problems else [message("no problem found")]
        return self.short() + "\n".join(lines) + "\n"


def examine(*, gpu: bool = True) -> Health:
    """Look at everything; nothing is raised.

    Arguments:
        gpu: look for one, too, which imports PyTorch and takes seconds.
    """
    problems: list[str] = []

    def asked(question: Any) -> Any:
        """What a question answers; its error is a problem."""
        try:
            return question()
        except TaglineError as error:
            if str(error) not in problems:
                problems.append(str(error))
            return None

    if compiled.core is None:
        problems.append(message("core: the compiled core is missing, so that all is slow; {}", REBUILD))
    packages = {name: _version(name) for names in (BASE, *EXTRAS.values(), BESIDE) for name in names}
    missing = {extra: [name for name in names if packages[name] is None] for extra, names in EXTRAS.items()}
    return Health(
        tagline.__version__,
        f"{platform.python_version()} ({sys.executable})",
        f"{platform.system()} {platform.machine()}",
        asked(_engine),
        compiled.core is not None,
        asked(compiled.cpu),
        compiled.supported_cpus(),
        asked(compiled.threads),
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        _gpu(problems) if gpu and packages["torch"] else None,
        packages,
        {extra: f"pip install 'tagline[{extra}]'" for extra, names in missing.items() if names},
        {name: os.environ[name] for name in _set()},
        tuple(problems),
    )


def _engine() -> str:
    """The engine, which refuses a wrong environment when it is imported."""
    from tagline.chain import engine

    return engine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return message("unknown version") if is_installed(package) else None


def _gpu(problems: list[str]) -> str | None:
    """The name of the GPU; a PyTorch that cannot be imported is a problem."""
    try:
        from tagline.nn.devices import gpu_name

        return gpu_name()
    except Exception as error:  # whatever a broken installation raises
        if str(error) not in problems:  # a wrong environment stops the engine, too
            problems.append(
                message("torch: expected it to be imported, got {}: {}; install it again", type(error).__name__, error)
            )
        return None


def _set() -> list[str]:
    """The variables that are set."""
    return [name for name in sorted(os.environ) if name.startswith("TAGLINE_") or name in VARIABLES]
