"""The person: which column says whose row it is, in what order a person's rows come, and how many are used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from understudy.errors import SchemaError, did_you_mean
from understudy.schema.scales.scale import check_keys, texts_of

if TYPE_CHECKING:
    from understudy.schema.attribute import Attribute
    from understudy.schema.table import Schema

PERSON_KEYS = ("id", "order", "at_most", "constant", "strict", "rising")
MAX_ROWS_OF_A_PERSON = 1000  # more than this and the noise of consecutive rows drowns any table


@dataclass(frozen=True)
class Person:
    """A person has many rows: `[person]` of a schema.

    Args:
        id: the column of kind "id" whose equal values are one person.
        order: the ordered column by which a person's rows follow each other.
        at_most: how many rows of a person are used, the first ones in that order.
        constant: the columns that have one value for a person.
        strict: whether no two rows of a person have the same place in the order.
        rising: the ordered columns that never fall from a row of a person to a later one.
    """

    id: str
    order: str
    at_most: int
    constant: tuple[str, ...] = ()
    strict: bool = False
    rising: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the table of the schema file; `strict` and `rising` where they are set."""
        body = {"id": self.id, "order": self.order, "at_most": self.at_most, "constant": list(self.constant)}
        body |= {"strict": True} if self.strict else {}
        return body | ({"rising": list(self.rising)} if self.rising else {})


def read_person(body: Any) -> Person | None:
    """Return what `[person]` says; None where there is no such table."""
    if body is None:
        return None
    check_keys(body, PERSON_KEYS, "[person]")
    for key in ("id", "order"):
        if not isinstance(body.get(key), str):
            raise SchemaError(f"[person] needs `{key}`, the name of a column")
    most = body.get("at_most")
    if type(most) is not int or not 2 <= most <= MAX_ROWS_OF_A_PERSON:
        given = "" if most is None else f", and it is {most!r}"
        raise SchemaError(
            "[person] needs `at_most`, how many rows of a person are used: a whole number from 2 to "
            f"{MAX_ROWS_OF_A_PERSON:,}{given}. With one row a person, leave [person] out"
        )
    strict = body.get("strict", False)
    if type(strict) is not bool:
        raise SchemaError("`strict` of [person] is true or false: whether a person's rows never share their place")
    constant, rising = (texts_of(body.get(key, []), key) for key in ("constant", "rising"))
    return Person(body["id"], body["order"], most, constant, strict, rising)


def check_person(schema: Schema) -> None:
    """Refuse a `[person]` that does not fit the rest of the schema."""
    person = schema.person
    if person is None:
        return
    if schema.neighbours != "add-remove":
        raise SchemaError(
            'with [person] a neighbour is a person who is there or not: write neighbours = "add-remove" in [table] and '
            "leave `rows` out. Under replace-one a person's rows would have to be replaced one for one, and how many a "
            "person has is private"
        )
    if schema.rows_per_person not in (1, person.at_most):
        raise SchemaError("with [person], `at_most` says how many rows are used: leave `rows_per_person` out")
    if schema.uses:
        raise SchemaError("[[uses]] name tables of rows, and a panel measures histories: leave them out with [person]")
    if schema.rules:
        raise SchemaError("[[rules]] hold in a row, and a history is drawn row after row: leave them out with [person]")
    known = {a.name: a for a in schema.attributes}
    for name in (person.id, person.order, *person.constant, *person.rising):
        if name not in known:
            raise SchemaError(f"[person] names {name!r}, which is not declared. {did_you_mean(name, list(known))}")
    if not known[person.id].is_id:
        raise SchemaError(f'`id` of [person] is a column of kind = "id", and {person.id!r} is not', attribute=person.id)
    _check_order(known[person.order])
    for name in person.constant:
        if not known[name].modelled or name == person.order:
            raise SchemaError(f"`constant` of [person] cannot name {name!r}: an id, a dropped column or the order")
    for name in person.rising:
        _check_rising(known[name], person)
    if strange := [a.name for a in schema.modelled if "@" in a.name]:
        raise SchemaError(f"with [person] no name of a column has an @: rename {strange[0]!r}", attribute=strange[0])
    if wanted := [a.name for a in schema.modelled if a.fine]:
        raise SchemaError(f"`fine` of {wanted[0]!r} does not go with [person]", attribute=wanted[0])
    schema.check_discovered("a table of people with many rows")


def _check_rising(attribute: Attribute, person: Person) -> None:
    name = attribute.name
    if name == person.order:
        raise SchemaError(
            f"`rising` of [person] names {name!r}, the order: it never falls, and `strict = true` says more"
        )
    if name in person.constant:
        raise SchemaError(f"`rising` of [person] names {name!r}, which is constant: leave it out of one of them")
    if not attribute.modelled or (attribute.intervals is None and attribute.grid is None):
        raise SchemaError(
            f"`rising` of [person] names {name!r}, which is no number, date or time: only these can fall or rise",
            attribute=name,
        )


def _check_order(order: Attribute) -> None:
    if order.intervals is None and order.grid is None:
        raise SchemaError(
            f"`order` of [person] is a number, a date or a time, and {order.name!r} is not", attribute=order.name
        )
    if order.has_missing:
        raise SchemaError(
            f"every row needs its place: {order.name!r} is the `order` of [person] and cannot be missing",
            attribute=order.name,
        )
