"""The lines of an attribute in a draft: what is known about its domain, in the words of schema.toml."""

from __future__ import annotations

import math
from dataclasses import replace

from understudy.errors import SchemaError
from understudy.schema import toml_text as toml
from understudy.schema.facts import Facts, number_of
from understudy.schema.scales import FLAG_KINDS, LISTED_KINDS, ORDERED_KINDS, ordered_scale
from understudy.schema.scales.booleans import Booleans
from understudy.schema.tree_grid import MIN_VALUES

_TRUE_WORDS = ("true", "yes", "y", "ja", "j", "oui", "o", "si", "sí", "s", "wahr", "t", "1")
_FALSE_WORDS = ("false", "no", "n", "nein", "non", "falsch", "f", "0")


def with_words(facts: Facts) -> tuple[Facts, bool]:
    """Return the facts with words for true and false, and whether it is known which of the two texts means true."""
    if (facts.true and facts.false) or not facts.values:
        return facts, True
    true = tuple(v for v in facts.values if v.casefold() in _TRUE_WORDS)
    false = tuple(v for v in facts.values if v.casefold() in _FALSE_WORDS)
    if true and false and len(true) + len(false) == len(facts.values):
        return replace(facts, true=true, false=false), True
    return replace(facts, true=facts.values[:1], false=facts.values[1:] or ("?",)), False


def domain_lines(name: str, facts: Facts) -> list[str]:
    if facts.kind in LISTED_KINDS:
        groups = [f"taxonomy = {toml.string(facts.groups)}"] if isinstance(facts.groups, str) else []
        return [f"values = {toml.strings(facts.values or ())}", *groups]
    if facts.takes("pattern") and facts.pattern is not None:
        return [f"pattern = {toml.string(facts.pattern)}"]
    if facts.kind in FLAG_KINDS:
        return _boolean_lines(facts)
    return _range_lines(name, facts) if facts.kind in ORDERED_KINDS else []


def _boolean_lines(facts: Facts) -> list[str]:
    """Return the lines of `true` and `false`.

    Where no source has the words, propose the usual ones and remark that the first of each is written.
    """
    if facts.true or facts.false:
        return [f"{key} = {toml.strings(texts)}" for key in ("true", "false") if (texts := getattr(facts, key))]
    note = "put the word that the file uses first: it is written"
    usual = Booleans().as_dict()
    return [toml.remarked(f"{key} = {toml.strings(texts)}", note) for key, texts in usual.items()]


def _range_lines(name: str, facts: Facts) -> list[str]:
    """Return the lines of an ordered domain; where nobody says how to cut a long range, a noisy tree finds its bins."""
    points = [_literal(name, point, facts) for point in facts.points or ()]
    lines = [f"points = {toml.array(points)}"] if points else []
    if facts.format is not None:
        lines.append(f"format = {toml.string(facts.format)}")
    if facts.takes("decimals") and facts.decimals is not None:
        lines.append(f"decimals = {facts.decimals}")
    if (step := _step(facts)) is not None:
        lines.append(f"step = {_show(step, replace(facts, kind='number'))}")
    if facts.edges is not None:
        return [f"edges = {toml.array([_literal(name, edge, facts) for edge in facts.edges])}", *lines]
    low, high = _ends(name, facts)
    span = f"range = [{_literal(name, low, facts)}, {_literal(name, high, facts)}]"
    if facts.bins is not None:
        return [span, f"bins = {facts.bins}", *lines]
    width, unit = _place(name, high, facts) - _place(name, low, facts), _unit(facts)
    if unit is not None and width / unit < MIN_VALUES:
        each = [] if step is not None else [f"step = {_show(unit, facts)}"]
        return [span, *each, *lines[len(points) > 0 :]]  # one cell a multiple
    if unit is not None or not ordered_scale(str(facts.kind)).listable or width >= MIN_VALUES:
        return [toml.remarked(span, "its bins are found from noisy counts; `bins` or `edges` would fix them"), *lines]
    return [span, *lines[len(points) > 0 :]]  # one cell a value: a point would be that cell again


def _step(facts: Facts) -> float | None:
    """Return the step that a source states, for kinds that have one."""
    if facts.step is None or not facts.takes("step"):
        return None
    if not 0 < (step := number_of(facts.step)) < math.inf:
        raise SchemaError(f"the public sources give the step {facts.step!r}, which is no number above 0")
    return step


def _unit(facts: Facts) -> float | None:
    """Return what values are multiples of, where a source says so."""
    if (step := _step(facts)) is not None:
        return step
    return 10.0**-facts.decimals if facts.takes("decimals") and facts.decimals is not None else None


def _ends(name: str, facts: Facts) -> tuple[str, str]:
    """Return the range, or a placeholder that reaches on from the end that is known."""
    low, high = ordered_scale(str(facts.kind)).placeholder
    if facts.low is not None and facts.high is None:
        place = _place(name, facts.low, facts)
        return facts.low, high if place < _place(name, high, facts) else _show(place + 100, facts)
    if facts.high is not None and facts.low is None:
        place = _place(name, facts.high, facts)
        return low if _place(name, low, facts) < place else _show(place - 100, facts), facts.high
    return facts.low or low, facts.high or high


def _place(name: str, text: str, facts: Facts) -> float:
    """Return a number, or a moment on its own scale."""
    scale = ordered_scale(str(facts.kind))
    place = number_of(text) if scale.arithmetic else scale.position(text, facts.format)
    if not math.isfinite(place):
        raise SchemaError(
            f"the public sources give {name!r} the limit {text!r}, which is no {facts.kind}", attribute=name
        )
    return place


def _show(place: float, facts: Facts) -> str:
    return ordered_scale(str(facts.kind)).show(place)


def _literal(name: str, text: str, facts: Facts) -> str:
    return _show(_place(name, text, facts), facts)
