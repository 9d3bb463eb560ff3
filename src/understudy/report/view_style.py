"""The style sheet of views: the report's figures inside somebody else's page, light and dark, touching nothing else."""

from __future__ import annotations

import re

from understudy.report.style import DARK, DRAWINGS, LIGHT, PARTS

SCOPE = ".understudy.understudy"  # twice, to win over the rules that notebooks have for every table

_OWN = """
p{margin:0 0 8px;max-width:76ch;color:inherit}
h1{font:600 24px/1.2 ui-serif,"Iowan Old Style",Charter,Georgia,serif;margin:2px 0 4px;padding:0;border:0;color:inherit}
h2{font:600 15px/1.3 inherit;font-size:15px;margin:18px 0 8px;padding:0;border:0;color:inherit}
h3{font-size:14px;margin:0 0 6px;padding:0;border:0;display:flex;justify-content:space-between;gap:12px;color:inherit}
.eyebrow{color:var(--accent);font-size:12px;font-weight:600;letter-spacing:.09em;text-transform:uppercase;margin:0}
.muted,.kind,.source,figcaption,.scale{color:var(--muted)}
.kind{font-weight:400;font-size:12px}.source,figcaption{font-size:12px;margin:6px 0 0}
code{font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--track);color:inherit;
padding:1px 4px;border-radius:4px}
.warning{border-left:4px solid var(--alarm);padding:6px 12px;background:var(--sheet);font-weight:600}
.stamp{position:static;border-radius:8px;margin:0 0 12px}
table{border:0;margin:0;table-layout:auto;background:none}table.bars{table-layout:fixed}
tr,tbody tr:nth-child(odd),tbody tr:nth-child(even),tbody tr:hover{background:none;border:0}
th,td{text-align:left;padding:3px 10px 3px 0;border:0;vertical-align:middle;max-width:none;white-space:normal;
color:inherit;line-height:1.35;overflow-wrap:break-word}
.figure{text-align:right;padding:3px 0 3px 10px}.key{padding-right:10px}.bars .bar{padding:0}
.tiles{margin:12px 0 4px;gap:8px 32px}.tiles b{font-size:21px}.tiles span{font-size:12px}
.panel{padding:12px 14px;margin:0 0 10px}.warning{margin:8px 0}.stack+.panel{margin-top:8px}
.bars thead .figure{width:74px}.card{padding:12px 14px;margin:0 0 12px}.grown{font-size:21px;margin:0 0 6px}
details{margin-top:12px}summary{cursor:pointer;color:var(--accent);font-weight:600}
ol.pairs{columns:240px;font-size:13px;padding-left:26px}.legend{display:none}
.note{border-left:3px solid var(--rule);padding:2px 12px;color:var(--muted);font-size:13px}
.next{color:var(--muted);font-size:12.5px;margin-top:12px}
"""
_BASE = (
    "color-scheme:light dark;box-sizing:border-box;max-width:980px;background:var(--paper);color:var(--ink);"
    'font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Noto Sans",sans-serif;'
    "padding:16px 20px;border:1px solid var(--rule);border-radius:12px;overflow-wrap:anywhere;text-align:left"
)
# a page that says itself which it is: JupyterLab, VS Code, documentation themes
_SAYS_DARK = ('[data-jp-theme-light="false"]', ".vscode-dark", '[data-theme="dark"]')
_SAYS_LIGHT = ('[data-jp-theme-light="true"]', ".vscode-light", '[data-theme="light"]')


def scoped(sheet: str, scope: str = SCOPE) -> str:
    """Return the rules of a style sheet without @-rules, each for what lies inside `scope` alone."""
    return "".join(
        ",".join(f"{scope} {selector.strip()}" for selector in rule.group(1).split(",")) + "{" + rule.group(2) + "}"
        for rule in re.finditer(r"([^{}]+)\{([^{}]*)\}", _joined(sheet))
    )


def _joined(sheet: str) -> str:
    return "".join(line.strip() for line in sheet.splitlines())


def _colours() -> str:
    light, dark = _joined(LIGHT), _joined(DARK)
    said = [(page, light) for page in _SAYS_LIGHT] + [(page, dark) for page in _SAYS_DARK]
    return (
        f"{SCOPE}{{{light}}}@media (prefers-color-scheme:dark){{{SCOPE}{{{dark}}}}}"
        + "".join(f"{page} {SCOPE}{{{colours}}}" for page, colours in said)
    )  # fmt: skip


VIEW_STYLE = _colours() + f"{SCOPE}{{{_BASE}}}{SCOPE} *{{box-sizing:border-box}}" + scoped(PARTS + DRAWINGS + _OWN)
