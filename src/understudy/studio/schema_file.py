"""A schema.toml under the steward's hands: every edit is checked as a schema, and comments stay where they can."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import UsageError
from understudy.release.replacement import replacing
from understudy.schema import Schema
from understudy.schema.writing import attribute_as_dict, schema_as_dict

MAX_TEXT = 1 << 20


@dataclass(frozen=True)
class SchemaFile:
    """The file as it was read; `version` tells whether it has been changed since."""

    path: Path
    text: str

    @staticmethod
    def read(path: Path) -> SchemaFile:
        """Read the file."""
        try:
            return SchemaFile(path, path.read_text(encoding="utf-8"))
        except (OSError, UnicodeError):
            raise UsageError(f"{path.name!r} cannot be read as text") from None

    @property
    def version(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:24]

    @property
    def schema(self) -> Schema:
        """Return what the file says; a SchemaError says what is wrong with it."""
        return Schema.open(self.path)

    def check_version(self, seen: str) -> None:
        """Refuse an edit of a text that was changed since the page showed it."""
        if seen != self.version:
            raise UsageError("the file was changed in another window or program: reload the page, and look again")

    def write(self, text: str) -> SchemaFile:
        """Write another text, if it is a schema."""
        text = text.replace("\r\n", "\n")
        if len(text) > MAX_TEXT:
            raise UsageError("this is too long for a schema")
        Schema.from_toml(text)
        with replacing(self.path) as file:
            file.write(text.encode("utf-8"))
        return SchemaFile.read(self.path)

    def edit(self, attribute: str | None, keys: Mapping[str, Any]) -> SchemaFile:
        """Edit one attribute, or [table] where it is None, as `Schema.edit` does."""
        made = self.schema.edit(attribute, **keys)
        if attribute is None:
            body = schema_as_dict(made)["table"]
            return self._with(made, lambda document: _replace(document["table"], body, keep=("name", "csv")))
        body = attribute_as_dict(made[attribute])
        return self._with(made, lambda document: _replace(document["attributes"][attribute], body))

    def settle(self, attribute: str | None, point: str) -> SchemaFile:
        """Take one open point out: a person has looked at it."""

        def change(document: Any) -> None:
            body = document["table"] if attribute is None else document["attributes"][attribute]
            left = [key for key in body.get("confirm", []) if key != point]
            body.pop("confirm", None)
            if left:
                body["confirm"] = left

        return self._with(None, change)

    def with_rules(self, rules: list[str]) -> SchemaFile:
        """Put these rules in the place of those that are there; a rule that stays keeps its map."""
        held = {rule.text: rule.as_json() for rule in self.schema.rules}

        def change(document: Any) -> None:
            document.pop("rules", None)
            if rules:
                document["rules"] = [held.get(text, {"rule": text}) for text in rules]

        return self._with(None, change)

    def _with(self, made: Schema | None, change: Callable[[Any], None]) -> SchemaFile:
        """Change the text in place; where that does not come to the schema that is meant, write it afresh."""
        import tomlkit

        document = tomlkit.parse(self.text)
        change(document)
        text = tomlkit.dumps(document)
        if made is not None and Schema.from_toml(text).hash != made.hash:
            text = made.to_toml()
        return self.write(text)


def _replace(held: MutableMapping[str, Any], body: Mapping[str, Any], keep: tuple[str, ...] = ()) -> None:
    """Put the new keys in the place of the old ones; what is equal stays as it was written."""
    for key in [key for key in held if key not in body and key not in keep]:
        del held[key]
    for key, value in body.items():
        if key in keep and key in held:
            continue
        if key not in held or held[key] != value:
            held[key] = value
