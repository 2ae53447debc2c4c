"""English entities, for those who come from sklearn-crfsuite: the same features, the same estimator, and text in.

Run with ``python examples/first_hour/english_entities.py``.
"""

import tempfile
from pathlib import Path

import tagline
from tagline.datasets import make_entities

train, test = make_entities(400, language="en"), make_entities(100, seed=1, language="en", split="test")


def features(sentence: list[str]) -> list[dict[str, object]]:
    """What sklearn-crfsuite takes: a dict for each token."""
    return [
        {"lower": word.lower(), "title": word.istitle(), "digit": word.isdigit(), "suffix": word[-3:]}
        | ({"before": sentence[t - 1].lower()} if t else {"BOS": True})
        for t, word in enumerate(sentence)
    ]


crf = tagline.CRF(algorithm="lbfgs", c1=0.05, c2=0.05, max_iterations=60)
crf.fit([features(sentence) for sentence in train.tokens], train.tags)
predicted = crf.predict([features(sentence) for sentence in test.tokens])
print(tagline.evaluation.evaluate(test.tags, predicted))

# The same with a ready-made template: raw text in, entities with their exact probabilities out.
tagger = tagline.CRF("english_ner", scheme="IOB2").fit(train)
with tempfile.TemporaryDirectory() as folder:
    tagger.save(Path(folder) / "model.tagline")
    tagger = tagline.load(Path(folder) / "model.tagline")
text = "Dr. Anna Smith lives in Oslo. Peter Oduya met her there in May 2021."
for entity in tagger.tag(text).entities:
    print(f"{entity.type:5} {entity.start:3}-{entity.end:<3} {entity.text:12} {entity.probability:.3f}")
