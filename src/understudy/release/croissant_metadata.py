"""Croissant metadata (MLCommons, version 1.0) of a release, and of a synthetic table drawn from it, as JSON-LD."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from understudy.errors import UsageError
from understudy.release.release import Release
from understudy.schema import Attribute

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
_OWN = ("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format",
        "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references",
        "regex",
        "repeated", "replace", "samplingRate",
        "separator", "source", "subField", "transform")  # fmt: skip
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _OWN},
}
_TYPES = {"integer": "sc:Integer", "number": "sc:Float", "date": "sc:Date", "boolean": "sc:Boolean"}


def croissant(
    release: Release, path: Path, *, license: str, creator: str, url: str, date: str, data: Path | None = None
) -> dict[str, Any]:
    """Return the metadata of the release file and, with `data`, of a CSV of synthetic rows and its columns."""
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in release.schema.name)
    files = [_file("release", path, "application/zip", "The model, its noisy tables, the schema and the privacy card.")]
    found: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": f"{name}-stand-in",
        "description": _description(release),
        "license": license,
        "url": url,
        "creator": {"@type": "sc:Organization", "name": creator},
        "datePublished": date,
        "version": "1.0.0",
        "citeAs": f"{creator}: synthetic stand-in for {release.schema.name}, release {release.hash}",
        "rai:personalSensitiveInformation": _promise(release),
        "rai:dataUseCases": "Rows about nobody, for work that the original may not leave the building for.",
        "rai:dataLimitations": " ".join(release.card.not_promised),
    }
    if data is not None:
        if data.suffix.lower() != ".csv":
            raise UsageError("the synthetic table of --data must be a .csv: Croissant names its columns")
        files.append(_file("rows", data, "text/csv", "Synthetic rows, drawn from the model of the release."))
        found["recordSet"] = [_records(release)]
    found["distribution"] = files
    return found


def _promise(release: Release) -> str:
    card = release.card
    return f"Differential privacy, {card.promise} for {card.unit} ({card.neighbours_in_words}): {card.in_words}."


def _description(release: Release) -> str:
    return (
        f"A synthetic stand-in for {release.schema.name}: a graphical model of {len(release.schema.modelled)} "
        f"attributes and rows drawn from it. {_promise(release)} Not one row of the original is in it."
    )


def _file(key: str, path: Path, kind: str, description: str) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError:
        raise UsageError(f"{path.name!r} cannot be read") from None
    return {
        "@type": "cr:FileObject", "@id": key, "name": path.name, "description": description, "contentUrl": path.name,
        "contentSize": f"{len(content)} B", "encodingFormat": kind, "sha256": hashlib.sha256(content).hexdigest(),
    }  # fmt: skip


def _records(release: Release) -> dict[str, Any]:
    shown = [release.schema[name] for name in release.columns if release.schema[name].published]
    return {
        "@type": "cr:RecordSet",
        "@id": "people",
        "name": "people",
        "description": "One synthetic row each.",
        "field": [_field(attribute) for attribute in shown],
    }


def _field(attribute: Attribute) -> dict[str, Any]:
    data_type = "sc:Text" if attribute.has_missing else _TYPES.get(attribute.kind, "sc:Text")
    return {
        "@type": "cr:Field",
        "@id": f"people/{attribute.name}",
        "name": attribute.name,
        "description": f"{attribute.name}, a synthetic value",
        "dataType": data_type,
        "source": {"fileObject": {"@id": "rows"}, "extract": {"column": attribute.name}},
    }
