"""Search in Chinese without a dictionary: pages and queries are cut into pairs of neighbouring characters.

A query finds the pages that have all of its pairs, so that 前向算法 is found however a segmenter would cut the sentence
in which it stands. Single characters are indexed, too. Words in Latin letters are searched as in English.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

HAN = "\u3400-\u9fff\uf900-\ufaff"
PIECES = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")


class SearchByPairs(SearchEnglish):
    lang = "zh_CN"
    js_splitter_code = rf"""
var splitQuery = (query) =>
  (query.match(/[{HAN}]+|(?:(?![{HAN}])[\p{{Letter}}\p{{Number}}_])+/gu) || []).flatMap((piece) =>
    /[{HAN}]/u.test(piece) && piece.length > 2
      ? Array.from({{length: piece.length - 1}}, (_, i) => piece.slice(i, i + 2))
      : [piece]);
"""

    def split(self, input: str) -> list[str]:
        words: list[str] = []
        for piece in PIECES.findall(input):
            if re.match(f"[{HAN}]", piece):
                words += [*piece, *(piece[i : i + 2] for i in range(len(piece) - 1))]
            else:
                words.append(piece)
        return words

    def word_filter(self, stemmed_word: str) -> bool:
        return bool(re.match(f"[{HAN}]", stemmed_word)) or super().word_filter(stemmed_word)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_search_language(SearchByPairs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
