"""What `HMM` may be told, and what `tagline train` is told of a series."""

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any

from tagline.models.settings import (
    MODEL,
    SERIES,
    TRAINING,
    Callbacks,
    MaxSeconds,
    OnIllegal,
    RandomState,
    RunFiles,
    Scheme,
    Verbose,
    WarmStart,
)
from tagline.settings import Setting, Settings, declared

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tagline.models.hmm.emissions import Emission

ALGORITHMS, UNKNOWN_SYMBOLS = ("em", "viterbi"), ("smooth", "error")
MOST_STARTS = 10_000  # of EM

HERE = "tagline.models.hmm.specification"


@declared
class HMMSettings(Settings):
    """What an HMM may be told."""

    n_states: Annotated[
        int | None,
        Setting(
            "Learn so many hidden states of an HMM without labels; TRAIN is a series then, a .csv or .tsv file.",
            least=1,
            most="tagline.models.sizes:MOST_LABELS",
            flags=("--states",),
            says_default=True,
            panel=SERIES,
            trained=True,
        ),
    ] = field(default=None, kw_only=False)
    emission: Annotated[
        "str | Emission",
        Setting(
            "What a state emits: gaussian, mixture (of Gaussians), poisson (counts), bernoulli, categorical (symbols) "
            "…; gaussian.",
            check=f"{HERE}:check_emission",
            choices="tagline.models.hmm.emissions:FAMILIES",
            says_default=True,
            panel=SERIES,
            trained=True,
        ),
    ] = "categorical"
    algorithm: Annotated[
        str, Setting("em, or viterbi to learn from the best path alone.", choices=ALGORITHMS, trained=True)
    ] = "em"
    smoothing: Annotated[
        str,
        Setting(
            "Of an HMM's counts: add-k, witten-bell or dirichlet (no prior).",
            choices="tagline.models.hmm.smoothing:SMOOTHING",
            panel=MODEL,
            tune=["add-k", "witten-bell"],
            trained=True,
        ),
    ] = "add-k"
    k: Annotated[
        float,
        Setting(
            "Pseudo-count of --smoothing add-k.",
            least=0,
            flags=("--add-k",),
            panel=MODEL,
            tune={"low": 0.01, "high": 2.0, "log": True},
            trained=True,
        ),
    ] = 0.1
    covariance: Annotated[
        str,
        Setting(
            "Of Gaussians: spherical, diag, full or tied; diag.",
            choices="tagline.models.hmm.emissions:COVARIANCES",
            says_default=True,
            panel=SERIES,
            trained=True,
        ),
    ] = "diag"
    n_components: Annotated[
        int,
        Setting(
            "Gaussians of each state, with --emission mixture.",
            least=1,
            most="tagline.models.sizes:MOST_LABELS",
            says_default=True,
            panel=SERIES,
            trained=True,
        ),
    ] = 1
    topology: Annotated[
        "str | ArrayLike",
        Setting(
            '"full", "left-to-right", "cyclic", or booleans ``[K, K]``; what is forbidden stays at 0.', trained=True
        ),
    ] = "full"
    scheme: Scheme = "auto"
    on_illegal: OnIllegal = "repair"
    start_prior: Annotated[
        "ArrayLike",
        Setting("Dirichlet parameters of 1 (no prior) or more.", check=f"{HERE}:check_vector_prior", trained=True),
    ] = 1.0
    transition_prior: Annotated[
        "ArrayLike", Setting("The same of transitions.", check=f"{HERE}:check_matrix_prior", trained=True)
    ] = 1.0
    emission_prior: Annotated["ArrayLike", Setting("The same of what is emitted.", trained=True)] = 1.0
    min_variance: Annotated["ArrayLike | None", Setting("The floor of variances.", trained=True)] = None
    emission_options: Annotated[
        dict[str, Any] | None,
        Setting(
            "Further arguments of the emission family, by name.", check="tagline.checks:check_mapping", trained=True
        ),
    ] = None
    frozen: Annotated[
        Sequence[str],
        Setting(
            'Parameters that `fit` leaves as they are: "start", "transitions", or names of the emission family.',
            trained=True,
        ),
    ] = ()
    tied: Annotated[
        Sequence[int] | None,
        Setting("The group of each state, ``[K]``; states of a group share what they emit.", trained=True),
    ] = None
    n_init: Annotated[
        int,
        Setting(
            "Random starts, of which the best is kept; 1.", least=1, most=MOST_STARTS, says_default=True, panel=SERIES
        ),
    ] = 1
    max_iterations: Annotated[
        int, Setting("Passes at most; no limit if left out, 100 of an HMM.", least=0, panel=TRAINING)
    ] = 100
    tolerance: Annotated[float, Setting("EM stops after a step that gains less.", check=f"{HERE}:check_gain")] = 0.01
    max_seconds: MaxSeconds = None
    unknown: Annotated[
        str, Setting("Words that an HMM never saw: smooth, or error.", choices=UNKNOWN_SYMBOLS, panel=MODEL)
    ] = "smooth"
    warm_start: WarmStart = False
    random_state: RandomState = 0
    verbose: Verbose = False
    callbacks: Callbacks = ()


@declared
class HMMFiles(RunFiles):
    """What `tagline train` is told of a series, and the files of a run."""

    columns: Annotated[
        str | None,
        Setting(
            "Columns to learn from, by name, with commas between; all that have numbers if left out.", panel=SERIES
        ),
    ] = None
    group: Annotated[str | None, Setting("The column that says which sequence a row belongs to.", panel=SERIES)] = None
