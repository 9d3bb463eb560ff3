"""What an audit finds: for each claim the bound that was found, and for each part the broken twins that it caught."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One claim and what was found about it. `bound` is in the unit of `claim`; a claim without a figure has none."""

    part: str
    what: str
    holds: bool
    says: str
    claim: float | None = None
    bound: float | None = None
    unit: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "part": self.part, "what": self.what, "claim": self.claim, "bound": self.bound, "unit": self.unit,
            "holds": self.holds, "says": self.says,
        }  # fmt: skip


@dataclass(frozen=True)
class Control:
    """A twin that is broken on purpose, and whether the part that is there for it saw it."""

    part: str
    twin: str
    caught: bool
    says: str

    def as_json(self) -> dict[str, Any]:
        return {"part": self.part, "twin": self.twin, "caught": self.caught, "says": self.says}


PARTS = {
    "enumeration": "The exact law of every question, on all small tables and all their neighbours",
    "trials": "Lower bounds from whole runs of publish on two neighbouring tables",
    "replay": "The same run on a neighbour, with the mechanisms' outputs frozen",
    "samplers": "The samplers against their laws",
}


@dataclass(frozen=True)
class AuditReport:
    """All findings, all controls, and what the trials can see at best."""

    long: bool
    findings: tuple[Finding, ...]
    controls: tuple[Control, ...]
    limits: tuple[str, ...]
    seconds: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Return whether every claim stands and every broken twin was caught."""
        return all(f.holds for f in self.findings) and all(c.caught for c in self.controls)

    def as_json(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "long": self.long,
            "findings": [f.as_json() for f in self.findings],
            "controls": [c.as_json() for c in self.controls],
            "limits": list(self.limits),
            "seconds": self.seconds,
            "versions": self.versions,
        }

    def text(self) -> str:
        """Return the audit on a terminal: a line for each claim and each control, part by part."""
        lines: list[str] = []
        for part, title in PARTS.items():
            findings = [f for f in self.findings if f.part == part]
            controls = [c for c in self.controls if c.part == part]
            if not findings and not controls:
                continue
            lines += [title, *(f"  {'ok' if f.holds else '!!'}  {f.what}: {f.says}" for f in findings)]
            lines += [f"  {'ok' if c.caught else '!!'}  control, {c.twin}: {c.says}" for c in controls]
            lines.append("")
        lines += [f"Limit: {limit}" for limit in self.limits]
        caught = sum(c.caught for c in self.controls)
        verdict = "Every claim stands" if all(f.holds for f in self.findings) else "A CLAIM DOES NOT STAND"
        seconds = sum(self.seconds.values())
        lines.append(f"{verdict}; {caught} of {len(self.controls)} broken twins caught; {seconds:.0f} s of CPU.")
        return "\n".join(lines)
