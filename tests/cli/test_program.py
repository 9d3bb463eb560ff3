"""The program as a whole: help, version, doctor, demo, and words it does not know."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import header_and_rows, process, run, write_people

from understudy.release import Release

VERBS = ("demo", "init", "check", "plan", "publish", "sample", "ledger", "doctor")


@pytest.mark.costly
def test_help_names_every_verb():
    done = process("--help")
    assert (done.code, done.err) == (0, "")
    for verb in VERBS:
        assert verb in done.out


@pytest.mark.costly
def test_help_loads_nothing_heavy():
    """What keeps `--help` under half a second; the time itself is measured in benchmarks, not asserted."""
    script = (
        "import sys\nfrom understudy.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'numba', 'pyarrow', 'opendp', 'pandas', 'polars', 'scipy', 'sklearn', 'rich'}\n"
        "heavy |= {'understudy.federation', 'cryptography', 'ssl', 'understudy.studio', 'starlette', 'uvicorn', 'jinja2'}\n"
        "sys.stderr.write(' '.join(sorted(heavy & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb):
    done = run(verb, "--help")
    assert done.code == 0 and "Usage:" in done.out


def test_version():
    assert run("--version").out == f"understudy {version('understudy')}\n"


def test_without_a_verb_there_is_help():
    for arguments in ((), ("ledger",)):
        done = run(*arguments)
        assert done.code == 2 and done.err.startswith("Usage:")


def test_unknown_words():
    assert run("pubish").code == 2
    assert run("pubish", "--json").error["kind"] == "usage"
    assert run("plan", "--epsilom", "1").code == 2
    assert "--schema" in run("plan", "--epsilon", "1", "--json").error["message"]


def test_ctrl_c_is_one_sentence(monkeypatch, tmp_path):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("understudy.schema.Schema.open", stop)
    done = run("check", tmp_path / "x.csv", "--schema", "s.toml", "--json")
    assert done.code == 1 and "run the same command to go on" in done.error["message"]


def test_a_bug_is_one_sentence_and_shows_no_cell(monkeypatch, tmp_path):
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a cell: Zaphod4711")

    monkeypatch.setattr("understudy.schema.Schema.open", fail)
    monkeypatch.delenv("UNDERSTUDY_DEBUG", raising=False)
    done = run("check", tmp_path / "x.csv", "--schema", "s.toml", "--json")
    assert done.code == 1 and done.error["kind"] == "failed" and "Zaphod" not in done.text
    assert "(RuntimeError)" in done.error["message"]


@pytest.mark.costly
def test_doctor():
    """On any machine that can run these tests: what is needed works, and only what is installed can be broken."""
    done = run("doctor")
    findings = run("doctor", "--json").json["findings"]
    assert all(f["ok"] for f in findings if f["needed"])
    assert {"understudy", "opendp", "ledger", "counting"} <= {f["what"] for f in findings}
    marks = {f["what"]: "ok" if f["ok"] else "--" if f["absent"] else "!!" for f in findings}
    lines = done.out.splitlines()
    assert done.code == 0 and [line[:2] for line in lines] == list(marks.values())
    assert all(f"{marks[f['what']]}  {f['what']} " in line and f["detail"] in line for f, line in zip(findings, lines))


@pytest.mark.parametrize(
    ("installed", "java", "mark", "says"),
    [
        (False, True, "--", "pyspark is not installed (optional)"),
        (True, False, "!!", "pyspark is there, Java is not"),
        (True, True, "ok", "PySpark 4.0"),
    ],
)
def test_doctor_tells_what_is_absent_from_what_is_broken(monkeypatch, installed, java, mark, says):
    def version(name: str) -> str:
        if name == "pyspark" and not installed:
            raise PackageNotFoundError(name)
        return "4.0"

    def java_version(*_: object, **__: object) -> object:
        if not java:
            raise FileNotFoundError("java")
        return SimpleNamespace(stderr="openjdk 17\n")

    monkeypatch.setattr("understudy.diagnosis.version", version)
    monkeypatch.setattr("subprocess.run", java_version)
    done = run("doctor")
    assert done.code == 0 and f"{mark}  engine spark" in done.out and says in done.out


def test_doctor_says_what_is_wrong(monkeypatch):
    def broken() -> str:
        raise OSError("no locks here")

    monkeypatch.setattr("understudy.diagnosis._ledger", broken)
    done = run("doctor")
    assert done.code == 1 and "!!  ledger" in done.out and "no locks here" in done.out


WITHOUT_NUMBA = "import sys; sys.modules['numba'] = None; from understudy.cli import main; main(sys.argv[1:])"


@pytest.mark.costly
@pytest.mark.parametrize("verb", ["demo", "publish", "plan", "check", "sample", "doctor"])
def test_without_numba_there_is_one_clear_sentence(tmp_path: Path, verb: str):
    """It is a base dependency, and what counts, chooses, estimates or opens a model needs it: no verb half works."""
    write_people(tmp_path)
    data, schema = str(tmp_path / "people.csv"), str(tmp_path / "schema.toml")
    release = Path(__file__).parents[1] / "fixtures" / "v0.1" / "releases" / "junction-tree.release.zip"
    out = ["-o", str(tmp_path / "out.csv")]
    arguments = {
        "demo": ["-o", str(tmp_path / "demo")],
        "publish": [data, "--schema", schema, "--epsilon", "1", *out],
        "plan": ["--schema", schema, "--epsilon", "1"],
        "check": [data, "--schema", schema],
        "sample": [str(release), "--rows", "5", *out],
        "doctor": [],
    }[verb]
    command = [sys.executable, "-c", WITHOUT_NUMBA, verb, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "Traceback" not in said, said
    assert "numba" in said and "install" in said
    assert not (tmp_path / "understudy-ledger.db").exists()


@pytest.mark.slow
def test_the_demo_can_be_run_again(tmp_path: Path):
    for _ in range(2):
        done = run("demo", "-o", tmp_path / "d", "--quiet")
        assert (done.code, done.err) == (0, "") and "people: epsilon 1 spent in all so far" in done.out
    folder = tmp_path / "d"
    assert sorted(p.name for p in folder.iterdir()) == [
        "people.csv", "schema.toml", "synthetic.csv", "synthetic.release.zip", "understudy-ledger.db",
    ]  # fmt: skip
    head, rows = header_and_rows(folder / "synthetic.csv")
    assert len(rows) == 50_000
    columns = header_and_rows(folder / "people.csv")[0].replace('"', "").split(",")
    assert head.split(",") == [name for name in columns if name != "remark"]
    assert (
        run("ledger", "verify", folder / "understudy-ledger.db", "--release", folder / "synthetic.release.zip").code
        == 0
    )
    assert Release.open(folder / "synthetic.release.zip").card.epsilon == 1
    assert run("check", folder / "people.csv", "--schema", folder / "schema.toml").code == 0
