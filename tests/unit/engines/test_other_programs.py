"""Files of other programs: SPSS, Stata and Excel as drafts and as data, with the codes of the same rows in a CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.drafting import Documents, draft_file
from understudy.engines.coding import encode_table
from understudy.engines.sources import open_source
from understudy.errors import DataError, UnderstudyError, UsageError
from understudy.schema import Schema

pyreadstat = pytest.importorskip("pyreadstat")
openpyxl = pytest.importorskip("openpyxl")

SCHEMA = """
[table]
name = "t"
rows = 4
[attributes.sex]
kind = "category"
values = ["1", "2"]
missing = ["9", ""]
[attributes.age]
kind = "integer"
range = [0, 99]
missing = true
[attributes.day]
kind = "date"
range = [2020-01-01, 2020-12-31]
[attributes.town]
kind = "category"
values = ["a", "b"]
"""
CSV = "sex,age,day,town\n1,31,2020-01-02,a\n2,,2020-02-03,b\n9,41,2020-03-04,a\n1,7,2020-12-31,b\n"
FRAME = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 9.0, 1.0],
        "age": [31.0, np.nan, 41.0, 7.0],
        "day": pd.to_datetime(["2020-01-02", "2020-02-03", "2020-03-04", "2020-12-31"]).date,
        "town": ["a", "b", "a", "b"],
    }
)


def write_sav(path: Path) -> Path:
    pyreadstat.write_sav(
        FRAME, str(path), column_labels={"sex": "Sex of person", "age": "Age in years"},
        variable_value_labels={"sex": {1: "male", 2: "female", 9: "not asked"}}, missing_ranges={"sex": [9]},
        variable_format={"sex": "F8.0", "age": "F8.0"},
    )  # fmt: skip
    return path


def write_dta(path: Path) -> Path:
    pyreadstat.write_dta(FRAME.drop(columns="day"), str(path), variable_value_labels={"sex": {1: "male", 2: "female"}})
    return path


def write_xlsx(path: Path) -> Path:
    book = openpyxl.Workbook()
    book.active.append(list(FRAME.columns))
    for row in FRAME.astype(object).where(FRAME.notna(), None).itertuples(index=False):
        book.active.append([int(v) if isinstance(v, float) else v for v in row])
    book.save(path)
    return path


def codes(path: Path, schema: Schema) -> dict[str, list[int]]:
    table = encode_table(open_source(path, schema.csv, names=schema.columns), schema)
    return {name: column.tolist() for name, column in table.columns.items()}


@pytest.mark.parametrize(("write", "name"), [(write_sav, "t.sav"), (write_xlsx, "t.xlsx"), (write_dta, "t.dta")])
def test_the_same_codes_as_in_a_csv_file(tmp_path: Path, write: Any, name: str) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    schema = Schema.from_toml(SCHEMA)
    if name == "t.dta":
        schema = schema.project(["sex", "age", "town"])
        (tmp_path / "t.csv").write_text(
            "\n".join(",".join(line.split(",")[i] for i in (0, 1, 3)) for line in CSV.split()) + "\n"
        )
    assert codes(write(tmp_path / name), schema) == codes(tmp_path / "t.csv", schema)


def test_a_draft_from_inside_an_spss_file_is_asked_about(tmp_path: Path) -> None:
    made = draft_file(write_sav(tmp_path / "t.sav"))
    schema = Schema.from_toml(made.text)
    assert schema["sex"].missing == ("9", "") and schema["sex"].domain.labels == ("1", "2")  # type: ignore[union-attr]
    assert schema["sex"].provenance == "inside the file: SPSS, Stata or SAS file" and "origin" in schema.confirm
    assert schema["day"].kind == "date" and "Sex of person" in made.text
    assert schema["town"].kind == "drop"  # its texts are in the rows alone


def test_no_row_of_a_statistics_file_reaches_the_draft(tmp_path: Path) -> None:
    first = draft_file(write_sav(tmp_path / "t.sav")).text
    other = pd.concat([FRAME, FRAME]).assign(age=77.0, sex=2.0)
    pyreadstat.write_sav(
        other, str(tmp_path / "t.sav"), column_labels={"sex": "Sex of person", "age": "Age in years"},
        variable_value_labels={"sex": {1: "male", 2: "female", 9: "not asked"}}, missing_ranges={"sex": [9]},
        variable_format={"sex": "F8.0", "age": "F8.0"},
    )  # fmt: skip
    assert draft_file(tmp_path / "t.sav").text == first


def test_an_spss_file_as_codebook(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    made = draft_file(tmp_path / "t.csv", Documents(codebook=write_sav(tmp_path / "labels.sav")))
    assert "origin" in Schema.from_toml(made.text).confirm


def test_excel_headers_are_checked_like_any_first_line(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append([39, "Zaphod"])
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(UsageError, match="person's row") as caught:
        draft_file(tmp_path / "t.xlsx")
    assert "Zaphod" not in str(caught.value)
    with pytest.raises(UsageError, match="must name the columns"):
        draft_file(write_xlsx(tmp_path / "u.xlsx"), header=False)
    assert Schema.from_toml(draft_file(tmp_path / "u.xlsx").text)["age"].provenance == "proposed: ages"


@pytest.mark.parametrize("name", ["t.sav", "t.dta", "t.xlsx", "t.sas7bdat"])
def test_damaged_files_are_refused_without_an_echo(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"Zaphod" * 100)
    for attempt in (lambda: draft_file(tmp_path / name), lambda: open_source(tmp_path / name).columns):
        with pytest.raises(UnderstudyError) as caught:
            attempt()
        assert "Zaphod" not in caught.value.message


def test_a_copy_in_another_format_is_no_public_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    with pytest.raises(UsageError, match="cells of the private table"):
        draft_file(write_xlsx(tmp_path / "t.xlsx"), Documents(public=tmp_path / "t.csv"))


def test_a_row_that_is_too_long(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["age"], [1], [2, 3]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="more cells"):
        list(open_source(tmp_path / "t.xlsx").pieces(["age"]))


# -- text as programs write it -------------------------------------------------------------------------------


def test_blanks_after_delimiters_whole_floats_truth_words_and_midnights(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        'sex, ok, day\n1.0, True, 1887-05-12 00:00:00\n2, "false", 1888-05-12\n9.0, true, 1887-05-12T00:00\n'
    )
    text = '[table]\nname = "t"\nrows = 3\n[table.csv]\ntrim = true\n[attributes.sex]\nkind = "category"\nvalues = ["1", "2"]\nmissing = ["9"]\n'
    text += '[attributes.ok]\nkind = "category"\nvalues = ["false", "true"]\n[attributes.day]\nkind = "date"\nrange = [1887-05-12, 1888-12-31]\nbins = 2\n'
    found = codes(tmp_path / "t.csv", Schema.from_toml(text))
    assert found == {"sex": [0, 1, 2], "ok": [1, 0, 1], "day": [0, 1, 0]}
    drafted = Schema.from_toml(draft_file(tmp_path / "t.csv").text)
    assert drafted.csv.trim and drafted.columns == ("sex", "ok", "day")


def test_a_file_without_a_header_is_trimmed_whatever_its_first_row_is(tmp_path: Path) -> None:
    texts = []
    for row in ("39, x\n", "39,x\n"):
        (tmp_path / "t.csv").write_text(row)
        texts.append(draft_file(tmp_path / "t.csv", header=False).text)
    assert texts[0] == texts[1] and "trim = true" in texts[0]
