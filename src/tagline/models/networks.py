"""What `BiLSTMCRF` and `TransformerCRF` may be told; not in `models.neural`, which needs PyTorch."""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from tagline.messages import message
from tagline.models.settings import (
    MODEL,
    Callbacks,
    DevDocuments,
    Documents,
    LabelWeights,
    MaxSeconds,
    OnIllegal,
    Patience,
    RandomState,
    RunFiles,
    Scheme,
    Verbose,
    WarmStart,
)
from tagline.settings import READ, Setting, Settings, declared
from tagline.training.neural.settings import (
    LEARNING_RATE,
    NETWORK,
    Accumulate,
    Average,
    BatchSize,
    Clip,
    Compile,
    Epochs,
    LearningRate,
    MaxTokens,
    Momentum,
    Optimizer,
    Precision,
    Schedule,
    Warmup,
    WeightDecay,
)

if TYPE_CHECKING:
    from tagline.features.lexicons.embeddings import Embeddings
    from tagline.storage import Path

HEADS = ("crf", "softmax")


@declared
class NetworkSettings(Settings):
    """What both networks may be told."""

    head: Annotated[
        str,
        Setting(
            "crf, or softmax, which decides on each token by itself; crf.",
            choices=HEADS,
            says_default=True,
            panel=NETWORK,
            trained=True,
        ),
    ] = "crf"
    smoothing: Annotated[float, Setting("Share of the target given to all labellings evenly (label smoothing).")] = 0.0
    scheme: Scheme = "auto"
    on_illegal: OnIllegal = "repair"
    label_weights: LabelWeights = None
    epochs: Epochs = 30
    patience: Patience = 10
    max_seconds: MaxSeconds = None
    batch_size: BatchSize = 16
    max_tokens: MaxTokens = None
    optimizer: Optimizer = "adamw"
    learning_rate: LearningRate = 2e-3
    momentum: Momentum = 0.9
    weight_decay: WeightDecay = 1e-3
    warmup: Warmup = 0.05
    schedule: Schedule = "linear"
    clip: Clip = 5.0
    accumulate: Accumulate = 1
    average: Average = 0.0
    precision: Precision = "float32"
    compile: Compile = False
    device: Annotated[
        str, Setting("cpu, cuda, cuda:1 …; a GPU where there is one.", says_default=True, panel=NETWORK)
    ] = "auto"
    warm_start: WarmStart = False
    random_state: RandomState = 0
    verbose: Verbose = False
    callbacks: Callbacks = ()


@declared
class BiLSTMSettings(NetworkSettings):
    """What a `BiLSTMCRF` may be told."""

    embeddings: Annotated[
        "Path | Embeddings | None",
        Setting(
            "Word vectors for bilstm: GloVe, word2vec or fastText as text, .gz or not, or a folder with a pretrained "
            "encoder, whose vectors are taken.",
            panel=NETWORK,
            file=READ,
            trained=True,
        ),
    ] = field(default=None, kw_only=False)
    word_dim: Annotated[int, Setting("Numbers of a word vector, where no file has them.", trained=True)] = 100
    freeze_words: Annotated[
        bool, Setting("Leave the vectors of a file as they are.", check="tagline.checks:check_bool")
    ] = False
    min_frequency: Annotated[
        int,
        Setting(
            "Words that are rarer have no vector of their own; with a file, those of the file do.",
            least=1,
            panel=MODEL,
            trained=True,
        ),
    ] = 1
    characters: Annotated[
        str | None,
        Setting(
            '"cnn", "lstm", None for none, or "auto": "cnn", or None where most tokens are Chinese characters.',
            trained=True,
        ),
    ] = "auto"
    char_dim: Annotated[int, Setting("Numbers of a character's vector.", trained=True)] = 30
    char_size: Annotated[int, Setting("Numbers that a word's characters make.", trained=True)] = 50
    case_dim: Annotated[
        int | str,
        Setting(
            'Numbers for how a word is written (capitals, digits); 0 for none, "auto" for 8, or 0 where most '
            "tokens are Chinese characters.",
            trained=True,
        ),
    ] = "auto"
    bigram_dim: Annotated[
        int | str,
        Setting(
            'Numbers for a word together with the next one; 0 for none, "auto" for 0, or 50 where most tokens '
            "are Chinese characters.",
            trained=True,
        ),
    ] = "auto"
    word_dropout: Annotated[
        float, Setting("Share of known words that are read as unknown ones in training, so that these are learned.")
    ] = 0.05
    hidden: Annotated[
        int,
        Setting(
            "Size of the LSTM in each direction; 200.",
            says_default=True,
            panel=NETWORK,
            tune=[64, 128, 256],
            trained=True,
        ),
    ] = 200
    layers: Annotated[int, Setting("How many LSTMs lie on top of each other.", trained=True)] = 1
    dropout: Annotated[float, Setting("Share of numbers left out in training, the same ones all along a sentence.")] = (
        0.5
    )


@declared
class TransformerSettings(NetworkSettings):
    """What a `TransformerCRF` may be told."""

    moved: ClassVar[Mapping[str, str]] = {
        "layer_decay": message("lower layers learn at the rate of the others; freeze= keeps them as they are"),
        "crf_rate": message("transitions learn ten times as fast as the layer that scores labels: head_rate="),
    }

    encoder: Annotated[
        "Path | None",
        Setting(
            "For transformer: a folder with a pretrained encoder, or its name on the Hugging Face hub.",
            panel=NETWORK,
            file=READ,
            trained=True,
        ),
    ] = field(default=None, kw_only=False)
    pooling: Annotated[
        Literal["first", "mean"],
        Setting(
            "first or mean, of the pieces of a word.",
            check="tagline.models.neural.transformer:check_pooling",
            trained=True,
        ),
    ] = "first"
    max_length: Annotated[
        int | None, Setting("Pieces of a window; those of the encoder's own size when left out.", trained=True)
    ] = None
    stride: Annotated[int, Setting("Pieces of context where a longer sentence is cut.", trained=True)] = 64
    context: Annotated[
        int,
        Setting(
            "For transformer: words of neighbouring sentences of the document to read on each side; 0.",
            least=0,
            says_default=True,
            panel=NETWORK,
        ),
    ] = 0
    freeze: Annotated[
        "int | Literal['all']",
        Setting(
            'How many of the lower layers keep their weights (1: the embeddings, 2: the first layer too, …), or "all".'
        ),
    ] = 0
    checkpointing: Annotated[
        bool, Setting("Save memory in training for a third more time.", check="tagline.checks:check_bool")
    ] = False
    head_rate: Annotated[
        float,
        Setting(
            "What multiplies the learning rate for the layer that scores labels, and ten times for transitions, which "
            "learn too little at an encoder's rate.",
            above=0,
        ),
    ] = 10.0
    dropout: Annotated[
        float,
        Setting("Share of numbers left out of what the encoder gives.", check="tagline.nn.dropout:check_probability"),
    ] = 0.1
    epochs: Epochs = 5
    batch_size: BatchSize = 32
    max_tokens: MaxTokens = 4096
    learning_rate: Annotated[
        float, Setting(LEARNING_RATE, above=0, panel=NETWORK, tune={"low": 1e-5, "high": 2e-4, "log": True})
    ] = 5e-5
    weight_decay: WeightDecay = 0.01
    warmup: Warmup = 0.1
    clip: Clip = 1.0
    precision: Precision = "auto"


@declared
class NetworkFiles(RunFiles):
    """What `tagline train` reads and writes for a network."""

    config: Annotated[
        str | None,
        Setting(
            "A TOML file with these and all other settings of a network, by their names in Python; options win over "
            "it. The whole configuration is saved beside the model.",
            panel=NETWORK,
            file=READ,
        ),
    ] = None


@declared
class TransformerFiles(NetworkFiles):
    """The same for a transformer, which reads neighbours in a document."""

    documents: Documents = None
    dev_documents: DevDocuments = None
