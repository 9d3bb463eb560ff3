"""DDI Codebook: the variables of a study's XML description. Their categories, labels and valid ranges.

The frequencies, means and extremes that archives add (`catStat`, `sumStat`, and the observed `range`) are not read.
"""

from __future__ import annotations

from xml.etree import ElementTree

from understudy.errors import SchemaError
from understudy.schema.codebooks.document import Document, Reader, TrustClass, described
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source


def _plain(tag: str) -> str:
    return tag.rsplit("}", 1)[-1]


def _all(element: ElementTree.Element, *names: str) -> list[ElementTree.Element]:
    """Return the elements that a path of names leads to; namespaces are ignored."""
    found = [element]
    for name in names:
        found = [child for parent in found for child in parent if _plain(child.tag) == name]
    return found


def _recognises(document: Document) -> bool:
    return document.parsed is None and document.suffix == ".xml" and "codeBook" in document.text[:4096]


def _read(document: Document) -> Source:
    if "<!ENTITY" in document.text[:65536]:
        raise SchemaError(f"{document.path.name!r} defines entities, which are not read: write them out")
    try:
        root = ElementTree.fromstring(document.text)
    except ElementTree.ParseError:
        raise SchemaError(f"{document.path.name!r} is not valid XML") from None
    return Source({var.attrib["name"]: _facts(var) for var in _all(root, "dataDscr", "var")})


def _facts(var: ElementTree.Element) -> Facts:
    label = next((" ".join("".join(found.itertext()).split()) for found in _all(var, "labl")), None)
    codes: list[str] = []
    missing: list[str] = []
    for category in _all(var, "catgry"):
        code = next(("".join(found.itertext()).strip() for found in _all(category, "catValu")), "")
        if code:
            (missing if category.attrib.get("missing") in ("Y", "true") else codes).append(code)
    invalid = [item.attrib["VALUE"] for item in _all(var, "invalrng", "item") if "VALUE" in item.attrib]
    absent = tuple(dict.fromkeys([*missing, *invalid]))
    return described(_kind(var), tuple(codes) or None, *_valid_range(var), missing=absent, label=label)


def _kind(var: ElementTree.Element) -> Kind | None:
    format = next(iter(_all(var, "varFormat")), None)
    attributes = {} if format is None else format.attrib
    if attributes.get("category") == "date":
        return "date"
    if attributes.get("type") != "numeric":
        return None
    discrete = var.attrib.get("intrvl") == "discrete" or var.attrib.get("dcml") == "0"
    return "integer" if discrete else "number"


def _valid_range(var: ElementTree.Element) -> tuple[str | None, str | None]:
    """Return the range that `valrng` states; None where its units are the data's, as then it was computed from rows."""
    for found in _all(var, "valrng", "range"):
        if "UNITS" not in found.attrib:
            return found.attrib.get("min"), found.attrib.get("max")
    return None, None


DDI = Reader("DDI Codebook", TrustClass.STATED, _recognises, _read)
