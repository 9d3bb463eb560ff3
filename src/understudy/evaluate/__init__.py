"""Evaluation: how good a stand-in is, and against what. `understudy.evaluate(original, synthetic, schema)` is the verb.

The package has the verb's name, so it is callable: importing `understudy.evaluate.distances` must not hide the verb.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.evaluate.evaluation import Evaluation


class _Verb(ModuleType):
    def __call__(self, original: Any, synthetic: Any, schema: Any, **options: Any) -> Evaluation:
        """Compare a synthetic table with its original; see `understudy.evaluate.evaluation.evaluate`."""
        from understudy.evaluate.evaluation import evaluate

        return evaluate(original, synthetic, schema, **options)


sys.modules[__name__].__class__ = _Verb
