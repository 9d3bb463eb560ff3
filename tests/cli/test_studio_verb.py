"""`understudy studio` as a process: what it refuses, what it says, and that runs go on when it is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from command import run, write_people


@pytest.mark.parametrize("host", ["0.0.0.0", "example.org"])
def test_another_host_is_refused_with_the_way_to_do_it(tmp_path, host):
    done = run("studio", tmp_path, "--host", host, "--no-browser")
    assert done.code == 2 and "ssh -L" in done.err


def test_a_folder_or_key_that_is_not_there_is_refused(tmp_path):
    assert "no folder" in run("studio", tmp_path / "absent", "--no-browser").err
    assert "no key" in run("studio", tmp_path, "--key", tmp_path / "absent", "--no-browser").err


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    done = run("studio", tmp_path, "--no-browser")
    assert done.code == 2 and "understudy[studio]" in done.err


class Process:
    """A studio in a process of its own, come in by the file that it names."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "understudy", "studio", str(folder), "--no-browser", "--idle", "5"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=environment
        )
        assert self.process.stdout is not None
        self.said = [self.process.stdout.readline(), self.process.stdout.readline()]
        page = Path(re.search(r"(/\S+open-studio\.html)", "".join(self.said))[1]).read_text()
        self.address, token = re.search(r'action="([^"]+)/enter"', page)[1], re.search(r'value="([^"]+)"', page)[1]
        self.entered = self._enter(token)
        self.base = re.search(r"url=([^\"]+)/\"", self.entered[1])[1]
        self.cookie = self.entered[0].split(";")[0]
        self.token = re.search(
            r"x-understudy-token[^:]*: [^A-Za-z0-9_-]*?(?:&#34;|\")([A-Za-z0-9_-]{30,})", self.ask("/schema")
        )[1]

    def _enter(self, token: str) -> tuple[str, str]:
        ends = time.monotonic() + 60
        while True:
            asked = urllib.request.Request(f"{self.address}/enter", f"token={token}".encode(), {"Origin": "null"})
            try:
                with urllib.request.urlopen(asked, timeout=60) as answer:
                    return answer.headers["set-cookie"], answer.read().decode()
            except urllib.error.URLError:
                assert time.monotonic() < ends
                time.sleep(0.1)

    def ask(self, path: str, **form: str) -> str:
        """The text of a page, or of the answer to a change: its redirect if there is one."""
        headers = {"Cookie": self.cookie}
        body = None
        if form:
            headers |= {"Origin": self.address, "x-understudy-token": self.token}
            body = urllib.parse.urlencode(form).encode()
        asked = urllib.request.Request(f"{self.address}{self.base}{path}", body, headers)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.headers.get("hx-redirect") or answer.read().decode()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_server_loses_nothing_and_the_next_one_finds_the_run(tmp_path):
    write_people(tmp_path)
    first = Process(tmp_path)
    form = {"schema": "schema.toml", "data": "people.csv", "epsilon": "2", "method": "independent", "output": "o.csv"}
    try:
        confirm = first.ask("/publish/prepare", **form)
        nonce = re.search(r'name="nonce" value="([^"]+)"', confirm)[1]
        run_page = first.ask("/publish/start", nonce=nonce, epsilon_again="2").removeprefix(first.base)
    finally:
        first.kill()
    second = Process(tmp_path)
    try:
        ends = time.monotonic() + 300
        while "under way" in second.ask(run_page):
            assert time.monotonic() < ends
            time.sleep(0.2)
        page = second.ask(run_page)
        assert "These files are safe to give away" in page and (tmp_path / "o.release.zip").is_file()
        with pytest.raises(urllib.error.HTTPError, match="422"):  # the word of the killed server is no word here
            second.ask("/publish/start", nonce="x" + nonce, epsilon_again="2")
    finally:
        second.kill()
    shown = json.loads(run("ledger", "show", tmp_path / "understudy-ledger.db", "--json").out)
    assert [entry["kind"] for entry in shown["entries"]].count("reserve") == 1
    assert shown["accounts"][0]["epsilon"] == 2
