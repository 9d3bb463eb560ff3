"""Parts that views share: the top, a plain table, what to call next."""

from __future__ import annotations

from understudy.report.markup import Child, Markup, coded, join, tag


def heading(kind: str, title: str, *words: Child) -> Markup:
    """Return the top of a view: what it is of, its name, a sentence."""
    return join([
        tag("p", f"understudy · {kind}", class_="eyebrow"), tag("h1", title), *(tag("p", coded(w)) for w in words if w),
    ])  # fmt: skip


def plain_table(heads: list[str], lines: list[list[Child]], figures: int) -> Markup:
    """Return a table whose last `figures` columns are numbers."""
    from_right = len(heads) - figures
    top = [tag("th", h, scope="col", class_="figure" if i >= from_right else None) for i, h in enumerate(heads)]
    body = [
        tag("tr", *(tag("td", cell, class_="figure" if i >= from_right else None) for i, cell in enumerate(line)))
        for line in lines
    ]
    table = tag("table", tag("thead", tag("tr", *top)), tag("tbody", *body), class_="plain")
    return tag("div", table, class_="panel scroll")


def figures_row(name: Child, *figures: Child) -> Markup:
    """Return a line of a table: a name, and its figures."""
    return tag("tr", tag("th", name, scope="row"), *(tag("td", figure, class_="figure") for figure in figures))


def next_calls(*calls: str) -> Markup:
    """Return a line of what to call next."""
    return tag("p", "Next: ", *(part for call in calls for part in (tag("code", call), " ")), class_="next")
