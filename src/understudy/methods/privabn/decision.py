"""What PrivABN decides before it reads a row: which search, which degree, and what a larger parent set must earn.

The budget's split and the noise of a cell are those of any network (`methods.toolkit.network_decision`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.errors import TooLarge
from understudy.methods.method import option
from understudy.methods.toolkit import network_decision
from understudy.methods.toolkit.budget_split import pair_cells
from understudy.methods.toolkit.network_decision import Settings
from understudy.methods.toolkit.network_method import MODEL_CELLS
from understudy.methods.toolkit.usefulness import choice_noise, pair_sensitivity
from understudy.privacy.accounting import GDP, Accounting, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.scores import INDEPENDENCE, Penalty
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Axis, Schema

LINKS = 200_000_000  # cells of all pairwise tables: ten thousand binary attributes, about two gigabytes
FULL = 100_000  # candidates in all rounds together, up to which every parent set is offered
BLURRED = 0.1  # of R, which is ½ for two equal fair coins: a choice with a larger error is not worth much
HOPELESS = 0.5  # and with this one nothing is found: columns are published independently
SHARP = 0.05  # second parents are bought while a choice stays this sharp


@dataclass(frozen=True)
class ABNOptions:
    """The options of PrivABN, as given."""

    search: str = option("auto", choices=("auto", "full", "growth", "released"))
    estimate: str = option("ml", choices=("ml", "paper"))
    theta: float = option(1.0, low=0.01, high=1e6)
    kappa: float = option(0.25, low=0.0, high=10.0)
    beta: float | None = option(None, low=0.01, high=0.99)
    single: float | None = option(None, low=0.0, high=0.9)
    degree: int | None = option(None, whole=True, low=0, high=64)
    cells: int = option(MODEL_CELLS, whole=True, low=1, high=10**8)
    links: int = option(LINKS, whole=True, low=1, high=10**12)

    def ml(self, schema: Schema) -> bool:
        """Return whether the model is of maximum likelihood: as asked for, where the attributes alone are not too
        large."""
        return self.estimate == "ml" and sum(a.size for a in schema.modelled) <= self.cells

    @property
    def penalty(self) -> float:
        """Return `kappa`, or next to nothing where it is 0: sets of all sizes are offered with a penalty."""
        return max(self.kappa, 1e-9)


@dataclass(frozen=True)
class ABNDecision:
    """All that follows from public facts."""

    search: str  # full, growth, released or none
    base: network_decision.Decision
    degree: int
    calls: int  # private choices, at most
    error: float  # of a choice, in units of R
    penalty_per_cell: Penalty  # for each cell of a pair's table, on the score's scale


def full_degree(attributes: int) -> int:
    """Return the largest degree at which all candidates of all rounds are at most FULL, Σ_j≤k C(d+1, j+2).

    0 if none is.
    """
    total = 0
    for k in range(attributes):
        total += math.comb(attributes + 1, k + 2)
        if total > FULL:
            return max(0, k - 1)
    return max(0, attributes - 1)


def search_of(options: ABNOptions, attributes: int, accounting: Accounting) -> str:
    """Return how parents are searched for: every set while there are few (up to degree 2), or as asked for.

    In pure epsilon the second call that growth makes for each attribute doubles the noise, so degree 1 will do.
    """
    if options.search != "auto":
        return options.search
    usual = accounting.power
    wanted = min(attributes - 1, usual if options.degree is None else options.degree)
    return "full" if full_degree(attributes) >= wanted else "growth"


def settings(options: ABNOptions, schema: Schema, search: str, degree: int, accounting: Accounting) -> Settings:
    """Return a network's settings for a search of this degree with a penalty for noise."""
    full = search == "full"
    tree = not full or degree <= 1  # cheap tables: more of the budget is for finding them
    beta = 0.3 if options.beta is None and tree else options.beta
    single = options.single
    if single is None and accounting.power == 1:
        single = 0.0  # merged tables have them inside, and each table of its own costs in full
    elif single is None and not full:
        single = 0.15
    encoding = "auto" if full else "vanilla"
    if not options.ml(schema):
        beta = 0.3 if beta is None else beta
        return Settings(INDEPENDENCE, encoding, options.theta, beta, 0.0, 0.0, options.penalty, degree, False)
    pairs = None if full else 0.0
    return Settings(INDEPENDENCE, encoding, options.theta, beta, single, pairs, options.penalty, degree, True)


def decide(options: ABNOptions, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> ABNDecision:
    """Split the total cost `whole`; the row count is declared or bought."""
    variables = [Axis(a.name) for a in schema.modelled]
    search = search_of(options, len(variables), accounting)
    check_size(options, schema, variables, search)
    degrees = [options.degree] if options.degree is not None else [2, 1]
    if search == "full":
        degrees = [full_degree(len(variables)) if options.degree is None else options.degree]
    for degree in degrees:
        found = _decide(options, search, schema, accounting, whole, rows, min(degree, len(variables) - 1))
        if search != "growth" or found.error <= SHARP:
            break
    return found


def _decide(
    options: ABNOptions, search: str, schema: Schema, accounting: Accounting, whole: Fraction, rows: int, degree: int
) -> ABNDecision:
    chosen = settings(options, schema, search, degree, accounting)
    base = network_decision.decide(chosen, schema, accounting, whole, rows)
    d = len(base.variables)
    if base.independent:
        return ABNDecision("none", base, 0, 0, 0.0, Penalty(0, INDEPENDENCE))
    calls = {"full": d - 1, "growth": (d - 1) * (degree + 1), "released": 1}[search]
    if search == "released":
        error = released_error(schema, accounting, base.structure_cost, rows, d)
    else:
        offered = d if search == "growth" else math.comb(d, min(d // 2, degree)) * d
        error = choice_error(schema, accounting, base.structure_cost / calls, rows, offered)
    penalty_per_cell = INDEPENDENCE.penalty(options.penalty * 0.5 * base.noise, schema)
    if error > HOPELESS and (search != "full" or degree <= 1):
        chosen = settings(options, schema, search, 0, accounting)
        alone = network_decision.decide(chosen, schema, accounting, whole, rows)
        return ABNDecision("none", alone, 0, 0, error, Penalty(0, INDEPENDENCE))
    return ABNDecision(search, base, degree, calls, error, penalty_per_cell)


def choice_error(schema: Schema, accounting: Accounting, cost: Fraction, rows: int, options: int) -> float:
    """Return how far below the best a choice typically falls, in units of R: the scale times ln(options)."""
    return choice_noise(schema, accounting, cost, rows) * math.log(max(2, options))


def released_error(schema: Schema, accounting: Accounting, cost: Fraction, rows: int, attributes: int) -> float:
    """Return how far the largest of the noises in all pairwise scores goes, in units of R."""
    w, step = math.comb(attributes, 2), pair_sensitivity(schema)
    noise = accounting.noise_for(Sensitivity(w * step, w * step**2), cost)
    return noise.largest_of(max(2, w)) / (INDEPENDENCE.unit(schema) * rows)


def blurred_note(
    decision: ABNDecision, options: ABNOptions, schema: Schema, epsilon: Fraction, rows: int
) -> str | None:
    """Return the note that a pure promise finds little or no structure, and what a delta would change."""
    if decision.error <= BLURRED:
        return None
    other = decide(options, schema, GDP, total_cost(Budget(epsilon, "1e-9")), rows)
    finds = "cannot find structure" if decision.search == "none" else "finds only the strongest structure"
    return (
        f"pure epsilon {finds} here: a choice would be off by about {decision.error:.2f} in the "
        f"dependence R, which is 0.5 for two equal fair coins; with --delta 1e-9 by about {other.error:.3f}"
    )


def check_size(options: ABNOptions, schema: Schema, variables: Sequence[Axis], search: str) -> None:
    """Refuse a size that is too large before anything is allocated."""
    sizes = schema.sizes(tuple(variables))
    largest = max(schema.modelled, key=lambda a: a.size)
    if largest.size > options.cells:
        raise TooLarge(
            f"table {schema.name!r}: {largest.name} alone has {largest.size:,} cells, the limit is {options.cells:,}. "
            "Give it a coarser list of values (a level of a taxonomy, fewer bins), leave it out with "
            f'kind = "drop", or raise the limit (--set cells={largest.size}).',
            attribute=largest.name,
        )
    together = pair_cells(sizes)
    if search != "full" and options.degree != 0 and together > options.links:
        raise TooLarge(
            f"table {schema.name!r}: the pairwise tables of its {len(sizes):,} attributes have {together:,} cells "
            f"together, the limit is {options.links:,}. Group values by a taxonomy or leave attributes out, lower the "
            f"degree (--set degree=0 publishes columns independently), or raise the limit (--set links={together})."
        )
