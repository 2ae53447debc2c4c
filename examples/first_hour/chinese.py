"""Chinese: entities by character, and segmentation from text with blanks between its words.

Run with ``python examples/first_hour/chinese.py``.
"""

import tagline
from tagline.datasets import make_entities
from tagline.readers import corpus_of_words
from tagline.readers.words import words_of_sentences

tagger = tagline.CRF("chinese_ner", scheme="IOB2").fit(make_entities(400, language="zh"))
text = "".join(make_entities(2, seed=1, language="zh", split="test").texts)
print(text)
for entity in tagger.tag(text).entities:
    print(entity.type, entity.start, entity.end, entity.text)

lines = ["中国 人民 热爱 和平", "我们 在 中国 工作", "人民 在 工作", "我们 热爱 中国", "他们 工作"]
words = corpus_of_words(lines)
segmenter = tagline.CRF("segmentation", scheme="BMES-words", c2=0.1).fit(words)
new = corpus_of_words(["我们热爱和平"])
print(" ".join(words_of_sentences(new.with_column("tag", tagline.readers.Column.of(segmenter.predict(new)[0])))[0]))
