"""Threads of PyTorch that sleep while they wait for one another, also where PyTorch was loaded before Tagline.

OpenMP's threads spin for a while before they sleep, which takes the cores from those that work where others use them,
too. `tagline.compiled.let_torch_wait` tells OpenMP so before it is loaded; afterwards nobody can. But GNU's libgomp,
which PyTorch uses on Linux, nearly stops spinning by itself where it has more threads than there are cores. So one more
team of threads is made, which does nothing but sleep. Results do not depend on it.
"""

from __future__ import annotations

import os
import threading

import torch

NAME = "tagline-openmp"
ENOUGH = 1 << 18  # numbers: so many are worked on by all threads of a team

_lock = threading.Lock()


def let_threads_sleep() -> None:
    """Make the team, once; not where ``OMP_WAIT_POLICY`` is set, by whomever."""
    if os.environ.get("OMP_WAIT_POLICY") is not None or torch.get_num_threads() < 2:
        return
    with _lock:
        if any(thread.name == NAME for thread in threading.enumerate()):
            return
        ready = threading.Event()

        def team() -> None:
            torch.ones(ENOUGH).mul_(2)  # its threads live as long as this one
            ready.set()
            threading.Event().wait()

        threading.Thread(target=team, name=NAME, daemon=True).start()
        ready.wait()
