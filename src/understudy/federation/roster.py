"""The roster: who takes part in a federation, and on what terms. Public, and the same file at every owner.

Whatever an owner relies on is in it and in its hash: names, certificates, rows, t, u, the schema, epsilon, the method.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from understudy.errors import UsageError, did_you_mean
from understudy.privacy.budget import Budget, exact
from understudy.schema import MAX_ROWS, Schema
from understudy.schema.toml_text import key as toml_key
from understudy.schema.toml_text import string

FORMAT = 1
MAX_OWNERS = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LARGEST_FILE = 1 << 20
_LONGEST_OPTION = 200
_LONGEST_KEY = 1 << 12  # bytes of a public key


@dataclass(frozen=True)
class Owner:
    """One owner: its public row count (replace-one only), and the certificate it signs and speaks with."""

    name: str
    rows: int | None = None
    fingerprint: str = ""  # SHA-256 of the certificate (DER), in hex
    public_key: bytes = b""  # SubjectPublicKeyInfo (DER)


@dataclass(frozen=True)
class Curator:
    """Whom the owners talk to; an owner's certificate cannot stand in for the curator's."""

    name: str = "curator"
    fingerprint: str = ""
    public_key: bytes = b""


@dataclass(frozen=True)
class Roster:
    """`colluding` is t, who may join the curator; `dropping` is u, who may fall out of a round."""

    owners: tuple[Owner, ...]
    schema_hash: str
    budget: Budget
    method: str = "auto"
    options: tuple[tuple[str, str], ...] = ()
    colluding: int = 1
    dropping: int = 0
    curator: Curator = Curator()
    name: str = "federation"
    path: Path | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", self.budget.in_rho())  # what is proved of sums of owners' shares
        names = [owner.name for owner in self.owners]
        for name in [self.name, self.curator.name, self.method, *names]:
            if not _NAME.fullmatch(name):
                raise UsageError(f"{name[:80]!r} cannot be a name: letters, digits, `.`, `_` and `-`, up to 64 of them")
        for word in (word for option in self.options for word in option):
            if not word.isprintable() or len(word) > _LONGEST_OPTION:  # an owner's operator reads them, and agrees
                raise UsageError(f"an option is at most {_LONGEST_OPTION} printable characters")
        if len({*names, self.curator.name}) != len(names) + 1:
            raise UsageError("two of the owners and the curator have the same name: each needs its own")
        held = [c for c in (self.curator.fingerprint, *(o.fingerprint for o in self.owners)) if c]
        if len(set(held)) != len(held):
            raise UsageError("two of the owners and the curator have the same certificate: each needs its own")
        if not 2 <= len(names) <= MAX_OWNERS:
            raise UsageError(f"a federation has 2 to {MAX_OWNERS} owners, this one has {len(names)}")
        if max(self.colluding, self.dropping) > MAX_OWNERS:
            raise UsageError(f"t (colluding) and u (dropping) are at most {MAX_OWNERS}, as many as there are owners")
        if self.colluding < 1:
            raise UsageError("t (colluding) is at least 1: an owner knows its own noise share and can take it off")
        if self.dropping < 0:
            raise UsageError("u (dropping) is at least 0")
        if self.honest < 1:
            raise UsageError(
                f"{len(names)} owners less t = {self.colluding} and u = {self.dropping} leave h = {self.honest}: with "
                "no honest owner counted on there is no noise. Lower t or u, or find more owners"
            )
        if len(names) - self.dropping < self.threshold:
            most = len(names) - self.threshold
            raise UsageError(
                f"{len(names)} owners with t = {self.colluding} can lose at most u = {most} in a round, not "
                f"{self.dropping}: with fewer left, a curator that shows two lists of survivors could open a sum"
            )
        with_rows = [owner.rows is not None for owner in self.owners]
        if any(with_rows) and not all(with_rows):
            raise UsageError("either every owner has `rows` (replace-one) or none has (add-remove)")
        for owner in self.owners:
            if owner.rows is not None and not 1 <= owner.rows <= MAX_ROWS:
                raise UsageError(f"`rows` of owner {owner.name!r} must be a whole number from 1 to {MAX_ROWS:,}")

    # -- what follows from it --------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(owner.name for owner in self.owners)

    @property
    def honest(self) -> int:
        """Return h: so many owners' shares must make up the whole noise."""
        return len(self.owners) - self.colluding - self.dropping

    @property
    def threshold(self) -> int:
        """Return how many shares open a secret, and how many owners a survivor list needs.

        Above (K + t)/2: two different lists, each signed by so many, would have an honest owner in common, who signs
        only one. It is above t and above K/2 too.
        """
        return (len(self.owners) + self.colluding) // 2 + 1

    @property
    def rows(self) -> int | None:
        """Return the rows of all owners together."""
        counts = [owner.rows for owner in self.owners if owner.rows is not None]
        return sum(counts) if counts else None

    def __getitem__(self, name: str) -> Owner:
        for owner in self.owners:
            if owner.name == name:
                return owner
        raise UsageError(f"the roster has no owner {name!r}. {did_you_mean(name, list(self.names))}")

    def agreed_schema(self, schema: Schema) -> Schema:
        """Return the schema as this roster means it: one of an earlier version has public bins instead of a tree."""
        if schema.undiscovered:  # which no earlier version could buy
            return schema
        public = schema.for_owners()
        return public if schema_hash(public) == self.schema_hash else schema

    def common_schema(self, schema: Schema) -> Schema:
        """Return the schema of all rows together; refuse one that the owners did not agree on."""
        self._check(schema)
        if schema.rows not in (self.rows, *(owner.rows for owner in self.owners)):
            raise UsageError(f"the schema says rows = {schema.rows:,} and the roster's owners have {self.rows:,}")
        return replace(schema, rows=self.rows, text=None)

    def own_schema(self, schema: Schema, name: str) -> Schema:
        """Return the schema of one owner: the common one, with this owner's rows."""
        self._check(schema)
        rows = self[name].rows
        if schema.rows not in (rows, self.rows):
            raise UsageError(
                f"the schema says rows = {schema.rows:,}, and the roster gives {name!r} {rows:,} of {self.rows:,}"
            )
        return replace(schema, rows=rows, text=None)

    def _check(self, schema: Schema) -> None:
        if schema_hash(schema) != self.schema_hash:
            raise UsageError(
                f"this schema is not the one in the roster: its hash is {schema_hash(schema)[:16]}…, the roster's "
                f"{self.schema_hash[:16]}…. All owners need the same attributes, domains and neighbours"
            )
        if (schema.rows is None) != (self.rows is None):
            raise UsageError("the roster gives each owner's `rows` under replace-one neighbours, and only then")

    def as_json(self) -> dict[str, Any]:
        """Return the form that is hashed."""
        return {
            "format": FORMAT,
            "name": self.name,
            "schema": self.schema_hash,
            "epsilon": str(self.budget.epsilon),
            "delta": str(self.budget.delta),
            "method": self.method,
            "options": dict(sorted(self.options)),
            "colluding": self.colluding,
            "dropping": self.dropping,
            "curator": _party_json(self.curator),
            "owners": [_party_json(o) | ({} if o.rows is None else {"rows": o.rows}) for o in self.owners],
        }

    @cached_property
    def hash(self) -> str:
        canonical = json.dumps(self.as_json(), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    # -- the file --------------------------------------------------------------------------------------------

    @staticmethod
    def open(path: str | Path) -> Roster:
        """Read a roster.toml, strictly."""
        import tomllib

        path = Path(path)
        try:
            if path.stat().st_size > _LARGEST_FILE:
                raise UsageError(f"the roster {path.name!r} is larger than 1 MiB: that is no roster")
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"cannot read the roster {path.name!r}: {error.strerror}") from None
        except RecursionError:
            raise UsageError(f"the roster {path.name!r} is nested too deeply: that is no roster") from None
        except ValueError as error:
            raise UsageError(f"the roster {path.name!r} is not valid TOML: {error}") from None
        return replace(roster_from_dict(document), path=path)

    def to_toml(self) -> str:
        lines = [
            "# Every owner and the curator hold this same file; another hash is refused.",
            "[federation]",
            f"format = {FORMAT}",
            f"name = {string(self.name)}",
            f"schema = {string(self.schema_hash)}",
            f"epsilon = {string(_amount(self.budget.epsilon))}",
            f"delta = {string(_amount(self.budget.delta))}",
            f"method = {string(self.method)}",
            f"colluding = {self.colluding}  # t: so many owners may join the curator and still learn nothing",
            f"dropping = {self.dropping}  # u: so many may fall out of a round",
            f"# h = {self.honest}: so many owners' shares make up the whole noise",
        ]
        if self.options:
            lines += ["", "[federation.options]", *(f"{toml_key(k)} = {string(v)}" for k, v in sorted(self.options))]
        lines += ["", "[curator]", *_party_lines(self.curator)]
        for owner in self.owners:
            rows = [] if owner.rows is None else [f"rows = {owner.rows}"]
            lines += ["", "[[owners]]", *_party_lines(owner), *rows]
        return "\n".join(lines) + "\n"

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.to_toml(), encoding="utf-8", newline="")


def schema_hash(schema: Schema) -> str:
    """Return the hash of what owners must agree on: not whose rows, how many, which account or CSV dialect."""
    form = schema.as_json()
    form["table"] = {k: v for k, v in form["table"].items() if k not in ("rows", "account", "csv", "confirm")}
    canonical = json.dumps(form, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def roster_from_dict(document: dict[str, Any]) -> Roster:
    _keys(document, "the roster", {"federation": dict, "curator": dict, "owners": list})
    head = document["federation"]
    optional = {"options": dict, "delta": (str, int, float)}
    needed = {
        "format": int, "name": str, "schema": str, "epsilon": (str, int, float), "method": str, "colluding": int,
        "dropping": int,
    }  # fmt: skip
    _keys(head, "[federation]", needed, optional)
    if head["format"] != FORMAT:
        raise UsageError(f"the roster has another format: this version of understudy reads format {FORMAT}")
    _keys(document["curator"], "[curator]", _PARTY)
    for body in document["owners"]:
        _keys(body, "[[owners]]", _PARTY, {"rows": int})
    options = tuple(sorted((key, _option(value)) for key, value in head.get("options", {}).items()))
    return Roster(
        owners=tuple(Owner(rows=body.get("rows"), **_party(body)) for body in document["owners"]),
        schema_hash=_hex(head["schema"], "`schema` in [federation]"),
        budget=Budget(exact(head["epsilon"], "epsilon"), exact(head.get("delta", 0), "delta")),
        method=head["method"],
        options=options,
        colluding=head["colluding"],
        dropping=head["dropping"],
        curator=Curator(**_party(document["curator"])),
        name=head["name"],
    )


_LARGEST_OPTION = 2**63
_PARTY: dict[str, Any] = {"name": str, "fingerprint": str, "public_key": str}


def _party(body: dict[str, Any]) -> dict[str, Any]:
    try:
        if len(body["public_key"]) > 2 * _LONGEST_KEY:
            raise ValueError
        public_key = bytes.fromhex(body["public_key"])
    except ValueError:
        raise UsageError(f"`public_key` of {body['name'][:80]!r} must be hexadecimal, and of moderate length") from None
    fingerprint = _hex(body["fingerprint"], f"`fingerprint` of {body['name'][:80]!r}")
    return {"name": body["name"], "fingerprint": fingerprint, "public_key": public_key}


def _option(value: Any) -> str:
    if not isinstance(value, str | int | float) or (isinstance(value, int) and abs(value) > _LARGEST_OPTION):
        raise UsageError("an option in [federation.options] must be a text, a number or a boolean")
    return str(value)


def _hex(text: str, what: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise UsageError(f"{what} must be a SHA-256 hash: 64 hexadecimal digits in lower case")
    return text


def _keys(body: Any, where: str, needed: dict[str, Any], optional: dict[str, Any] | None = None) -> None:
    if not isinstance(body, dict):
        raise UsageError(f"{where} must be a table")
    known = needed | (optional or {})
    for key, value in body.items():
        if key not in known:
            raise UsageError(f"{where} has no key {str(key)[:80]!r}. {did_you_mean(str(key)[:80], list(known))}")
        if not isinstance(value, known[key]) or isinstance(value, bool):
            raise UsageError(f"`{key}` in {where} is of the wrong type")
    for key in needed:
        if key not in body:
            raise UsageError(f"{where} needs `{key}`")


def _party_json(party: Owner | Curator) -> dict[str, Any]:
    return {"name": party.name, "fingerprint": party.fingerprint, "public_key": party.public_key.hex()}


def _party_lines(party: Owner | Curator) -> list[str]:
    return [f"{k} = {string(v)}" for k, v in _party_json(party).items()]


def _amount(value: Any) -> str:
    """Return an amount as a decimal where it is one, else as a fraction; it is read back to the same number."""
    short = f"{float(value):.12g}"
    return short if exact(short) == value else str(value)
