"""Configures Sphinx. The site's source folder is the root of the repository."""

import sys
from pathlib import Path

from netspurt import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "netspurt"
author = "the netspurt authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "from_code"]
root_doc = "docs/index"
# `papers` is a symbolic link into the package. The build resolves links on pages to the real paths
# of files, so the last pattern has the real path of `papers`.
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
# Smart quotes would replace the two hyphens of options such as `--out` by a dash.
smartquotes = False
nitpicky = True
# A type that no page documents is shown as plain text. Links of pages are checked nevertheless.
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
# Pages keep their paths in the repository, so the front page of the site redirects to `docs`.
html_extra_path = ["_ext/front"]
# The search page loads other pages to show excerpts. A browser does not allow this if the page was
# opened as a file. In that case this script turns excerpts off.
html_static_path = ["_ext/static"]
html_js_files = ["search_of_files.js"]
