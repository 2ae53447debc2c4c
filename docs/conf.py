"""The site: `make docs` builds docs/ in English, and with ``-t zh`` docs/zh/ in Chinese, each by itself.

Sphinx reads this file. What it does not have by itself stands in docs/_extensions, an extension a file.
"""

import sys
from pathlib import Path

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
]
exclude_patterns = [] if CHINESE else ["zh", "_*"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 4  # by GitHub's rule
myst_url_schemes = ["http", "https", "mailto", "counterpart"]  # the last: a page of the other language, see links.py

default_role = "py:obj"  # `name` in docstrings: a link where there is such a name, else code
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_inherit_docstrings = False
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
html_theme_options = {"top_of_page_buttons": ["view"]}  # its template is ours: the language switch
