"""The reports in a real browser, where one is installed: drawn without scripts, at any width, in light and dark."""

from __future__ import annotations

import html
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from command import run, write_people

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars")
DARK = "--blink-settings=preferredColorScheme=0"
LIGHT = "--blink-settings=preferredColorScheme=1"
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no browser here: install chromium to look at the reports"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A public report, one with bought figures and a custodian's, of a small table."""
    folder = tmp_path_factory.mktemp("pages")
    data, schema = write_people(folder)
    found = {name: folder / f"{name}.html" for name in ("public", "bought")}
    found["custodian"] = folder / "page.custodian.html"
    out, release = folder / "out.csv", folder / "out.release.zip"
    publish = ("publish", data, "--schema", schema, "--epsilon", 2, "-o", out, "--report", found["public"], "--quiet")
    assert run(*publish, "--cap", "none").code == 0
    compare = ("evaluate", data, out, "--schema", schema, "--release", release, "--classify", "smokes")
    assert run(*compare, "--tables", 9, "--report", found["custodian"]).code == 0
    assert run(*compare, "--epsilon", 1, "--report", found["bought"]).code == 0
    return found


def browse(profile: Path, page: Path, *flags: str) -> str:
    assert BROWSER is not None
    command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=True).stdout


def colours(picture: Path) -> tuple[int, int, bytes]:
    """Width, height and the first pixel of a PNG (the first of a row is never filtered against a neighbour)."""
    data, at, packed, width, height = picture.read_bytes(), 8, b"", 0, 0
    while at < len(data):
        (size,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    return width, height, zlib.decompress(packed)[1:4]


@pytest.mark.parametrize("kind", ["public", "custodian"])
def test_drawn_without_scripts_in_light_and_dark(pages: dict[str, Path], kind: str, tmp_path: Path) -> None:
    """The page holds no script and its own policy, which the browser enforces, would run none."""
    policy = 'content="default-src &#x27;none&#x27;; style-src &#x27;unsafe-inline&#x27;"'
    assert policy in pages[kind].read_text(encoding="utf-8")
    shots = {}
    for theme, flag in (("light", LIGHT), ("dark", DARK)):
        target = tmp_path / f"{theme}.png"
        browse(tmp_path / "profile", pages[kind], flag, f"--screenshot={target}", "--window-size=1280,1600")
        shots[theme] = target
    light, dark = colours(shots["light"]), colours(shots["dark"])
    assert light[:2] == dark[:2] == (1280, 1600)
    assert shots["light"].stat().st_size > 40_000  # a blank page of this size is a tenth of that
    if kind == "public":  # the custodian's first pixel is its stamp
        assert min(light[2]) > 200 and max(dark[2]) < 60


@pytest.mark.parametrize("kind", ["public", "bought", "custodian"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_is_wider_than_the_screen(pages: dict[str, Path], kind: str, width: int, tmp_path: Path) -> None:
    """The page in a frame of this width, measured from outside: its own policy runs no script."""
    inside = html.escape(pages[kind].read_text(encoding="utf-8"), quote=True)
    script = (
        "onload=()=>{const d=document.querySelector('iframe').contentDocument;document.title="
        "[d.documentElement.scrollWidth,d.querySelectorAll('svg').length,d.querySelector('h1').offsetHeight,"
        "d.querySelector('.graph.narrow').offsetHeight,"
        "Math.min(...[...d.querySelectorAll('tbody .bar')].map(e=>e.offsetWidth)),"
        "Math.max(...[...d.querySelectorAll('.panel.scroll')].map(e=>e.scrollWidth-e.clientWidth),0)].join(' ')}"
    )
    frame = tmp_path / "frame.html"
    style = f"width:{width}px;height:900px;border:0"
    frame.write_text(
        f'<meta charset="utf-8"><iframe style="{style}" srcdoc="{inside}"></iframe><script>{script}</script>',
        encoding="utf-8",
    )
    dom = browse(tmp_path / "profile", frame, "--dump-dom", "--window-size=1400,1000", "--virtual-time-budget=4000")
    title = re.search(r"<title>([\d -]+)</title>", dom)
    assert title is not None
    widest, drawings, heading, narrow, bar, hidden = map(int, title[1].split())
    assert widest <= width and drawings > 10 and heading > 20
    assert (narrow > 0) == (width < 640)
    assert bar >= 40 and hidden <= 0  # every bar can be seen, and no figure waits beyond the edge of its panel


@pytest.mark.parametrize("kind", ["public", "bought", "custodian"])
def test_self_contained_and_small(pages: dict[str, Path], kind: str) -> None:
    text = pages[kind].read_text(encoding="utf-8")
    assert len(text.encode()) < 2_000_000
    assert "://" not in text and "<script" not in text and "<link" not in text and not re.search(r"url\((?!#)", text)


def test_prints(pages: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / "page.pdf"
    browse(tmp_path / "profile", pages["public"], "--no-pdf-header-footer", f"--print-to-pdf={target}")
    assert target.read_bytes().startswith(b"%PDF") and target.stat().st_size > 20_000
