"""What the search for a network decides before a row is read: variables, size rule, score and split of the budget.

The constants were fitted on generated networks; docs/decisions/0004-public-rules.md says how, and where not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import islice
from typing import Literal

from understudy.errors import TooLarge, UsageError
from understudy.methods.toolkit.budget_split import pair_cells
from understudy.methods.toolkit.parent_candidates import any_parents
from understudy.methods.toolkit.row_count import count_cost
from understudy.methods.toolkit.usefulness import cell_noise, useful_cells, useful_degree
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import exact
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.privacy.scores import INDEPENDENCE, MAXIMUM_JOINT, Pair, PairwiseScore, Score
from understudy.schema import Axes, Axis, Schema

MAX_OPTIONS = 300_000  # candidates scored in all rounds together, unless a degree is asked for
LISTED = 20_000_000  # candidates in all rounds that may be listed at all, if a degree is asked for: ten minutes
LINKED = 200_000_000  # candidates of a tree that is chosen without listing them: a thousand attributes, a quarter hour
LINK_CELLS = 200_000_000  # of all pairwise tables together
CAPPED = 40  # attributes beyond which maximal sets too have a largest degree
F_BELOW = 250.0  # score F is the better one while n·ε1/(d−1) is below this

Rule = Literal["fixed degree", "maximal sets", "fined sets"]


@dataclass(frozen=True)
class Constants:
    """Shares and thresholds where the user names none."""

    theta: float
    beta: float  # of the budget, for the structure
    single: float  # of the rest, for one-way tables
    pairs: float  # of what is left then, for two-way tables inside the larger ones
    kappa: float


PAPER = Constants(theta=4.0, beta=0.3, single=0.0, pairs=0.0, kappa=0.0)
# one more table costs little in rho and much in pure epsilon: the small tables are for zCDP
ML_BINARY: dict[type[Noise], Constants] = {
    Laplace: Constants(theta=4.0, beta=0.15, single=0.1, pairs=0.0, kappa=0.0),
    Gaussian: Constants(theta=4.0, beta=0.15, single=0.1, pairs=0.35, kappa=0.0),
}
ML_GENERAL: dict[type[Noise], Constants] = {
    Laplace: Constants(theta=1.0, beta=0.15, single=0.1, pairs=0.0, kappa=0.3),
    Gaussian: Constants(theta=1.0, beta=0.2, single=0.2, pairs=0.0, kappa=0.3),
}


@dataclass(frozen=True)
class Settings:
    """The options as given; None is for this module to decide."""

    score: Score | None  # None: as public facts advise
    encoding: str
    theta: float | None
    beta: float | None
    single: float | None
    pairs: float | None
    kappa: float | None
    degree: int | None
    ml: bool


DEFAULT_SETTINGS = Settings(None, "auto", None, None, None, None, None, None, True)


@dataclass(frozen=True)
class Decision:
    """All that follows from public facts."""

    variables: Axes
    encoding: str
    rule: Rule
    constants: Constants
    degree: int | None  # of a fixed-degree network, or a cap on the number of parents
    cells: int  # the most cells a table may have
    noise: float  # expected absolute noise in a cell
    score: Score
    count_cost: Fraction
    single_cost: Fraction
    structure_cost: Fraction
    table_cost: Fraction
    links: bool = False  # a tree whose candidates are not listed

    @property
    def options(self) -> int:
        """Return how many candidates all rounds score together, where sets are not cut short by their cells."""
        d = len(self.variables)
        if self.independent or self.degree is None:
            return 0 if self.independent else math.comb(d + 1, min(d, 4))
        last = math.comb(d + 1, self.degree + 2)
        return last if self.rule == "fixed degree" else sum(math.comb(d + 1, k + 2) for k in range(self.degree + 1))

    @property
    def tables(self) -> int:
        """Return how many tables are measured after the structure, at most."""
        d = len(self.variables)
        return d - (self.degree or 0) if self.rule == "fixed degree" else d

    @property
    def independent(self) -> bool:
        return not self.structure_cost


def decide(settings: Settings, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> Decision:
    """Split the total cost `whole`; the row count is declared or bought."""
    encoding = _encoding(settings, schema)
    variables = _variables(schema, encoding)
    binary = all(schema.size(axis) <= 2 for axis in variables)
    constants = _constants(settings, binary, accounting)
    count = count_cost(schema, whole)
    structure = (whole - count) * exact(constants.beta)
    single = (whole - count - structure) * exact(constants.single)
    tables = whole - count - structure - single
    rule: Rule = "fined sets" if constants.kappa else "fixed degree" if binary else "maximal sets"
    decision = Decision(
        variables, encoding, rule, constants, settings.degree, 0, 0.0, INDEPENDENCE, count, single, structure, tables
    )
    decision = _sized(decision, settings, schema, accounting, rows)
    decision = replace(decision, score=_score(settings, decision, schema, accounting, rows))
    return replace(decision, links=_by_links(decision, schema))


def _encoding(settings: Settings, schema: Schema) -> str:
    if settings.encoding != "auto":
        return settings.encoding
    return "vanilla" if schema.binary or wide(len(schema.modelled)) else "hierarchical"


def wide(attributes: int) -> bool:
    """Return whether even a tree has too many candidates to list them."""
    return math.comb(attributes + 1, 3) > MAX_OPTIONS


def _by_links(decision: Decision, schema: Schema) -> bool:
    sizes = schema.sizes(decision.variables)
    plain = decision.encoding == "vanilla" and isinstance(decision.score, PairwiseScore)
    return (
        plain
        and pair_cells(sizes) <= LINK_CELLS
        and decision.degree == 1
        and wide(len(sizes))
        and not decision.independent
    )


def bounded(decision: Decision, schema: Schema) -> Decision:
    """Refuse what is too large before anything is listed or counted."""
    limit = LINKED if decision.links else LISTED
    if decision.options > limit:
        raise TooLarge(
            f"table {schema.name!r}: PrivBayes would score {decision.options:,} candidates of its "
            f"{len(decision.variables):,} attributes, the limit is {limit:,}. Use --method privabn, which grows a "
            "network step by step, lower the degree (--set degree=0 publishes columns independently), or leave "
            'attributes out with kind = "drop".'
        )
    return decision


def _variables(schema: Schema, encoding: str) -> Axes:
    """Return the attributes themselves, or their bits."""
    if encoding in ("vanilla", "hierarchical"):
        return tuple(Axis(a.name) for a in schema.modelled)
    gray = encoding == "gray"
    return tuple(Axis(a.name, bit=i, gray=gray) for a in schema.modelled for i in range(a.bits))


def _constants(settings: Settings, binary: bool, accounting: Accounting) -> Constants:
    """Return the constants, the user's first.

    A θ without a κ means the paper's maximal sets, as do generalised parents.
    """
    base = PAPER if not settings.ml else (ML_BINARY if binary else ML_GENERAL)[accounting.noise]
    if settings.kappa is None and base.kappa and settings.theta is not None:
        base = replace(base, kappa=0.0, theta=PAPER.theta)
    given = {f.name: getattr(settings, f.name) for f in fields(Constants)}
    return replace(base, **{name: value for name, value in given.items() if value is not None})


def _sized(decision: Decision, settings: Settings, schema: Schema, accounting: Accounting, rows: int) -> Decision:
    """Apply θ-usefulness (Lemma 4.8, Section 5.2) and the cap on the number of candidates."""
    d = len(decision.variables)
    theta, cost = decision.constants.theta, decision.table_cost
    if decision.rule == "fixed degree":
        free = min(useful_degree(schema, d, rows, accounting, cost, theta), affordable_degree(d, exactly=True))
        degree = min(d - 1, free if settings.degree is None else settings.degree)
        decision = replace(decision, degree=degree, cells=2 ** (degree + 1))
        alone = degree == 0
    else:
        cells = useful_cells(rows, cell_noise(schema, accounting, cost, d), theta)
        degree_cap = settings.degree
        if degree_cap is None and (decision.rule == "fined sets" or d > CAPPED or wide(d)):
            degree_cap = affordable_degree(d, exactly=False)
        decision = replace(decision, cells=cells, degree=degree_cap)
        alone = degree_cap == 0 or not any_parents(schema, decision.variables, cells, decision.encoding)
    if alone or d == 1:  # nothing to choose: the whole budget goes to the tables (beta resets to 0)
        rest = decision.single_cost + decision.structure_cost + decision.table_cost
        zero = Fraction(0)
        decision = replace(decision, degree=0, single_cost=zero, structure_cost=zero, table_cost=rest)
    return replace(decision, noise=cell_noise(schema, accounting, decision.table_cost, decision.tables))


def affordable_degree(variables: int, exactly: bool) -> int:
    """Return the largest degree whose candidates of all rounds are below MAX_OPTIONS: Σ(d−i)·C(i,k) = C(d+1, k+2)."""
    total = 0
    for k in range(1, variables):
        total = math.comb(variables + 1, k + 2) + (0 if exactly else total)
        if total > MAX_OPTIONS:
            return max(1, k - 1)
    return max(1, variables - 1)


def _widest(decision: Decision, schema: Schema) -> Iterator[Pair]:
    """Yield each variable with the most parents that it may be offered, where all variables are binary."""
    most = decision.cells.bit_length() - 2  # 2^(parents + 1) cells
    if decision.degree is not None:
        most = min(most, decision.degree)
    for axis in decision.variables:
        others = (other for other in decision.variables if other != axis and schema.size(other) == 2)
        yield Pair(axis, tuple(islice(others, max(0, most))))


def _score(settings: Settings, decision: Decision, schema: Schema, accounting: Accounting, rows: int) -> Score:
    if settings.score is not None:
        for pair in _widest(decision, schema):
            if (reason := settings.score.refusal(pair, schema)) is not None:
                raise UsageError(reason)
        return settings.score
    if decision.rule != "fixed degree" or decision.independent:
        return INDEPENDENCE
    if any(MAXIMUM_JOINT.refusal(pair, schema) for pair in _widest(decision, schema)):
        return INDEPENDENCE
    epsilon = accounting.selection_epsilon(float(decision.structure_cost) / (len(decision.variables) - 1))
    return MAXIMUM_JOINT if rows * epsilon < F_BELOW else INDEPENDENCE
