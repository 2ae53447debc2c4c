"""How many random cases a test draws: more or fewer than others, and with the profile more or fewer of all."""

from __future__ import annotations

from hypothesis import settings


def examples(usual: int) -> settings:
    """Return settings with so many cases in a profile of 100, and in proportion in others."""
    return settings(max_examples=max(1, usual * settings.default.max_examples // 100))
