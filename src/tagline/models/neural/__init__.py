"""Neural taggers: `bilstm.BiLSTMCRF` and `transformer.TransformerCRF`, over `tagger.NeuralTagger`.

In: sentences of words and labels. Out: a network that scores sentences into chains. A coder turns words into numbers
and the network (`tagline.nn`) turns these into emissions; `fitting` is what the training loop asks for.
"""

from tagline import compiled

try:
    compiled.let_torch_wait()
    import torch  # noqa: F401
except ImportError as error:
    from tagline.errors import MissingPackageError

    raise MissingPackageError("tagline.models.neural", "torch", "pip install 'tagline[torch]'", error) from None
