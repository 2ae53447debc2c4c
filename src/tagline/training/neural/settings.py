"""How a network is trained, in one frozen value that is checked when it is made; needs no PyTorch."""

from dataclasses import dataclass, fields
from typing import Annotated, TypeAlias

from tagline.messages import message
from tagline.settings import Setting, check_settings

OPTIMIZERS = ("adamw", "sgd")
SCHEDULES = ("linear", "cosine", "constant", "inverse")
PRECISIONS = ("auto", "float32", "bfloat16", "float16")
NETWORK = message("Networks: bilstm, transformer")  # the panel of the help

Epochs: TypeAlias = Annotated[int, Setting("Passes at most; 30 for bilstm, 5 for transformer.", least=1, panel=NETWORK)]
BatchSize: TypeAlias = Annotated[
    int,
    Setting("Sentences of a step; 16 for bilstm, 32 for transformer.", least=1, panel=NETWORK, tune=[8, 16, 32]),
]
LEARNING_RATE = "The highest; 2e-3 for bilstm, 5e-5 for transformer."
LearningRate: TypeAlias = Annotated[
    float,
    Setting(LEARNING_RATE, above=0, panel=NETWORK, tune={"low": 5e-4, "high": 2e-2, "log": True}),
]
MaxTokens: TypeAlias = Annotated[
    int | None,
    Setting("Of a batch, padding included; a longer sentence goes alone, and None is any number.", least=1),
]
Optimizer: TypeAlias = Annotated[str, Setting("adamw or sgd.", choices=OPTIMIZERS)]
Momentum: TypeAlias = Annotated[float, Setting("Of sgd.", check="tagline.checks:check_share_below_1")]
WeightDecay: TypeAlias = Annotated[float, Setting("Of weights in each step; decoupled with adamw.", least=0)]
Warmup: TypeAlias = Annotated[
    float, Setting("The share of all steps over which the rate rises from 0.", least=0, most=1)
]
Schedule: TypeAlias = Annotated[
    str,
    Setting(
        "What follows: linear or cosine down to 0, constant, or inverse, 1 / (1 + 0.05·epochs done).", choices=SCHEDULES
    ),
]
Clip: TypeAlias = Annotated[float | None, Setting("The longest gradient; a longer one is shortened.", above=0)]
Accumulate: TypeAlias = Annotated[int, Setting("Batches whose gradients make one step.", least=1)]
Average: TypeAlias = Annotated[
    float,
    Setting(
        "The decay of a running mean of the weights, which is scored and kept in their place, such as 0.999; 0 for "
        "none.",
        check="tagline.checks:check_share_below_1",
    ),
]
Precision: TypeAlias = Annotated[
    str,
    Setting(
        "Of products inside the network: float32, bfloat16, float16, or auto, which is bfloat16 on a GPU that has it "
        "and float32 elsewhere.",
        choices=PRECISIONS,
    ),
]
Compile: TypeAlias = Annotated[bool, Setting("Hand the network to `torch.compile`.", check="tagline.checks:check_bool")]
Waiting: TypeAlias = Annotated[int | None, Setting("Epochs without a better dev score; None for ever.", least=1)]
Seconds: TypeAlias = Annotated[float | None, Setting("Budget of the run, those before a resumption included.", least=0)]
Seed: TypeAlias = Annotated[int, Setting("Of the order of the sentences and of dropout.", least=0)]


@dataclass(frozen=True)
class Descent:
    """Settings of a training run.

    >>> Descent(epochs=3, learning_rate=0.01).batch_size
    32
    """

    epochs: Epochs = 20
    batch_size: BatchSize = 32
    max_tokens: MaxTokens = None
    optimizer: Optimizer = "adamw"
    learning_rate: LearningRate = 1e-3
    momentum: Momentum = 0.9
    weight_decay: WeightDecay = 0.0
    warmup: Warmup = 0.0
    schedule: Schedule = "linear"
    clip: Clip = 5.0
    accumulate: Accumulate = 1
    average: Average = 0.0
    precision: Precision = "auto"
    compile: Compile = False
    patience: Waiting = None
    max_seconds: Seconds = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        for entry in fields(self):  # JSON, which checkpoints are written in, knows Python's own numbers only
            if hasattr(value := getattr(self, entry.name), "dtype") and getattr(value, "ndim", 1) == 0:
                object.__setattr__(self, entry.name, value.item())
        check_settings(self)
