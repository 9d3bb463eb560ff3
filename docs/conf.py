"""How the site is built: `sphinx-build -W docs site` (extra `docs`). Offline, static, warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import command_reference  # noqa: E402

from understudy.version import VERSION  # noqa: E402

command_reference.PAGE.parent.mkdir(exist_ok=True)
command_reference.PAGE.write_text(command_reference.reference(), encoding="utf-8", newline="\n")

project, author, release = "understudy", "The understudy authors", VERSION
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"understudy {VERSION}"
html_show_sourcelink = False
html_static_path, html_css_files = ["_static"], ["site.css"]
smartquotes = False  # two hyphens are two hyphens: they begin the name of an option
autodoc_typehints = "none"  # the signature has them, and the docstring has the units
autodoc_member_order = "bysource"
napoleon_use_rtype = False
suppress_warnings = [
    "myst.header",
    "myst.xref_missing",
    "docutils",
]  # tests/unit/test_documentation.py checks the links
