"""For processes that tests start: the noise of what they publish is drawn from a seed, which their command line gives.

Python imports this by itself where the folder is on PYTHONPATH (`conftest.seeded_environment`). Keys, sessions and
masks stay the operating system's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any
from zlib import crc32

DRAWS = ("laplace", "gaussian", "permute_and_flip", "exponential", "below", "generator")


@cache
def source() -> Any:
    """Return the source of this process; a free port in its command line, another one tomorrow, is no part of the seed."""
    from understudy.testing import SeededSource

    return SeededSource(crc32(re.sub(r":\d+", "", " ".join(sys.argv[1:])).encode()))


def seeded(name: str) -> Callable[..., Any]:
    return lambda self, *asked: getattr(source(), name)(*asked)


class RandomSourceFinder(MetaPathFinder):
    """Lets the package's one random source draw from the seed, as soon as it is imported."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "understudy.privacy.random_source":
            return None
        spec = PathFinder.find_spec(name, path)
        assert spec is not None and spec.loader is not None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            for draw in DRAWS:
                setattr(module.SystemSource, draw, seeded(draw))

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, RandomSourceFinder())
