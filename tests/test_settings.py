"""Settings are declared once: what comes from a declaration, and that every declaration can be meant."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from sklearn.base import BaseEstimator, clone

from tagline.errors import InputError
from tagline.models.registry import kinds
from tagline.settings import Clash, Declared, Setting, Settings, check_settings, declarations, declared, documented
from tagline.training.choices import ALGORITHMS

ROOT = Path(__file__).parents[1]


@declared
class ProbeSettings(Settings):
    moved: ClassVar[Mapping[str, str]] = {"speed": "write pace="}
    clashes = (Clash("pace", 3, "name", None, "a pace is somebody's"), Clash("switch", bool, "", None, "it is broken"))

    first: Annotated[str, Setting("The first.")] = field(default="a", kw_only=False)
    pace: Annotated[int, Setting("Steps.", least=1, most=5, panel="Model", flags=("-p", "--steps"))] = 2
    share: Annotated[float | None, Setting("A share.", above=0, most=1)] = None
    name: Annotated[str | None, Setting("One of two.", choices=("ann", "bob"))] = None
    switch: Annotated[bool, Setting("On, as --steps is.")] = False


@documented
class Probe(ProbeSettings, BaseEstimator):  # type: ignore[misc]
    """A probe.

    Arguments:
        {settings}
    """


def test_the_constructor_is_scikit_learns() -> None:
    probe = Probe("b", pace=4)
    assert probe.get_params() == {"first": "b", "pace": 4, "share": None, "name": None, "switch": False}
    assert clone(probe).get_params() == probe.get_params()
    assert repr(probe) == "Probe(first='b', pace=4)"
    assert probe.set_params(pace=1).pace == 1
    assert Probe(pace="no").pace == "no", "what is wrong is said when it is used"  # type: ignore[arg-type]
    shown = "(first: str = 'a', *, pace: int = 2, share: float | None = None, name: str | None = None, switch: bool"
    assert str(inspect.signature(Probe)).startswith(shown)
    assert "    Arguments:\n        first: The first.\n        pace: Steps.\n" in str(Probe.__doc__)
    assert "switch: On, as steps is." in str(Probe.__doc__)
    with pytest.raises(TypeError, match="Probe: speed is no setting any more; write pace="):
        Probe(speed=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'sped'"):
        Probe(sped=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pace": 6}, "pace: expected a whole number from 1 to 5, got 6"),
        ({"pace": None}, "pace: expected a whole number from 1 to 5, got None"),
        ({"share": 0}, "share: expected a number above 0 and of at most 1, got 0"),
        ({"name": "eve"}, "name: expected one of ann, bob, got 'eve'"),
        ({"switch": "on"}, "switch: expected True or False, got 'on'"),
        ({"switch": True}, "switch: expected False for Probe, got True; it is broken"),
        ({"pace": 3}, "pace: expected 2 without name, got 3; a pace is somebody's"),
    ],
)
def test_what_cannot_be_meant(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        check_settings(Probe(**settings))
    assert str(error.value) == message
    check_settings(Probe())
    check_settings(Probe(pace=3, name="ann"))


def test_text_and_numbers_are_read() -> None:
    known = declarations(Probe)
    assert [known["pace"].read(value) for value in ("3", 3, 3.0)] == [3, 3, 3]
    assert (known["share"].read("0.5"), known["share"].read(None)) == (0.5, None)
    assert known["switch"].read("true") is True
    with pytest.raises(InputError, match=r"^--steps: expected a whole number from 1 to 5, got 'x'"):
        known["pace"].read("x")
    with pytest.raises(InputError, match=r"^a\.toml, share: expected"):
        known["share"].read(2, "a.toml, share")


def every() -> list[tuple[str, Declared]]:
    owners = [kind.estimator for kind in kinds().values()] + [kind.files_class for kind in kinds().values()]
    return [
        (owner.__name__, entry) for owner in (*owners, *ALGORITHMS.values()) for entry in declarations(owner).values()
    ]


def test_every_default_can_be_meant_and_every_setting_says_what_it_is() -> None:
    pytest.importorskip("torch")
    for owner, entry in every():
        entry.check(entry.default)
        assert entry.setting.help.endswith("."), (owner, entry.name)
    for kind in kinds().values():
        assert {*declarations(kind.estimator)} == {*kind.estimator().get_params()}
        assert "{settings}" not in str(kind.estimator.__doc__)


def test_help_needs_neither_numpy_nor_scikit_learn() -> None:
    code = "import sys; from tagline.models.registry import kinds; [kind.options for kind in kinds().values()]; "
    code += "print([name for name in ('numpy', 'sklearn', 'torch') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_page_of_settings_is_current() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        from draw_settings import PAGE, page  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    assert PAGE.read_text(encoding="utf-8") == page(), "python docs/draw_settings.py writes it"
