"""What of a release's schema was declared, what was public and what was paid for; a part of the privacy card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from understudy.privacy.budget import Budget
from understudy.schema import Schema
from understudy.schema.undiscovered import PAID

EARLIER = "an earlier run"


@dataclass(frozen=True)
class BoughtFacts:
    """Attributes by who knew them, what was bought of the paid ones, and how delta was split."""

    declared: tuple[str, ...]
    public: tuple[str, ...]
    paid: dict[str, str]
    declared_schema_hash: str | None
    conversion: float
    value_lists: float

    @classmethod
    def of(cls, schema: Schema, budget: Budget, declared: Schema | None) -> BoughtFacts | None:
        """Return what is known of the schema of a run, None where nothing of it was bought."""
        paid = {a.name: EARLIER for a in schema.attributes if a.provenance == PAID}
        for attribute in () if declared is None else declared.undiscovered:
            assert attribute.undiscovered is not None
            paid[attribute.name] = attribute.undiscovered.what
        if not paid:
            return None
        public = tuple(a.name for a in schema.attributes if a.provenance.startswith("public"))
        known = tuple(a.name for a in schema.attributes if a.name not in (*paid, *public))
        whole = None if declared is None or not declared.undiscovered else declared.hash
        return cls(known, public, paid, whole, float(budget.delta - budget.aside), float(budget.aside))

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> BoughtFacts | None:
        """Return it from a card's document; raise a ValueError, LookupError or TypeError where a part is odd."""
        if (found := document.get("discovery")) is None:
            return None
        split = document.get("delta_split", {"conversion": document["delta"], "value_lists": 0.0})
        texts = [*found["declared"], *found["public"], *found["paid"], *found["paid"].values()]
        amounts = [split["conversion"], split["value_lists"]]
        if not all(isinstance(t, str) for t in texts) or not all(type(a) in (int, float) for a in amounts):
            raise ValueError
        whole = document.get("declared_schema_hash")
        return cls(tuple(found["declared"]), tuple(found["public"]), dict(found["paid"]), whole, *amounts)

    def as_json(self) -> dict[str, Any]:
        split = {"conversion": self.conversion, "value_lists": self.value_lists}
        split["total"] = self.conversion + self.value_lists
        return {
            "discovery": {"declared": list(self.declared), "public": list(self.public), "paid": self.paid},
            **({} if self.declared_schema_hash is None else {"declared_schema_hash": self.declared_schema_hash}),
            **({"delta_split": split} if self.value_lists else {}),
        }

    def lines(self) -> list[str]:
        """Return the lines of the card on a terminal page."""
        earlier = [name for name, what in self.paid.items() if what == EARLIER]
        whats = dict.fromkeys(what for what in self.paid.values() if what != EARLIER)
        now = [f"{what} of {', '.join(n for n, w in self.paid.items() if w == what)}" for what in whats]
        paid = "; ".join(now + ([f"{', '.join(earlier)} by an earlier run"] if earlier else []))
        lines = [f"Schema by   paid for: {paid}; declared: {', '.join(self.declared) or 'nothing'}"]
        if self.public:
            lines[0] += f"; from public documents: {', '.join(self.public)}"
        if self.value_lists:
            total = self.conversion + self.value_lists
            split = f"{self.conversion:.6g} for the conversion + {self.value_lists:.6g} for value lists"
            lines.append(f"Delta       {split} = {total:.6g}")
        return lines
