"""A network in PyTorch: a BiLSTM with a CRF on top, trained, saved, and asked about text.

Run with ``python examples/first_hour/network.py``.
"""

import tempfile
from pathlib import Path

import tagline
from tagline.datasets import make_entities

train, dev = make_entities(300, language="en"), make_entities(60, seed=1, language="en", split="test")
network = tagline.BiLSTMCRF(word_dim=40, hidden=40, epochs=15, learning_rate=5e-3, random_state=0)
network.fit(train, X_dev=dev)
print(f"dev F1 {max(epoch.dev_score for epoch in network.training_log_):.2f} after {len(network.training_log_)} epochs")

with tempfile.TemporaryDirectory() as folder:
    network.save(Path(folder) / "network.tagline")
    loaded = tagline.load(Path(folder) / "network.tagline")
assert loaded.predict(dev) == network.predict(dev)
for entity in loaded.tag("Anna Smith lives in Oslo.").entities:
    print(entity.type, entity.text, f"{entity.probability:.2f}")
