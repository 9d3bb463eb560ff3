"""The style sheet: light and dark, narrow and wide, and on paper."""

from __future__ import annotations

LIGHT = """
--paper:#f7f6f2;--sheet:#fffefb;--ink:#1b2126;--muted:#5d666e;--rule:#dedbd1;--track:#efede6;
--accent:#1d6b86;--soft:#cfe3ea;--gain:#d98a2b;--gained:#95550c;--line:#3a444c;--original:#b3411b;--alarm:#a31621;--banner:#a31621;
--t0:#1d6b86;--t1:#d98a2b;--t2:#7a4e86;--t3:#5b8a3c;--t4:#b3411b;--t5:#7d868d;--t6:#c2578a;--t7:#a8921f;--t8:#3f5bb0;--t9:#8a6a4f;
--h0:#f3f1ea;--h1:#dfe9e8;--h2:#bcd7dc;--h3:#8fbdc9;--h4:#5c9cb0;--h5:#347c95;--h6:#1a5a72;--h7:#0c3b4d
"""

DARK = """
--paper:#12171b;--sheet:#191f24;--ink:#e9e6df;--muted:#9aa4ab;--rule:#2e373e;--track:#232b31;
--accent:#5cb0cc;--soft:#21404c;--gain:#e8a655;--gained:#e8a655;--line:#d5dade;--original:#f58b5c;--alarm:#ee7079;--banner:#b3202c;
--t0:#5cb0cc;--t1:#e8a655;--t2:#b98cc6;--t3:#93c06f;--t4:#f58b5c;--t5:#8d979e;--t6:#e48fb6;--t7:#d6c559;--t8:#8ea6ee;--t9:#c4a58b;
--h0:#20282e;--h1:#1f3640;--h2:#204755;--h3:#245d70;--h4:#2a6f86;--h5:#4b9bb5;--h6:#7dc0d5;--h7:#bfe6f1
"""

_COLOURS = f":root{{color-scheme:light dark;{LIGHT}}}@media (prefers-color-scheme:dark){{:root{{{DARK}}}}}"

_TEXT = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,"Noto Sans",sans-serif;overflow-wrap:anywhere}
header,main,footer{max-width:1080px;margin:0 auto;padding:0 24px}
header{padding-top:44px}
h1,h2{font-family:ui-serif,"Iowan Old Style",Charter,Georgia,"Times New Roman",serif;font-weight:600;line-height:1.15}
h1{font-size:clamp(30px,6vw,50px);margin:6px 0 14px;letter-spacing:-.01em}
h2{font-size:27px;margin:0 0 12px}
h3{font-size:16px;margin:0 0 8px;display:flex;flex-wrap:wrap;justify-content:space-between;gap:2px 12px}
p{margin:0 0 12px;max-width:70ch}
.eyebrow{color:var(--accent);font-size:13px;font-weight:600;letter-spacing:.09em;text-transform:uppercase;margin:0}
.lead{font-size:19px;max-width:62ch}
.muted,.kind,.source,figcaption,.scale{color:var(--muted)}
.kind{font-weight:400;font-size:13px}
.source,figcaption{font-size:13px;margin:8px 0 0}
code{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;word-break:break-all}
nav{display:flex;flex-wrap:wrap;gap:6px 18px;border-top:1px solid var(--rule);border-bottom:1px solid var(--rule);
padding:10px 0;margin-top:26px;font-size:14px}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
section{padding-top:44px}
footer{padding-top:40px;padding-bottom:56px;font-size:13px;color:var(--muted)}
footer strong{display:block;color:var(--alarm);margin-bottom:6px}
ul.limits{padding-left:20px;max-width:72ch}ul.limits li{margin-bottom:8px}
details{margin-top:14px}summary{cursor:pointer;color:var(--accent)}
ol.pairs{columns:260px;font-size:14px;padding-left:28px}
.warning{border-left:4px solid var(--alarm);padding:8px 14px;background:var(--sheet);font-weight:600;max-width:70ch}
.legend{display:flex;flex-wrap:wrap;gap:6px 20px;font-size:14px;padding:0;margin:0 0 16px;list-style:none}
.legend li{display:flex;align-items:center;gap:8px}.legend svg.strip{width:64px;flex:none}
"""

PARTS = """
.tiles{display:flex;flex-wrap:wrap;gap:10px 40px;margin:22px 0 4px}
.tiles div{display:flex;flex-direction:column}
.tiles b{font:600 27px/1.2 ui-serif,"Iowan Old Style",Charter,Georgia,serif;font-variant-numeric:tabular-nums}
.tiles span{font-size:13px;color:var(--muted)}
.panel,.card,.signed{background:var(--sheet);border:1px solid var(--rule);border-radius:12px;padding:18px 20px}
.card{break-inside:avoid;margin:0 0 18px;padding:16px 18px}
.cards{columns:420px;column-gap:18px}.spaced{margin-top:18px}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:18px;align-items:start}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th{font-weight:400;text-align:left}
thead th{color:var(--muted);font-size:12px;padding-bottom:4px}
.figure{text-align:right;white-space:nowrap;padding-left:10px}.key{white-space:nowrap}
table.bars{table-layout:fixed}
.bars tbody th{padding:2px 10px 2px 0;line-height:1.3}
.bars .bar{padding:0}.whole{white-space:nowrap}
.bars.names thead th:first-child{width:46%}
.bars thead th:first-child{width:33%}.bars thead .figure{width:66px}
.plain tbody th,.plain tbody td{padding-top:6px;padding-bottom:6px;border-top:1px solid var(--rule)}
.plain tbody th{padding-right:10px}
.scroll{overflow-x:auto}.short th{white-space:nowrap}.short .many{white-space:normal}
.ramp{max-width:320px;margin-top:12px}section>h3{margin-top:22px}
figure{margin:0}
.grown{font:600 30px/1.2 ui-serif,"Iowan Old Style",Charter,Georgia,serif;margin:0 0 10px}.grown b{color:var(--gained)}
.scale{display:flex;justify-content:space-between;font-size:12px}.scale span{flex:1;text-align:center}
.scale span:first-child{text-align:left}.scale span:last-child{text-align:right}.plain thead th{white-space:nowrap}
.narrow{display:none}
dl{display:grid;grid-template-columns:120px 1fr;gap:7px 16px;margin:0}
dt{color:var(--muted)}dd{margin:0}
.signatures{border-top:1px solid var(--rule);margin-top:20px;padding-top:16px}
.lines{display:grid;grid-template-columns:1fr 1fr;gap:34px 28px;padding-top:24px}
.line{border-top:1px solid var(--ink);padding-top:4px;font-size:13px;color:var(--muted)}
.stamp{position:sticky;top:0;z-index:2;background:var(--banner);color:#fff;text-align:center;font-weight:700;
letter-spacing:.08em;padding:9px 12px}
body.custodian{box-shadow:inset 0 0 0 4px var(--banner)}
"""

DRAWINGS = """
svg{display:block;max-width:100%}
svg.strip{width:100%;height:18px}svg.stack{width:100%;height:26px;border-radius:6px;margin-bottom:8px}
svg.swatch{display:inline-block;width:12px;height:12px;margin-right:8px}
.strip .track{fill:none}.stack .track{fill:var(--track)}
.share{fill:var(--accent);opacity:.62}.real{fill:var(--original);opacity:.75}.plainest{fill:var(--muted);opacity:.5}
.before{fill:var(--soft)}.gain{fill:var(--gain)}
.whisker,.measured,.mark{fill:none;vector-effect:non-scaling-stroke}
.whisker{stroke:var(--line);stroke-width:1.3}.measured{stroke:var(--line);stroke-width:3}
.strip .mark{stroke:var(--original);stroke-width:3}.stack .mark{stroke:var(--ink);stroke-width:2}
.tone0{fill:var(--t0)}.tone1{fill:var(--t1)}.tone2{fill:var(--t2)}.tone3{fill:var(--t3)}.tone4{fill:var(--t4)}
.tone5{fill:var(--t5)}.tone6{fill:var(--t6)}.tone7{fill:var(--t7)}.tone8{fill:var(--t8)}.tone9{fill:var(--t9)}
.heat0{fill:var(--h0)}.heat1{fill:var(--h1)}.heat2{fill:var(--h2)}.heat3{fill:var(--h3)}.heat4{fill:var(--h4)}
.heat5{fill:var(--h5)}.heat6{fill:var(--h6)}.heat7{fill:var(--h7)}
svg.density{width:100%;height:120px;margin-top:12px}.density .flat{fill:none;stroke:var(--line);stroke-width:1.2;
vector-effect:non-scaling-stroke}
.graph>div{margin:0 auto}svg.network{width:100%;height:auto}
.network text,.heat text{font-size:12.5px;fill:var(--ink)}.network text{text-anchor:middle}
.heat .number{font-size:10.5px;text-anchor:middle}.heat .high{fill:var(--sheet)}.heat .end{text-anchor:end}
.box rect{fill:var(--sheet);stroke:var(--accent);stroke-width:1.2}.box.root rect{fill:var(--soft)}
.edge{fill:none;stroke:var(--muted);stroke-width:1.3}.coarse{stroke-dasharray:5 4}.arrow{fill:var(--muted)}
"""

_NARROW = """
@media (max-width:640px){
header,main,footer{padding-left:16px;padding-right:16px}header{padding-top:26px}
.wide{display:none}.narrow{display:block}.lead{font-size:17px}section{padding-top:34px}
.card{padding:14px}.tiles{gap:12px 28px}.tiles b{font-size:22px}
dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:10px}dt{font-size:13px}
.figure{padding-left:6px}.bars thead .figure{width:64px;font-size:11px}.lines{grid-template-columns:1fr}
}
"""

_TALL = """
@media print,(max-width:640px){
.tall,.tall thead,.tall tbody{display:block}.tall tr{display:flex;flex-wrap:wrap;align-items:center}
.tall tbody th{flex:0 0 100%;padding:8px 0 0}.tall .bar,.tall thead th:first-child{flex:1 1 40px}
.tall thead .bar{display:none}.tall .figure{flex:0 0 64px}
}
"""

_PAPER = """
@media print{
:root{--paper:#fff;--sheet:#fff;--ink:#000;--muted:#444;--rule:#bbb;--track:#eee;--accent:#1d6b86;--soft:#cfe3ea;
--gain:#d98a2b;--gained:#95550c;--line:#222;--original:#b3411b;--alarm:#a31621;--banner:#a31621;
--t0:#1d6b86;--t1:#d98a2b;--t2:#7a4e86;--t3:#5b8a3c;
--t4:#b3411b;--t5:#7d868d;--t6:#c2578a;--t7:#a8921f;--t8:#3f5bb0;--t9:#8a6a4f;--h0:#f3f1ea;--h1:#dfe9e8;--h2:#bcd7dc;--h3:#8fbdc9;--h4:#5c9cb0;--h5:#347c95;--h6:#1a5a72;
--h7:#0c3b4d}
@page{margin:16mm 14mm}
html{-webkit-print-color-adjust:exact;print-color-adjust:exact}
body{font-size:11pt}table{font-size:9pt}.bars tbody th{line-height:1.2}body.custodian{box-shadow:none}
nav,details{display:none}header,main,footer{max-width:none;padding-left:0;padding-right:0}
h2,h3{break-after:avoid}.card,.panel,.graph,.heat,tr,.signatures{break-inside:avoid}.cards{columns:2}
#card{break-before:page}p,li{break-inside:avoid}section>p,.legend{break-after:avoid}.bars .wide{display:none}
.scroll{overflow:visible}
.graph>div{width:auto!important;max-width:100%}header{padding-top:14px}section{padding-top:28px}
body.custodian{display:table;table-layout:fixed;width:100%}
.stamp{display:table-header-group;position:static;break-inside:avoid}
}
"""

STYLE = "".join(
    line.strip() for part in (_COLOURS, _TEXT, PARTS, DRAWINGS, _NARROW, _TALL, _PAPER) for line in part.splitlines()
)
