"""Written forms: other texts of a declared value that programs write for it, whatever else is in the column.

A column of whole numbers with one empty cell is written `1.0` by programs that hold it as floats, and truth values are
written `True`, `TRUE` or `true`. The rule is for each cell: it looks at the declared texts and at no other cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_TRUTH = ("true", "false")


def written_forms(declared: Iterable[str]) -> dict[str, str]:
    """Return the other forms of declared texts, where these are not declared themselves, each with its text.

    >>> written_forms(["1", "true"])["1.0"]
    '1'
    """
    known = frozenset(declared)
    forms = {f"{text}.0": text for text in sorted(known) if _WHOLE.fullmatch(text)}
    for word in _TRUTH:
        meant = [text for text in sorted(known) if text.casefold() == word]
        if len(meant) == 1:
            forms |= dict.fromkeys((word, word.title(), word.upper()), meant[0])
    return {form: text for form, text in forms.items() if form not in known}
