"""understudy: a differentially private stand-in for a table of people.

    import understudy
    release = understudy.publish(frame, "schema.toml", epsilon=1)
    release.sample()

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.version import VERSION as __version__

if TYPE_CHECKING:
    from understudy.privacy.budget import Budget
    from understudy.privacy.ledger import Ledger
    from understudy.publishing import plan, publish
    from understudy.release.release import Release
    from understudy.schema import Attribute, Schema, Taxonomy

_HOME = {
    "Attribute": "understudy.schema",
    "Budget": "understudy.privacy.budget",
    "Ledger": "understudy.privacy.ledger",
    "Release": "understudy.release.release",
    "Schema": "understudy.schema",
    "Taxonomy": "understudy.schema",
    "plan": "understudy.publishing",
    "publish": "understudy.publishing",
}

__all__ = ["Attribute", "Budget", "Ledger", "Release", "Schema", "Taxonomy", "__version__", "plan", "publish"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'understudy' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
