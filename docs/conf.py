"""How Sphinx makes the site: every page of the repository, from its root."""

import sys
from pathlib import Path

from netspurt import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "netspurt"
author = "the netspurt authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "from_code"]
root_doc = "docs/index"
# `papers` is a link into the package, and links on pages lead to files by their real names.
include_patterns = [
    "*.md",
    "authorities/**.md",
    "bench/*.md",
    "data/**.md",
    "docs/**.md",
    "python/netspurt/shelf/papers/*/README.md",
]
exclude_patterns = ["docs/_build"]
highlight_language = "none"
# Options of commands keep their hyphens.
smartquotes = False
nitpicky = True
# Types that no page documents stand as plain text; links of pages are checked all the same.
nitpick_ignore_regex = [("py:(class|data|exc|obj)", ".*")]

man_pages = [
    ("docs/reference/commands", "netspurt", "a laboratory for retransmission timers", author, 1),
    ("docs/reference/scenario-keys", "netspurt-scenario", "keys of scenario files", author, 5),
    ("docs/reference/tables", "netspurt-tables", "tables and their columns", author, 5),
    ("docs/reference/estimators", "netspurt-estimators", "retransmission timers", author, 7),
    ("docs/reference/mechanisms", "netspurt-mechanisms", "mechanisms of TCP", author, 7),
]

autodoc_member_order = "bysource"
autodoc_type_aliases = {"ArrayLike": "numpy.typing.ArrayLike"}

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

html_theme = "furo"
html_title = "netspurt"
html_show_copyright = False
# Pages keep their places in the repository, so the front page of the site leads to that of `docs`.
html_extra_path = ["_ext/front"]
# The search reads excerpts of pages by requests, which a browser denies to files.
html_static_path = ["_ext/static"]
html_js_files = ["search_of_files.js"]
