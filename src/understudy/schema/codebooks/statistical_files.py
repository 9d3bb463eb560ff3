"""SPSS, Stata and SAS files: their variables, value labels, formats and user-missing values. No row is read.

What is inside a data file may have been written from its rows, so all of it is asked about. The number of rows, which
is in the same header, is never looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from understudy.errors import SchemaError, import_extra
from understudy.schema.codebooks.document import Reader, TrustClass, described, scalar_text
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source

READ = {
    ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}  # fmt: skip
SUFFIXES = tuple(READ)
_DATES = re.compile(r"(E?DATE|ADATE|SDATE|JDATE|DDMMYY|MMDDYY|YYMMDD|%td|%d|DAY|MONYY)", re.IGNORECASE)
_DATETIMES = re.compile(r"(DATETIME|YMDHMS|%tc|%tC)", re.IGNORECASE)
_DOMAINS = {"WKDAY": "WKDAY", "MONTH": "MONTH", "PCT": "PCT", "DOLLAR": "DOLLAR", "%ty": "ty"}
_MAX_SPREAD = 30  # whole numbers of a range of user-missing values


def reader_of(path: Path) -> Callable[..., Any]:
    """Return what reads the cells and the metadata of a file; user-missing values of SPSS stay what they are."""
    pyreadstat = import_extra("pyreadstat", "codebooks", "SPSS, Stata and SAS files need one more package")
    options = {"user_missing": True} if path.suffix.casefold() in (".sav", ".zsav") else {}
    return partial(getattr(pyreadstat, READ[path.suffix.casefold()]), str(path), **options)


def read_metadata(path: Path) -> Any:
    """Read the header of a file: no row."""
    read = reader_of(path)
    try:
        return read(metadataonly=True)[1]
    except OSError as error:
        raise SchemaError(f"cannot read {path.name!r}: {error.strerror or 'no such file'}") from None
    except Exception as error:  # pyreadstat has an error of its own for each cause
        raise SchemaError(f"{path.name!r} cannot be read as a statistics file ({type(error).__name__})") from None


def metadata_source(path: Path) -> Source:
    """Read what the file says about its variables."""
    meta = read_metadata(path)
    return Source({name: _facts(meta, name) for name in meta.column_names})


def _facts(meta: Any, name: str) -> Facts:
    format = str((meta.original_variable_types or {}).get(name) or "")
    stored = str((meta.readstat_variable_types or {}).get(name))
    missing = _user_missing((meta.missing_ranges or {}).get(name) or ())
    label = (meta.column_names_to_labels or {}).get(name)
    listed = tuple(dict.fromkeys(map(scalar_text, (meta.variable_value_labels or {}).get(name) or {})))
    declared = next((domain for sign, domain in _DOMAINS.items() if format.startswith(sign)), None)
    kind = _kind(format, stored)
    absent = tuple(dict.fromkeys((*missing, "")))
    if listed and set(listed) <= set(missing):
        listed = ()  # only the codes for "no value" have labels: a number
    decimals = re.fullmatch(r"[A-Za-z%]*\d*\.(\d+)f?", format)
    places = int(decimals[1]) if decimals and int(decimals[1]) <= 6 else None
    return described(
        None if stored == "string" and not listed else kind, listed or None, missing=absent, label=label,
        declared_type=declared, decimals=places,
    )  # fmt: skip


def _kind(format: str, stored: str) -> Kind | None:
    if _DATETIMES.match(format):
        return "datetime"
    if _DATES.match(format):
        return "date"
    if stored == "string":
        return "category"
    whole = stored.startswith("int") or re.fullmatch(r"[A-Za-z]+\d+(\.0)?", format) is not None
    return "integer" if whole else "number"


def _user_missing(ranges: Any) -> tuple[str, ...]:
    """Return each user-missing value as a text, those of a short range of whole numbers one by one."""
    found: list[str] = []
    for part in ranges:
        low, high = part.get("lo"), part.get("hi")
        if low == high:
            found.append(scalar_text(low))
        elif isinstance(low, float) and isinstance(high, float) and 0 < high - low <= _MAX_SPREAD:
            found += [str(code) for code in range(int(low), int(high) + 1)]
    return tuple(found)


STATISTICAL_FILE = Reader(
    "SPSS, Stata or SAS file",
    TrustClass.INSIDE,
    lambda document: document.parsed is None and document.suffix in SUFFIXES,
    lambda document: metadata_source(document.path),
)
