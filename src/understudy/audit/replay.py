"""Replay: the same run on a neighbour, with the outputs of all mechanisms frozen.

A run on one table is recorded. The run on its neighbour is given the recorded outputs instead of fresh draws: it must
ask the same questions at the same price in the same order, hand the samplers the same scales, and end in the same
release, byte for byte. Else something about the rows got past the mechanisms. Along the way the exact integers of both
runs give the loss of this path, the worst over all outputs of each step, which must stay within the budget; and
the ledger's trace says whether every count was paid for on disk before it was made.

Adaptive composition needs no more than this: each step is a mechanism on its own, chosen by earlier outputs alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.audit.enumeration import ROUNDING
from understudy.audit.findings import Finding
from understudy.audit.losses import losses
from understudy.audit.mechanisms import HALVED, categories, whole_numbers
from understudy.audit.observation import LISTS, Draw, NoDraw, Observed, Observer, observed_runs
from understudy.audit.whole_runs import Ledgers, Setting, Texts, fresh_ledgers, published
from understudy.errors import UnderstudyError
from understudy.methods import METHODS
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.random_source import SystemSource
from understudy.publishing import Publication
from understudy.schema import Attribute, Schema

ROWS = 200  # so many that methods look for structure
BUDGETS = (Budget(2), Budget(2, "0.001"))


class OtherQuestion(UnderstudyError):
    """The replayed run went another way than the recorded one."""


class FrozenSource(Observer):
    """Gives out recorded outputs, and refuses any call that was not recorded."""

    def __init__(self, recorded: Sequence[Draw], seen: Observed) -> None:
        super().__init__(NoDraw(), seen)
        self._left = list(recorded)

    def _outcome(self, sampler: str, values: Any, scale: float) -> Any:
        if not self._left:
            raise OtherQuestion("on the neighbour more was drawn")
        draw = self._left.pop(0)
        if (draw.sampler, draw.scale, draw.values.size) != (sampler, scale, np.size(values)):
            raise OtherQuestion("on the neighbour another draw was asked for")
        return draw.outcome

    def _outcome_of_lists(self, draw: Any, threshold: int, scale: float) -> bytes:
        found = self._outcome(LISTS, [threshold], scale)
        assert isinstance(found, bytes)
        return found

    @property
    def spent(self) -> bool:
        """Return whether every recorded output was used."""
        return not self._left


def replayed(setting: Setting, ledgers: Ledgers) -> Finding:
    """Record a run on the first table of a setting, replay it on the second, and compare all that can be seen."""
    name = "replay"
    with observed_runs() as first:
        source = Observer(SystemSource(), first)
        made = published(setting, setting.one, ledgers, source, first)
    with observed_runs() as second:
        frozen = FrozenSource(source.draws, second)
        try:
            again = published(setting, setting.two, ledgers, frozen, second)
        except OtherQuestion as error:
            return Finding(name, setting.what, False, error.message)
    complaint = first.disorder or second.disorder or _difference(first, second, made, again, frozen)
    claim = float(total_cost(setting.budget))
    accounting = accounting_of(setting.budget)
    bound = sum(_loss(a, b, accounting) for a, b in zip(source.draws, frozen.draws))
    if complaint is None and bound > claim * (1 + ROUNDING):
        complaint = "the steps of this run lose more than its budget"
    unit = accounting.unit
    says = complaint or f"{len(first.asked)} questions alike; loss {bound:.4f} of {claim:.4g} {unit}"
    return Finding(name, setting.what, complaint is None, says, claim, bound, unit)


def _difference(
    first: Observed, second: Observed, made: Publication, again: Publication, frozen: FrozenSource
) -> str | None:
    if [a.key for a in first.asked] != [a.key for a in second.asked] or not frozen.spent:
        return "on the neighbour other questions were asked"
    if made.charges != again.charges:
        return "on the neighbour another price was paid"
    if sum((charge.cost for charge in made.charges), Fraction(0)) < sum((a.cost for a in first.asked), Fraction(0)):
        return "less was charged than was asked for"
    if made.release.hash != again.release.hash:
        return "on the neighbour the same outputs make another release"
    return None


def _loss(here: Draw, there: Draw, accounting: Accounting) -> float:
    if here.sampler in ("below", LISTS):  # lists: their loss is enumerated (`value_list_laws`)
        return 0.0
    both = np.stack([here.values, there.values])
    return float(losses(here.sampler, both, here.scale, np.array([0]), np.array([1]), accounting)[0])


# -- settings ------------------------------------------------------------------------------------------------------


def settings(long: bool) -> Iterator[Setting]:
    """Yield every method, and every wrapper of one, under both promises and both neighbour definitions."""
    for method in METHODS:
        attributes = (whole_numbers(8),) if method == "privelet" else categories(2, 2, 2)
        yield from _worlds(method, method, attributes, long)
    yield from _worlds("privbayes", "bins found by a noisy tree", (UNBINNED, *categories(2, 2)[1:]), long)
    yield from _worlds("privbayes", "details inside bins", (HALVED, *categories(2, 2)[1:]), long)
    yield from _left_open(long)
    yield from _ruled(long)
    yield from _people(long)
    yield from _linked(long)


def _left_open(long: bool) -> Iterator[Setting]:
    """Yield runs that buy a schema first: one person has a text, a format and a size of number that nobody else has."""
    for neighbours in ("replace-one", "add-remove") if long else ("replace-one",):
        known = f"{'rows' if neighbours == 'replace-one' else 'rows_max'} = {MANY_ROWS}"
        schema = Schema.from_toml(f'[table]\nname = "audit"\nneighbours = "{neighbours}"\n{known}\n{LEFT_OPEN}')
        usual = [{"a": "xyz"[k % 3], "b": str(k % 50), "c": "f" if k % 2 else "m"} for k in range(MANY_ROWS)]
        odd = {"a": "alone", "b": "123456.75", "c": "f"}
        one = [*usual[:-1], odd]
        two = usual if neighbours == "replace-one" else usual[:-1]
        label = f"a schema that is bought first ({neighbours}, {accounting_of(LARGE).name})"
        yield Setting(label, "independent", schema, LARGE, _columns(one), _columns(two), types="declared")


def _ruled(long: bool) -> Iterator[Setting]:
    """Yield runs under rules, where one person breaks each of them."""
    for budget in BUDGETS if long else BUDGETS[:1]:
        schema = Schema.from_toml(f'[table]\nname = "audit"\nrows = {ROWS}\n{RULED}')
        keeping = {"a": "1", "b": "2", "c": "1"}
        breaking = {"a": "3", "b": "0", "c": "0"}
        one, two = (_columns([keeping] * (ROWS - 1) + [last]) for last in (breaking, keeping))
        yield Setting(f"rules (replace-one, {accounting_of(budget).name})", "aim", schema, budget, one, two)


def _people(long: bool) -> Iterator[Setting]:
    """Yield runs on people with many rows: one more comes, who is like nobody else and may have more rows than are
    used."""
    usual = [_row(str(k), 1 + k % 2 + i, "f", 0) for k in range(PERSONS) for i in range(1 + k % 3)]
    comers = {"who stays": [_row("p", 16, "m", 1)] * 9}
    if long:
        comers["who changes"] = [_row("p", 1 + 5 * i, "m", i % 3) for i in range(4)]
        comers["with one row"] = [_row("p", 1, "m", 0)]
    schema = Schema.from_toml(f'[table]\nname = "audit"\nneighbours = "add-remove"\n{PANEL}')
    for budget, method in ((BUDGETS[0], "auto"), (BUDGETS[1], "auto"), (LARGE, "privbayes")):
        for who, rows in comers.items():
            one, two = _columns(usual[:PERSONS] + rows + usual[PERSONS:]), _columns(usual)
            what = f"people with many rows, one {who} ({method}, {accounting_of(budget).name} {budget.epsilon})"
            yield Setting(what, method, schema, budget, one, two)


def _linked(long: bool) -> Iterator[Setting]:
    """Yield runs on tables with foreign keys: one more row of the root comes, with more of everything than is used."""
    usual: Tables = {"a": [], "b": [], "c": []}
    for k in range(PERSONS):  # some have more than is used, so that a cut by the rows of others would show
        _add(usual, f"u{k}", str(k // 4 % 2), [(str(i % 2), "001"[: k // 8 % 4]) for i in range(k % 4)])
    comers = {"with too much": [("1", "111")] * 4}
    if long:
        comers |= {"with nothing": [], "that is mixed": [("1", "01"), ("0", ""), ("1", "1")]}
    schema = Schema.from_toml(f'[table]\nname = "a"\nneighbours = "add-remove"\n{TREE}')
    for budget, method in ((BUDGETS[0], "auto"), (BUDGETS[1], "auto"), (LARGE, "privbayes")):
        for who, own in comers.items():
            more: Tables = {name: list(rows) for name, rows in usual.items()}
            _add(more, "p", "1", own)
            one, two = ({name: _columns(rows) for name, rows in tables.items()} for tables in (more, usual))
            what = f"tables with foreign keys, one {who} ({method}, {accounting_of(budget).name} {budget.epsilon})"
            yield Setting(what, method, schema, budget, one, two)


Tables = dict[str, list[dict[str, str]]]


def _add(tables: Tables, id: str, x: str, own: Sequence[tuple[str, str]]) -> None:
    """Add a row of the root, the rows of `b` that belong to it, and to each the rows of `c`, a letter for each."""
    tables["a"].append({"id": id, "x": x})
    for at, (y, inner) in enumerate(own):
        tables["b"].append({"id": f"{id}.{at}", "up": id, "y": y})
        tables["c"] += [{"up": f"{id}.{at}", "z": z} for z in inner]


def _columns(rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the cells of each column."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def _row(id: str, at: int, c: str, x: int) -> dict[str, str]:
    return {"id": id, "at": str(at), "c": c, "x": str(x)}


PERSONS = 600
TREE = """[attributes.id]
kind = "id"
[attributes.x]
kind = "boolean"
[tables.b]
parent = "a"
key = "up"
references = "id"
at_most = 2
[tables.b.attributes.id]
kind = "id"
[tables.b.attributes.up]
kind = "id"
[tables.b.attributes.y]
kind = "boolean"
[tables.c]
parent = "b"
key = "up"
references = "id"
at_most = 2
[tables.c.attributes.up]
kind = "id"
[tables.c.attributes.z]
kind = "boolean"
"""
PANEL = """[person]
id = "id"
order = "at"
at_most = 3
constant = ["c"]
[attributes.id]
kind = "id"
[attributes.at]
kind = "integer"
range = [1, 16]
[attributes.c]
kind = "category"
values = ["f", "m"]
[attributes.x]
kind = "category"
values = ["0", "1", "2"]
"""
MANY_ROWS, LARGE = 3000, Budget(8, "0.001")
LEFT_OPEN = """[attributes.a]
kind = "category"
values = "discover"
[attributes.b]
kind = "discover"
[attributes.c]
kind = "category"
values = ["f", "m"]
"""
RULED = """[attributes.a]
kind = "category"
values = ["0", "1", "2", "3"]
[attributes.b]
kind = "category"
values = ["0", "1", "2", "3"]
[attributes.c]
kind = "category"
values = ["0", "1"]
[[rules]]
rule = "a == '3' implies c == '1'"
[[rules]]
rule = "b = map(a)"
map = { "0" = "0", "1" = "2", "2" = "2", "3" = "3" }
"""
UNBINNED = Schema.from_toml(
    '[table]\nname = "audit"\nneighbours = "add-remove"\n[attributes.a]\nkind = "integer"\nrange = [0, 15]'
)["a"]


def _worlds(method: str, what: str, attributes: tuple[Attribute, ...], long: bool) -> Iterator[Setting]:
    for budget in BUDGETS:
        for neighbours in ("replace-one", "add-remove"):
            if not long and budget.delta and neighbours == "add-remove":
                continue
            for number, (one, two) in enumerate(_pairs(attributes, neighbours, long)):
                rows = {"rows": len(one["a"])} if neighbours == "replace-one" else {"rows_max": len(one["a"])}
                schema = Schema("audit", attributes, neighbours=neighbours, **rows)  # type: ignore[arg-type]
                label = f"{what} ({neighbours}, {accounting_of(budget).name}{f', {number + 1}' if number else ''})"
                yield Setting(label, method, schema, budget, one, two)


def _pairs(attributes: tuple[Attribute, ...], neighbours: str, long: bool) -> Iterator[tuple[Texts, Texts]]:
    """Yield rows that are all alike, and one that is not; in the long audit also rows that are mixed."""
    names = [attribute.name for attribute in attributes]
    far = {name: "7" if name == "a" and len(attributes[0].labels) != 2 else "1" for name in names}
    for mixed in (False, True) if long else (False,):
        base = [{name: str(i % 2 if mixed else 0) for i, name in enumerate(names, start=k)} for k in range(ROWS)]
        changed = [*base[:-1], far] if neighbours == "replace-one" else base[:-1]
        whole = base if neighbours == "replace-one" else [*base[:-1], far]
        yield _columns(whole), _columns(changed)


def replay_all(long: bool = False) -> list[Finding]:
    """Return a finding for each method in each setting."""
    with fresh_ledgers() as ledgers:
        return [replayed(setting, ledgers) for setting in settings(long)]
