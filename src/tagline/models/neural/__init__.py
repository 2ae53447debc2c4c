"""Neural taggers: `bilstm.BiLSTMCRF` and `transformer.TransformerCRF`, over `tagger.NeuralTagger`.

In: sentences of words and labels. Out: a network that scores sentences into chains. A coder turns words into numbers, the
network (`tagline.nn`) turns them into emissions, `fitting` is what the training loop asks for; `file` is its layout.
"""
