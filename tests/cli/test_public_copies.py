"""`init --public`: a copy of the private table is no public file, however it was written; the rest a person confirms."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run

from understudy.engines.copies import CellDigests, canonical
from understudy.schema import Schema

CANARY = "Zaphod"


def people(rows: int = 60) -> pd.DataFrame:
    g = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "who": [f"{CANARY} {i}" for i in range(rows)],
            "age": g.integers(18, 99, rows),
            "born": [f"19{50 + i % 50}-0{1 + i % 9}-1{i % 9}" for i in range(rows)],
            "weight": np.round(g.random(rows) * 50 + 50, 1),
            "town": np.array(["Köln", "Wien", ""])[g.integers(0, 3, rows)],
            "flag": np.array(["true", "false"])[g.integers(0, 2, rows)],
        }
    )


def text_of(frame: pd.DataFrame, **how: object) -> bytes:
    encoding = str(how.pop("encoding", "utf-8"))
    return frame.to_csv(None, index=False, **how).encode(encoding)  # type: ignore[call-overload]


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    typed = pd.read_csv(io.BytesIO(text_of(frame)), parse_dates=["born"])
    typed.to_parquet(path)


Write = Callable[[pd.DataFrame, Path], object]
COPIES: dict[str, tuple[str, Write]] = {
    "the same bytes": ("copy.csv", lambda f, p: p.write_bytes(text_of(f))),
    "gzip": ("copy.csv.gz", lambda f, p: p.write_bytes(gzip.compress(text_of(f)))),
    "rows in another order": ("copy.csv", lambda f, p: p.write_bytes(text_of(f[::-1]))),
    "columns in another order": ("copy.csv", lambda f, p: p.write_bytes(text_of(f[f.columns[::-1]]))),
    "another dialect": ("copy.csv", lambda f, p: p.write_bytes(text_of(f, sep=";", decimal=",", quoting=csv.QUOTE_ALL))),
    "another encoding": ("copy.tsv", lambda f, p: p.write_bytes(text_of(f, sep="\t", encoding="cp1252"))),
    "another line end": ("copy.csv", lambda f, p: p.write_bytes(text_of(f, lineterminator="\r\n"))),
    "blanks around cells": ("copy.csv", lambda f, p: p.write_bytes(text_of(f).replace(b",", b", "))),
    "one column left out": ("copy.csv", lambda f, p: p.write_bytes(text_of(f.drop(columns="who")))),
    "one column more": ("copy.csv", lambda f, p: p.write_bytes(text_of(f.assign(year=2023)))),
    "one column alone": ("copy.csv", lambda f, p: p.write_bytes(text_of(f[["weight"]]))),
    "another name for an empty cell": ("copy.csv", lambda f, p: p.write_bytes(text_of(f.replace({"town": {"": "NA"}})))),
    "german dates": ("copy.csv", lambda f, p: p.write_bytes(
        text_of(f.assign(born=[".".join(reversed(day.split("-"))) for day in f["born"]])))),
    "one cell changed": ("copy.csv", lambda f, p: p.write_bytes(text_of(f).replace(b"Wien", b"Linz", 1))),
    "columns sorted one by one": ("copy.csv", lambda f, p: p.write_bytes(text_of(f.apply(lambda c: sorted(c))))),
    "typed, in Parquet": ("copy.parquet", write_parquet),
    "typed, and shuffled": ("copy.parquet", lambda f, p: write_parquet(f.sample(frac=1, random_state=1), p)),
}  # fmt: skip


@pytest.mark.parametrize("private", ["csv", "parquet"])
@pytest.mark.parametrize("what", COPIES)
def test_a_copy_of_the_private_table_is_refused(tmp_path, what, private):
    frame = people()
    name, write = COPIES[what]
    data = tmp_path / f"people.{private}"
    data.write_bytes(text_of(frame)) if private == "csv" else write_parquet(frame, data)
    copy = tmp_path / name
    write(frame, copy)
    done = run("init", data, "--public", copy, "-o", tmp_path / "d.toml")
    assert done.code == 2 and not (tmp_path / "d.toml").exists() and done.out == ""
    assert "--public" in done.err and CANARY not in done.text and "Wien" not in done.text


def test_a_copy_of_a_file_without_a_header_is_refused(tmp_path):
    frame = people()
    data, copy = tmp_path / "people.csv", tmp_path / "copy.csv"
    data.write_bytes(text_of(frame, header=False))
    (tmp_path / "names.txt").write_text("\n".join(frame.columns))
    for flags in (("--no-header",), ("--names", tmp_path / "names.txt")):
        copy.write_bytes(text_of(frame[::-1], header=False, sep=";"))
        assert run("init", data, *flags, "--public", copy, "-o", tmp_path / "d.toml").code == 2
        copy.write_bytes(text_of(frame[5:], header=False, sep=";"))  # last year's, say
        assert run("init", data, *flags, "--public", copy, "-o", tmp_path / "d.toml", "--force").code == 0
    copy.write_bytes(text_of(frame[::-1]))
    assert run("init", data, *flags, "--public", copy, "-o", tmp_path / "d.toml", "--force").code == 2


@pytest.mark.parametrize("option", ["--codebook", "--ddl", "--public", "--names"])
def test_no_document_is_a_copy_of_the_table(tmp_path, option):
    """A table with columns `name` and `code` would be read as a codebook, and its cells written into the draft."""
    data, copy = tmp_path / "t.csv", tmp_path / "copy.csv.gz"
    data.write_text(f"name,code\n{CANARY},1\n")
    copy.write_bytes(gzip.compress(data.read_bytes()))
    done = run("init", data, option, copy, "-o", tmp_path / "d.toml")
    assert done.code == 2 and f"{option} names the private table itself, or a copy" in done.err
    assert CANARY not in done.text and not (tmp_path / "d.toml").exists()


def test_what_is_no_copy_is_a_persons_word(tmp_path):
    frame, data, public = people(), tmp_path / "people.csv", tmp_path / "last_year.csv"
    data.write_bytes(text_of(frame))
    public.write_bytes(text_of(people(90)[["age", "town", "flag"]]))
    done = run("init", data, "--public", public, "-o", tmp_path / "d.toml")
    assert done.code == 0 and "no row was read" not in done.out and "is no copy" in done.out
    text = (tmp_path / "d.toml").read_text(encoding="utf-8")
    schema = Schema.from_toml(text)
    assert schema["age"].provenance == schema["town"].provenance == "public (declared)"
    assert schema["who"].provenance == "declared" and ("[table]", "public") in schema.unconfirmed
    assert CANARY not in text + done.text
    flags = ("--schema", tmp_path / "d.toml", "--epsilon", 1, "-o", tmp_path / "o.csv")
    assert run("publish", data, *flags).code == 2  # while the point is open
    assert Schema.from_toml(text.replace("public (declared)", "public"))["age"].provenance == "public"  # earlier drafts


def test_a_comparison_leaves_no_trace(tmp_path):
    """Drafts from one public file are the same for every private table with those columns."""
    public = tmp_path / "last_year.csv"
    public.write_bytes(text_of(people(90)))
    drafts = set()
    for rows in (10, 60, 89, 91):
        (tmp_path / "people.csv").write_bytes(text_of(people(rows)))
        assert run("init", tmp_path / "people.csv", "--public", public, "-o", tmp_path / "d.toml", "--force").code == 0
        drafts.add((tmp_path / "d.toml").read_text(encoding="utf-8"))
    assert len(drafts) == 1


def test_a_table_that_cannot_be_compared(tmp_path):
    data, public = tmp_path / "people.csv", tmp_path / "p.csv"
    public.write_text("a,b\n" + "1,2\n" * 5)
    data.write_bytes(b"a,b\n" + b'"' + CANARY.encode() * 40_000)
    done = run("init", data, "--public", public, "-o", tmp_path / "d.toml")
    assert done.code == 2 and "cannot be read to its end" in done.err and CANARY not in done.text


def test_digests_of_cells():
    rows = [("1", "x"), ("2", "y"), ("2", "y")]
    whole = CellDigests.of(rows, 2)
    assert whole == CellDigests.of(reversed(rows), 2) and whole.resembles(whole)
    for other in (rows[:2], [*rows[:2], ("1", "x")], [(b, a) for a, b in rows], []):  # a multiset, not a set
        assert not whole.resembles(CellDigests.of(other, 2)) and not CellDigests.of(other, 2).resembles(whole)
    assert CellDigests.of(rows, 2, at_most=1).rows == 2 and not CellDigests.of([], 2).resembles(CellDigests.of([], 2))
    same = (("1", "1.0", "01", " 1 ", "TRUE"), ("", "NaN", "None"), ("2020-01-02", "02.01.2020", "2020-01-02 00:00:00"),
            ("1,5", "1.50"))  # fmt: skip
    for texts in same:
        assert len({canonical(text) for text in texts}) == 1
    assert canonical("a") != canonical("b") and canonical("12:30") != canonical("12:31")
