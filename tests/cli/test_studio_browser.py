"""The studio in a real browser: the journey by clicking, a hostile page on another port, a killed browser, axe-core.

Needs Chromium from the distribution and `pip install playwright` (its own browsers are not used). With
UNDERSTUDY_SCREENSHOTS=FOLDER the pictures of docs/guide/studio.md are written there; with UNDERSTUDY_AXE=axe.min.js
(npm package axe-core) every screen is checked for accessibility, by a test that is skipped without it.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from command import run, write_people

from understudy.privacy.ledger import Ledger
from understudy.studio.folder import Folder
from understudy.studio.server import StudioServer
from understudy.studio.studio import Studio

sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright here: pip install playwright")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
AXE = Path(os.environ.get("UNDERSTUDY_AXE", "axe.min.js"))
PICTURES = os.environ.get("UNDERSTUDY_SCREENSHOTS")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no browser here: install chromium to click through the studio"),
    pytest.mark.long,
]
CODEBOOK = """\
attribute,kind,values,range,bins,missing,true,false
[table],rows,1200,,,,,
id,id,,,,,,
age,integer,,0..99,10,,,
sex,category,Female|Male,,,,,
town,category,Anders|Brae|Cormont|Dunmere,,,?,,
smokes,boolean,,,,,Y,N
income,number,,0..1000,8,,,
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


class Served:
    """A studio that is served in this process, and the browsers that came in."""

    def __init__(self, folder: Path, key: Path | None = None) -> None:
        self.folder = folder
        self.studio = Studio(Folder.of(folder), key=key)
        self.server = StudioServer(self.studio)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        self.complaints: list[str] = []

    def page(self, chromium: Any, **options: Any) -> Any:
        """A window that came in by the entrance file."""
        page = chromium.new_context(viewport={"width": 1280, "height": 900}, **options).new_page()
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        entrance = self.server.new_entrance()
        page.goto(entrance.path.as_uri())
        page.wait_for_url("**/schema")
        assert "token" not in page.url
        return page

    def close(self) -> None:
        self.server.stop()
        self.thread.join(60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of 1,200 rows and a codebook that leaves no point open."""
    place = tmp_path / "clinic"
    place.mkdir()
    write_people(place, rows=1200)
    (place / "schema.toml").unlink()
    (place / "codebook.csv").write_text(CODEBOOK)
    return place


@pytest.fixture
def served(folder: Path, tmp_path: Path) -> Iterator[Served]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = tmp_path / "key.pem"
    key.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    made = Served(folder, key)
    yield made
    made.close()


VIEWS = ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark"))
Look = Callable[[Any, str], None]


def views(page: Any) -> Iterator[tuple[int, str]]:
    """Show a page wide and narrow, light and dark, and leave it as it was."""
    for width, scheme in VIEWS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        yield width, scheme
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})


def look(page: Any, name: str) -> None:
    """Check that a screen fits its window; take its picture where that is asked."""
    for width, scheme in views(page):
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is wider than {width}"
        if PICTURES:
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=f"{PICTURES}/studio-{name}-{scheme}-{width}.png")


def listen(page: Any, name: str) -> None:
    """Check a screen with axe-core, which must have looked at something."""
    for width, scheme in views(page):
        page.evaluate(AXE.read_text(encoding="utf-8") + ";0")
        found = page.evaluate(
            "async () => { const r = await axe.run({iframes: false}); "
            "return [r.passes.length, r.violations.map(v => v.id)]; }"
        )
        assert found[0] > 10 and found[1] == [], f"{name}, {scheme}, {width}"


def journey(served: Served, chromium: Any, look: Look) -> None:
    """Go from a table with a codebook to a signed release and through it, and look at each screen on the way."""
    page = served.page(chromium)
    page.wait_for_load_state("networkidle")
    look(page, "choose")
    page.click("text=Draft the schema")  # 1
    page.wait_for_url("**/schema/edit*")
    page.wait_for_selector("text=No point is left open.")
    page.click("#column-3 summary")  # to be looked at only
    look(page, "schema")
    page.click("text=Go on to the budget")  # 2
    page.wait_for_selector("text=Expected error of the tables")
    look(page, "budget")
    page.click("text=Go on to publish")  # 3
    page.wait_for_selector("text=Show what will be spent")
    page.click("text=Show what will be spent")  # 4
    page.fill("#epsilon_again", "1")
    look(page, "publish")
    page.click("text=Spend it and publish")  # 5
    page.wait_for_selector("text=Sign the release", timeout=300_000)
    page.click("text=Sign the release")  # 6
    page.wait_for_selector("text=Signed by")
    page.frame_locator("iframe.report").locator("text=A stand-in for").first.wait_for()
    look(page, "done")
    with page.expect_download() as got:
        page.click("text=Release: people-synthetic.release.zip")
    assert Path(got.value.path()).read_bytes() == (served.folder / "people-synthetic.release.zip").read_bytes()
    page.click("text=Explore the release")
    page.wait_for_selector("text=Ask a question")
    page.click("button:has-text('Ask')")
    page.wait_for_selector("#answer table", timeout=120_000)
    page.fill("#given", "sex = Female")
    page.click("text=Show some")
    page.wait_for_selector("#drawn table", timeout=120_000)
    look(page, "explore")


def test_six_clicks_from_a_table_with_a_codebook_to_a_signed_release(served: Served, chromium: Any) -> None:
    journey(served, chromium, look)
    assert served.complaints == [], "no error in the console, no breach of the policy"
    assert run("verify", served.folder / "people-synthetic.release.zip").code == 0


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core here: set UNDERSTUDY_AXE to axe.min.js of its npm package")
def test_axe_finds_nothing_on_any_screen(served: Served, chromium: Any) -> None:
    journey(served, chromium, listen)


def test_fields_follow_the_kind_and_a_wrong_edit_is_said(served: Served, chromium: Any) -> None:
    page = served.page(chromium)
    page.click("text=Draft the schema")
    page.wait_for_url("**/schema/edit*")
    page.click("#column-1 summary")
    assert page.is_visible("#c1-low") and not page.is_visible("#c1-values")
    page.select_option("#c1-kind", "category")
    assert page.is_visible("#c1-values") and not page.is_visible("#c1-low")
    page.click("#c1-save")
    page.wait_for_selector("#message .bad")
    page.fill("#c1-values", "young\nold")
    page.click("#c1-save")
    page.wait_for_selector("text=age: Saved.")
    assert 'values = ["young", "old"]' in page.input_value("#text"), "the text is in step"
    page.click("#column-3 summary")
    page.fill("#c3-taxonomy", 'North = ["Anders", "Brae"]')
    page.click("#c3-save")
    page.wait_for_selector("text=town: Saved.")
    assert "[attributes.town.taxonomy]" in page.input_value("#text")
    page.click("#column-2 summary")
    page.select_option("#c2-kind", "drop")
    page.click("#c2-save")  # with the version that the first edit left
    page.wait_for_selector("text=sex: Saved.")


def test_by_keyboard_alone(served: Served, chromium: Any) -> None:
    page = served.page(chromium)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("#output")
    page.keyboard.press("Enter")
    page.wait_for_url("**/schema/edit*")


def test_a_killed_browser_loses_nothing(served: Served, chromium: Any) -> None:
    page = served.page(chromium)
    page.click("text=Draft the schema")
    page.wait_for_url("**/schema/edit*")
    page.goto(page.url.split("/schema/")[0] + "/publish?schema=schema.toml")
    page.click("text=Show what will be spent")
    page.fill("#epsilon_again", "1")
    page.click("text=Spend it and publish", click_count=2)
    page.wait_for_url("**/runs/*")
    page.context.close()
    again = served.page(chromium)
    again.goto(again.url.replace("/schema", "/publish"))
    again.click("text=people-synthetic.csv")
    again.wait_for_selector("text=Downloads", timeout=300_000)
    with Ledger(served.folder / "understudy-ledger.db") as book:
        assert [e.kind for e in book.entries()].count("reserve") == 1
        assert book.account("people").spent_epsilon == 1


# -- a hostile page ------------------------------------------------------------------------------------------------

ATTACK = """<!DOCTYPE html><iframe name="frame" src="{target}/publish"></iframe>
<form id="form" method="post" target="frame" action="{target}/publish/start"><input name="nonce" value="x"></form>
<script>
const asks = [
  ["plain", () => fetch("{target}/schema", {{credentials: "include"}})],
  ["no-cors", () => fetch("{target}/publish/start", {{method: "POST", mode: "no-cors", credentials: "include", body: "nonce=x"}})],
  ["header", () => fetch("{target}/publish/start", {{method: "POST", credentials: "include", headers: {{"x-understudy-token": "x"}}}})],
  ["stream", () => new Promise((good, bad) => {{ const s = new EventSource("{target}/runs/00000000000000000000/events",
    {{withCredentials: true}}); s.onopen = good; s.onerror = () => bad(new Error("refused")); }})],
  ["script", () => new Promise((good, bad) => {{ const s = document.createElement("script"); s.src = "{target}/assets/studio.js";
    s.onload = good; s.onerror = () => bad(new Error("refused")); document.body.append(s); }})],
];
(async () => {{
  const told = {{}};
  for (const [name, ask] of asks) {{
    try {{ const got = await ask(); told[name] = got && got.type === "opaque" ? "opaque" : "read"; }}
    catch (error) {{ told[name] = "refused"; }}
  }}
  document.getElementById("form").submit();
  await fetch("/told", {{method: "POST", body: JSON.stringify(told)}});
}})();
</script>"""


class Hostile(BaseHTTPRequestHandler):
    """A stranger's server on another port of this machine, to which the browser goes."""

    target = ""
    told: ClassVar[dict[str, str]] = {}
    cookies: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.cookies.append(self.headers.get("Cookie", ""))
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(ATTACK.format(target=self.target).encode())

    def do_POST(self) -> None:
        self.told.update(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_hostile_page_on_another_port_gets_nothing(served: Served, chromium: Any) -> None:
    """Even one that knows the random path: the site is the same, so the browser sends the cookie to the studio."""
    page = served.page(chromium)
    Hostile.target = page.url.removesuffix("/schema")
    before = {p: p.stat().st_mtime_ns for p in served.folder.rglob("*")}
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as hostile:
        thread = threading.Thread(target=hostile.serve_forever, daemon=True)
        thread.start()
        try:
            window = page.context.new_page()
            window.goto(f"http://127.0.0.1:{hostile.server_address[1]}/")
            ends = time.monotonic() + 60
            while len(Hostile.told) < 5:
                assert time.monotonic() < ends, Hostile.told
                window.wait_for_timeout(100)
            framed = [frame.url for frame in window.frames if frame != window.main_frame]
        finally:
            hostile.shutdown()
            thread.join(60)
    assert Hostile.told == {
        "plain": "refused",
        "no-cors": "refused",
        "header": "refused",
        "stream": "refused",
        "script": "refused",
    }
    assert not any("understudy-studio" in cookie for cookie in Hostile.cookies), "our cookie goes to no other port"
    assert all(url.startswith("chrome-error:") or not url for url in framed), framed
    assert {p: p.stat().st_mtime_ns for p in served.folder.rglob("*")} == before
    page.reload()
    assert page.is_visible("text=Draft the schema"), "and the steward's own window goes on"
