"""How the site is built: `sphinx-build -W docs site` (extra `docs`). Offline, static, warnings are errors."""

from __future__ import annotations

import re
import sys
from os.path import normpath
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import command_reference  # noqa: E402

from understudy.version import VERSION  # noqa: E402

command_reference.PAGE.parent.mkdir(exist_ok=True)
command_reference.PAGE.write_text(command_reference.reference(), encoding="utf-8", newline="\n")

# Proofs lie beside the code and some pages at the root; the site has copies of them, and links to them lead there.
ROOT = HERE.parent
CODE = ROOT / "src" / "understudy"
COPIES = {page: f"proofs/{'-'.join(page.parent.relative_to(CODE).parts)}" for page in CODE.rglob("PROOF.md")}
COPIES |= {ROOT / f"{name}.md": f"project/{name.lower()}" for name in ("CONTRIBUTING", "SECURITY", "CHANGELOG")}


def relinked(text: str, folder: Path, copied: bool = False) -> str:
    """Return a page's text with links to copied pages, and those of a copied page, made to places in the site."""

    def moved(found: re.Match[str]) -> str:
        target, anchor = Path(normpath(folder / found[1])), found[2] or ""
        if target in COPIES:
            return f"](/{COPIES[target]}.md{anchor})"
        if copied and target.is_relative_to(HERE) and target.is_file():
            return f"](/{target.relative_to(HERE).as_posix()}{anchor})"
        return found[0]

    return re.sub(r"\]\((?!https?:|mailto:|#|/)([^)\s#]+)(#[^)\s]*)?\)", moved, text)


for page, name in COPIES.items():
    copy = HERE / f"{name}.md"
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(relinked(page.read_text(encoding="utf-8"), page.parent, True), encoding="utf-8", newline="\n")


def setup(app: Any) -> None:
    """Let links that leave the folder lead to the copies."""

    def read(app: Any, name: str, source: list[str]) -> None:
        source[0] = relinked(source[0], (HERE / name).parent)

    app.connect("source-read", read)


project, author, release = "understudy", "The understudy authors", VERSION
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"understudy {VERSION}"
html_show_sourcelink = False
html_static_path, html_css_files = ["_static"], ["site.css"]
autodoc_typehints = "none"  # the signature has them, and the docstring has the units
autodoc_member_order = "bysource"
napoleon_use_rtype = False
suppress_warnings = [
    "myst.header",
    "myst.xref_missing",
    "docutils",
]  # tests/unit/test_documentation.py checks the links
