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
    from understudy.audit.auditing import audit
    from understudy.evaluate.evaluation import evaluate
    from understudy.planning import plan
    from understudy.privacy.budget import Budget
    from understudy.privacy.ledger import Ledger
    from understudy.publishing import publish
    from understudy.release.release import Release
    from understudy.schema import Attribute, Schema, Taxonomy
    from understudy.source_marginals import NoisyMarginal, from_marginals
    from understudy.synthesizer import Synthesizer

_HOME = {
    "Attribute": "understudy.schema",
    "Budget": "understudy.privacy.budget",
    "Ledger": "understudy.privacy.ledger",
    "NoisyMarginal": "understudy.source_marginals",
    "Release": "understudy.release.release",
    "Schema": "understudy.schema",
    "Synthesizer": "understudy.synthesizer",
    "Taxonomy": "understudy.schema",
    "audit": "understudy.audit",
    "evaluate": "understudy.evaluate",
    "from_marginals": "understudy.source_marginals",
    "plan": "understudy.planning",
    "publish": "understudy.publishing",
}

__all__ = [
    "Attribute", "Budget", "Ledger", "NoisyMarginal", "Release", "Schema", "Synthesizer", "Taxonomy", "__version__",
    "audit", "evaluate", "from_marginals", "plan", "publish",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'understudy' has no attribute {name!r}")
    from importlib import import_module

    home = import_module(_HOME[name])
    return (
        home if home.__name__ == f"understudy.{name}" else getattr(home, name)
    )  # `audit` and `evaluate` are callable packages


def __dir__() -> list[str]:
    return __all__
