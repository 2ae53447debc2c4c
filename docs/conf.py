"""The site: `make docs` builds docs/ in English, and with ``-t zh`` docs/zh/ in Chinese, each by itself.

Sphinx reads this file. What it does not have by itself stands in docs/_extensions, an extension a file.
"""

import hashlib
import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import tagline  # noqa: E402

CHINESE = tags.has("zh")  # type: ignore[name-defined]  # noqa: F821 - Sphinx gives it

project = "Tagline"
author = "The Tagline authors"
project_copyright = author
version = release = tagline.__version__
language = "zh_CN" if CHINESE else "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "public_names",
    "command_line",
    "drawn",
    "mathematics",
    "links",
    "language_switch",
    "chinese_search",
    "chinese_lines",
    "accessibility",
]
exclude_patterns = [] if CHINESE else ["zh", "_*"]
templates_path = ["_templates"]
locale_dirs = [str(HERE / "_locale")]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 4  # by GitHub's rule
myst_url_schemes = ["http", "https", "mailto", "counterpart"]  # the last: a page of the other language, see links.py

default_role = "py:obj"  # `name` in docstrings: a link where there is such a name, else code
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_inherit_docstrings = False
autodoc_type_aliases = {  # shown by their names, not as what they stand for
    name: name
    for name in (
        *("ArrayLike", "FloatArray", "Float64Array", "IntArray", "BoolArray", "SpanQuery", "LabelSet", "Labellings"),
        *("Path", "PathLike", "Way", "Items", "Vocabularies", "Cut", "FeatureFunction", "Callback", "Objective"),
    )
}
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a list, where there would be an entry for each
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "Tagline"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_sidebars = {
    "**": [
        *("sidebar/brand.html", "sidebar/search.html", "sidebar/scroll-start.html", "sidebar/navigation.html"),
        *("sidebar/english.html", "sidebar/scroll-end.html"),
    ]
}
html_context = {
    "english_only": [
        ("notebooks", "笔记本"),
        ("migrate/README", "从其他工具迁移"),
        ("reference/index", "参考手册"),
        ("internals/index", "内部文档"),
        ("benchmarks", "基准测试"),
        ("changelog", "更新日志"),
    ]
    if CHINESE
    else []
}
html_theme_options = {"top_of_page_buttons": ["view"]}  # its template is ours: the language switch

digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted((HERE / "_extensions").glob("*.py")))).hexdigest()


def setup(app: Sphinx) -> None:
    """Let all pages be made anew where an extension has changed."""
    app.add_config_value("digest", "", "env", str)
