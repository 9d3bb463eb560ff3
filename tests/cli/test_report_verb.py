"""`report`, `publish --report` and `evaluate --report`: what is written where, and what is refused before any charge."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command import process, run, write_people

from understudy.privacy.custodian import STAMP


@pytest.fixture
def published(tmp_path: Path) -> Path:
    data, schema = write_people(tmp_path)
    assert run(
        "publish", data, "--schema", schema, "--epsilon", 2, "-o", tmp_path / "out.csv", "--report", tmp_path / "a.html",
        "--cap", "none", "--quiet",
    ).code == 0  # fmt: skip
    return tmp_path


def _evaluate(folder: Path, *more: object) -> tuple[object, ...]:
    return (
        "evaluate",
        folder / "people.csv",
        folder / "out.csv",
        "--schema",
        folder / "schema.toml",
        "--alpha",
        2,
        *more,
    )


def test_report_writes_what_publish_wrote(published: Path) -> None:
    done = run("report", published / "out.release.zip", "-o", published / "b.html")
    assert done.code == 0 and "no row was read" in done.out
    assert (published / "a.html").read_bytes() == (published / "b.html").read_bytes()
    other = process("report", published / "out.release.zip", "-o", published / "c.html", "--json")
    assert other.json["bytes"] == len((published / "c.html").read_bytes())
    assert (published / "c.html").read_bytes() == (published / "b.html").read_bytes()


def test_publish_says_where_the_report_is(tmp_path: Path) -> None:
    data, schema = write_people(tmp_path)
    target = tmp_path / "page.html"
    done = run(
        "publish", data, "--schema", schema, "--epsilon", 1, "-o", tmp_path / "o.csv", "--report", target, "--json"
    )
    assert done.json["report"] == str(target) and "seconds" in done.json
    assert "seconds" not in target.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["page.pdf", "page.custodian.html", "nowhere/page.html", "o.csv.html/"])
def test_a_wrong_target_costs_nothing(tmp_path: Path, name: str) -> None:
    data, schema = write_people(tmp_path)
    (tmp_path / "o.csv.html").mkdir()
    ledger = tmp_path / "ledger.db"
    done = run(
        "publish", data, "--schema", schema, "--epsilon", 1, "-o", tmp_path / "o.csv", "--report", tmp_path / name,
        "--ledger", ledger,
    )  # fmt: skip
    assert done.code == 2 and not ledger.exists() and not (tmp_path / "o.csv").exists()


def test_the_report_takes_no_other_files_place(tmp_path: Path) -> None:
    data, schema = write_people(tmp_path)
    done = run(
        "publish", data, "--schema", schema, "--epsilon", 1, "-o", tmp_path / "o.csv", "--report", tmp_path / "x.html",
        "--release", tmp_path / "x.html",
    )  # fmt: skip
    assert done.code == 2 and "take the place" in done.err


def test_exact_figures_go_to_a_custodian_file(published: Path) -> None:
    target = published / "q.custodian.html"
    done = run(*_evaluate(published, "--report", target, "--release", published / "out.release.zip"))
    assert done.code == 0 and STAMP in done.out and "Wrote q.custodian.html" in done.out
    assert os.name != "posix" or target.stat().st_mode & 0o077 == 0
    assert run(*_evaluate(published, "--report", target, "--json")).json["report"] == str(target)
    assert target.read_text(encoding="utf-8").count(STAMP) == 2
    refused = run(*_evaluate(published, "--report", published / "q.html"))
    assert refused.code == 2 and ".custodian.html" in refused.err and not (published / "q.html").exists()


def test_bought_figures_go_to_a_public_file(published: Path) -> None:
    target, ledger = published / "q.html", published / "bought.db"
    wrong = run(*_evaluate(published, "--epsilon", 1, "--ledger", ledger, "--report", published / "q.custodian.html"))
    assert wrong.code == 2 and not ledger.exists()
    done = run(
        *_evaluate(
            published,
            "--epsilon",
            1,
            "--ledger",
            ledger,
            "--report",
            target,
            "--release",
            published / "out.release.zip",
        )
    )
    assert done.code == 0 and "Wrote q.html. It may be published." in done.out
    html = target.read_text(encoding="utf-8")
    assert STAMP not in html and "mean TVD of 2-way tables" in html and 'id="card"' in html


def test_a_release_that_is_not_there(tmp_path: Path) -> None:
    done = run("report", tmp_path / "no.zip", "-o", tmp_path / "x.html")
    assert done.code == 1 and "there is no release" in done.err
