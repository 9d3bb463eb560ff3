"""Markup: elements built as values. Whatever is not markup already is escaped, so no name or value can become code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_CHILDLESS = frozenset({"meta", "br"})
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Markup(str):
    """Text that is HTML or SVG already: made by this module alone."""

    __slots__ = ()


Child = Markup | str | None
Setting = str | int | float | bool | None


def text(value: str) -> Markup:
    """Return plain text, escaped; control characters and half characters are shown as a replacement mark."""
    return Markup(escape(_CONTROL.sub("\ufffd", value), quote=True))


def tag(name: str, *children: Child, **settings: Setting) -> Markup:
    """Return an element, as in `tag("td", "a < b", class_="label")`.

    None is left out; True is a setting without a value.
    """
    opening = "<" + name + "".join(_setting(key, value) for key, value in settings.items()) + ">"
    return Markup(opening if name in _CHILDLESS else f"{opening}{join(children)}</{name}>")


def shape(name: str, **settings: Setting) -> Markup:
    """Return an element of a drawing that holds nothing."""
    return Markup("<" + name + "".join(_setting(key, value) for key, value in settings.items()) + "/>")


def join(children: Iterable[Child]) -> Markup:
    return Markup("".join(c if isinstance(c, Markup) else text(c) for c in children if c is not None))


def coded(value: str) -> Markup:
    """Return text with `code` between backticks, as the card has it on a terminal."""
    parts = value.split("`")
    if len(parts) % 2 == 0:  # a lone backtick is a backtick
        return text(value)
    return join(tag("code", part) if i % 2 else text(part) for i, part in enumerate(parts))


def shortened(name: str, longest: int) -> str:
    """Leave out the middle: names of wide tables often differ at their ends."""
    if len(name) <= longest:
        return name
    end = (longest - 1) * 2 // 5
    return f"{name[: longest - 1 - end]}…{name[len(name) - end :]}"


def number(value: float) -> str:
    """Return a coordinate: one decimal is a tenth of a pixel."""
    return f"{round(value, 1) + 0.0:.7g}"  # minus nothing is nothing


def _setting(key: str, value: Setting) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    shown = number(value) if isinstance(value, int | float) else value
    return f' {name}="{text(shown)}"'
