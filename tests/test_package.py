"""The package as installed: what importing it costs, what it does without its compiled core, what it ships."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tagline
from tagline import compiled

ROOT = Path(__file__).parent.parent


def run(code: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_import_loads_no_heavy_library() -> None:
    done = run("import sys, tagline; print(*sorted({'numpy', 'torch', 'sklearn', 'scipy', 'rich'} & set(sys.modules)))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys\nfrom tagline.cli import main\nsys.argv = ['tagline', '--help']\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "print(*sorted({'torch', 'sklearn', 'numpy', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert "Usage: tagline" in done.stdout
    assert done.stderr.split() == []


def closure(names: Iterable[str]) -> set[str]:
    """Packages with all that they bring on this machine, without extras."""
    packages: set[str] = set()
    left = [canonicalize_name(name) for name in names]
    while left:
        if (name := left.pop()) not in packages:
            packages.add(name)
            wanted = map(Requirement, metadata.requires(name) or ())
            left += [canonicalize_name(w.name) for w in wanted if w.marker is None or w.marker.evaluate({"extra": ""})]
    return packages


def test_few_packages_are_brought() -> None:
    """As pyproject.toml has them: the metadata of an editable installation may be older."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [Requirement(line).name for line in project["dependencies"]]
    base = {"numpy", "scikit-learn"}
    assert base < set(names)
    brought = closure(names) - closure(base)
    assert len(brought) <= 5, sorted(brought)


def test_public_names_resolve() -> None:
    for name in tagline.__all__:
        assert getattr(tagline, name) is not None
    assert set(tagline.__all__) <= set(dir(tagline))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tagline.nonsense


def test_without_the_core_numpy_answers_after_one_warning(tmp_path: Path) -> None:
    """Only the source folder on the path, as where nothing can be installed; -S hides the installed packages."""
    for source in (ROOT / "src" / "tagline").rglob("*.py"):
        target = tmp_path / source.relative_to(ROOT / "src")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    numpy_home = run("import numpy, pathlib; print(pathlib.Path(numpy.__file__).parent.parent)").stdout.strip()
    packages = tmp_path / "packages"
    packages.mkdir()
    for entry in Path(numpy_home).iterdir():
        if entry.name.startswith("numpy"):
            (packages / entry.name).symlink_to(entry)
    code = (
        "import tagline\nfrom tagline import Chain, chain\nfrom tagline import compiled\n"
        "print(chain.engine(), chain.viterbi(Chain([[0.0, 1.0]], [[0.0] * 2] * 2)).labels, tagline.__version__)\n"
        "try:\n    chain.use_engine('native')\nexcept tagline.TaglineError as error:\n    print(error)\n"
    )
    done = run(code, "-S", PYTHONPATH=f"{tmp_path}{os.pathsep}{packages}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"naive [1] {tagline.__version__}\n")
    assert "the compiled core is missing" in done.stdout
    assert done.stderr.count("the compiled core is missing") == 1
    assert "pip install" in done.stderr
    command = "import sys; from tagline.cli import main; sys.argv[1:] = ['tag', '-m', 'x', 'y']; main()"
    cli = run(command, "-S", PYTHONPATH=f"{tmp_path}{os.pathsep}{packages}")
    assert cli.returncode == 1
    assert "this needs the package click; install it with: pip install click" in cli.stderr


@pytest.mark.parametrize("variable", ["TAGLINE_CPU", "TAGLINE_THREADS", "TAGLINE_ENGINE"])
def test_a_wrong_environment_variable_is_named(variable: str) -> None:
    done = run("import tagline.chain", **{variable: "v9"})
    assert done.returncode == 1
    assert f"{variable}: " in done.stderr
    assert "got 'v9'" in done.stderr


@pytest.mark.parametrize("name", compiled.supported_cpus())
def test_the_environment_chooses_the_variant(name: str) -> None:
    assert run("from tagline import compiled; print(compiled.cpu())", TAGLINE_CPU=name).stdout.strip() == name


def test_the_environment_chooses_the_threads() -> None:
    assert run("from tagline import compiled; print(compiled.threads())", TAGLINE_THREADS="3").stdout.strip() == "3"


def test_it_ships_types() -> None:
    package = Path(tagline.__file__).parent
    assert (package / "py.typed").exists()
    assert (package / "_core.pyi").exists()


def test_the_stub_is_the_generated_one(tmp_path: Path) -> None:
    from nanobind import stubgen

    fresh = tmp_path / "_core.pyi"
    stubgen.main(["-q", "-m", "tagline._core", "-o", str(fresh)])
    committed = ROOT / "src" / "tagline" / "_core.pyi"
    assert fresh.read_text() == committed.read_text(), "run: make stub"


def test_a_forked_child_computes() -> None:
    """Threads do not survive a fork; the child makes its own."""
    code = (
        "import os, numpy as np\nfrom tagline import Chain\nfrom tagline.chain import native\n"
        "chain = Chain(np.ones((5000, 20)), np.ones((20, 20)))\n"
        "z = native.log_partition(chain)[0]\n"
        "child = os.fork()\n"
        "if child == 0:\n    os._exit(0 if native.log_partition(chain)[0] == z else 3)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = run(code)
    assert done.stdout.strip() == "0", done.stderr
