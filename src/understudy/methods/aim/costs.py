"""What each part of a run of AIM costs, before a row is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from understudy.methods.aim.named_tables import ALONE_SHARE


@dataclass(frozen=True)
class Costs:
    """How the budget is split before a row is read."""

    count: Fraction
    single: Fraction
    rounds: Fraction  # all of them together
    each: Fraction  # the first ones
    worth: Fraction = Fraction(0)  # for the mean dependence of pairs, which decides whether there are rounds
    prior: Fraction = Fraction(0)  # for the distance from the prior, which decides whether it is used
    surely: bool = False  # there are rounds, whatever is bought
    named: Fraction = Fraction(0)  # for tables that uses name
    offered: Fraction = Fraction(0)  # for rounds that choose among tables that uses speak of

    def without_rounds(self) -> Costs:
        """Return the same with all that rounds would cost for the one-way tables, or a part of it for tables that uses
        speak of."""
        most = (self.offered + self.rounds) * ALONE_SHARE
        more = max(Fraction(0), most - self.offered) if self.offered else Fraction(0)
        single, offered = self.single + self.rounds - more, self.offered + more
        return replace(self, single=single, offered=offered, rounds=Fraction(0), each=Fraction(0))
