"""What differs between two folders of recordings: `python tests/golden/differences.py BEFORE AFTER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

VOLATILE = ("versions",)  # of a card: what was installed


def differences(before: Path, after: Path) -> list[str]:
    """Return a line for each file that is on one side only, or has other content."""
    files = sorted({p.relative_to(side) for side in (before, after) for p in side.rglob("*") if p.is_file()})
    if not files:
        return ["nothing was recorded"]
    return [f"{file}: {why}" for file in files if (why := _difference(before / file, after / file))]


def _difference(before: Path, after: Path) -> str:
    if not before.exists() or not after.exists():
        return "only after" if after.exists() else "only before"
    if before.read_bytes() == after.read_bytes():
        return ""
    if before.suffix != ".json":
        return "other bytes"
    return _where(*(_stable(json.loads(p.read_text(encoding="utf-8"))) for p in (before, after)))


def _stable(document: Any) -> Any:
    return {k: v for k, v in document.items() if k not in VOLATILE} if isinstance(document, dict) else document


def _where(old: Any, new: Any, path: str = "") -> str:
    """Return the first place where two documents differ, and how."""
    if old == new:
        return ""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return next(found for key in old if (found := _where(old[key], new[key], f"{path}/{key}")))
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return next(found for i, (a, b) in enumerate(zip(old, new)) if (found := _where(a, b, f"{path}/{i}")))
    return f"at {path or '/'} {str(old)[:100]!r} became {str(new)[:100]!r}"


if __name__ == "__main__":
    found = differences(Path(sys.argv[1]), Path(sys.argv[2]))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
