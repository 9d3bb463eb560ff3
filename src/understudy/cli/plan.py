"""`understudy plan`: what would be spent and what error to expect. Reads no row."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.options import Delta, EngineName, Json, MethodName, PriorFile, SchemaFile, Settings, settings
from understudy.cli.output import answer, say, say_json

if TYPE_CHECKING:
    from understudy.methods import Plan


def plan(
    schema: SchemaFile,
    epsilon: Annotated[list[str], typer.Option("--epsilon", help="May be repeated, to compare.")] = [],  # noqa: B006
    delta: Delta = "0",
    method: MethodName = "auto",
    rows: Annotated[int | None, typer.Option("--rows", min=1, help="A guess, where the row count is private.")] = None,
    set: Settings = [],  # noqa: B006 - the name of the option; typer copies it
    engine: EngineName = None,
    tvd: Annotated[
        float | None, typer.Option("--tvd", help="The least epsilon for two-way tables this far off: 0.03.")
    ] = None,
    accuracy: Annotated[
        str | None, typer.Option("--accuracy", help='The least epsilon for "share by sex and region ± 2 points".')
    ] = None,
    prior: PriorFile = None,
    json: Json = False,
) -> None:
    """Say what a publication would spend and how good it would be, from public facts alone."""
    from understudy.errors import UsageError
    from understudy.planning import plan as make_plan

    told: dict[str, Any] = {"delta": delta, "method": method, "rows": rows, **settings(set)}
    if tvd is not None or accuracy is not None:
        if epsilon or prior or engine:
            raise UsageError("--tvd and --accuracy look for an epsilon: leave --epsilon, --prior and --engine out")
        return _least(schema, json, tvd=tvd, accuracy=accuracy, **told)
    if not epsilon:
        raise UsageError("a plan needs --epsilon E, or a wish: --tvd 0.03, --accuracy 'share by sex ± 2 points'")
    plans = [make_plan(schema, epsilon=e, prior=prior, **told) for e in epsilon]
    if json:
        say_json({"plans": [p.as_json() for p in plans]})
        return
    say("\n\n".join(p.text() + (f"\n  {_passes(p, engine)}" if engine else "") for p in plans))


def _least(schema: Path, json: bool, **wish: Any) -> None:
    from understudy.methods.forecast import recommended_delta
    from understudy.methods.least_epsilon import MAX_EPSILON
    from understudy.planning import as_schema, least_epsilon

    public = as_schema(schema)
    least, delta = least_epsilon(public, **wish), str(wish["delta"])
    pure = float(delta) == 0
    other = f"{float(recommended_delta(wish['rows'] or public.rows)):.0e}"
    with_delta = least_epsilon(public, **wish | {"delta": other}) if pure else None
    promise = "" if pure else f" with --delta {delta}"
    if least.epsilon is None:
        lines = [f"For {least.wanted}: no epsilon up to {MAX_EPSILON:g} is enough{promise}; that one is expected to "
                 f"get them {least.reached}. More rows, fewer or coarser columns would help."]  # fmt: skip
    else:
        lines = [f"For {least.wanted}: epsilon {least.epsilon:g}{promise} is expected to be enough."]
        lines += ["A typical figure: actual errors are mostly between half and twice what is expected."]
    if with_delta is not None and with_delta.epsilon is not None and with_delta.epsilon < (least.epsilon or math.inf):
        lines += [f"With --delta {other}: epsilon {with_delta.epsilon:g}."]
    if least.epsilon is not None:
        lines += [f"What else comes of it: understudy plan --schema {schema} --epsilon {least.epsilon:g}"
                  f"{'' if pure else f' --delta {delta}'}"]  # fmt: skip
    found: dict[str, Any] = {
        "wanted": least.wanted,
        "epsilon": least.epsilon,
        "expected": least.expected,
        "delta": float(delta),
    }
    if with_delta is not None:
        found |= {"with_delta": {"delta": float(other), "epsilon": with_delta.epsilon}}
    answer(json, found, "\n".join(lines))


def _passes(plan: Plan, engine: str) -> str:
    from understudy.errors import UsageError, did_you_mean
    from understudy.publishing import ENGINES

    if engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!r}. {did_you_mean(engine, list(ENGINES))}")
    if engine in ("memory", "mapped"):
        return f"engine {engine}: one pass over the data"
    usual = plan.usual_scans
    many = f"at most {plan.scans}" if usual is None else f"{usual}, and at most {max(usual, plan.scans)},"
    return f"engine {engine}: {many} passes over the rows, the first of them to code and check"
