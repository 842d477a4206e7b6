"""Linear functions above leads of classes, in integers. Standard library only.

The lead of class c over a rival has the sign of Σ_e δ_e·exp(l_e − l_r), for any expert r, and over a body l_e − l_r is
between numbers a and b. With δ_e the largest of the leaves that the body reaches: if it is positive, the term is below
its secant from a to b, else below its tangent at a + min((b − a)/2, 1). Both hold whatever the slope is rounded to, if
the rest is rounded up. What float64 arithmetic may do to the deployed model is added to the constant, so what is proved
holds in exact arithmetic and as deployed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.exp_bounds import BITS, LARGEST, exponential
from moet.verify.checker.rows.body import Body, Space
from moet.verify.checker.rows.costs import Costs
from moet.verify.checker.soft.voters import VOTE_BITS, Ahead, Live, Voters

_ONE = 1 << BITS


class Line(NamedTuple):
    """direction·z + constant; direction in units of 2^-VOTE_BITS over the gate's scale, constant of 2^-SUM_BITS."""

    direction: list[int]
    constant: int


SUM_BITS = VOTE_BITS + BITS


class Cheap(NamedTuple):
    """That rows cost less than is claimed; and multipliers of that for the least and the largest of every difference.

    ``charged`` are the columns that are charged for a change.
    """

    costs: Costs
    charged: frozenset[int]
    factors: list[Fraction]

    def most(self, direction: list[int], factor: Fraction, scale: int, space: Space, body: Body) -> int:
        """Largest value of a linear function of rows that cost less, times the unit; multiplied with a scale, it is."""
        charge = factor.numerator * scale // factor.denominator
        return self.costs.most(direction, charge, space, body, self.charged).__ceil__()


def line_above(
    voters: Voters, live: Live, term: tuple[int, int, int], space: Space, body: Body, cheap: Cheap | None = None
) -> Line:
    """A linear function that is above the lead of a class over a rival, on a body; the third is the expert compared."""
    answer, rival, reference = term
    voters.spend(1 if cheap is None else 4)
    direction, constant, largest = [0] * len(space.is_whole), 0, 0
    allowed = [[k for k in members if body.high[k]] for members in space.groups]
    for e, leaves in enumerate(live):
        if not leaves:
            raise CertificateError("a body has no rows, which its proof does not say")
        lead = max(voters.lead(leaf, answer, rival, e) for leaf in leaves)
        ahead = voters.ahead(e, reference)
        unit = voters.scale * space.unit
        if cheap is None:
            low, high = _ends(ahead, unit, space.unit, allowed, body)
        else:
            low, high = _cheap_ends(e, ahead, unit, len(live), space, body, cheap)
        if high > LARGEST:
            raise CertificateError("in a body logits are too far apart to tell")
        above = exponential(high)[1]
        slope, offset = _term(lead, low, high, above)
        if slope:
            direction = [total + slope * w for total, w in zip(direction, ahead.weights, strict=True)]
        constant += offset - (-(slope * ahead.base << BITS) // voters.scale)
        constant += (voters.doubt(e, reference) * above >> (BITS - VOTE_BITS)) + 1
        largest = max(largest, above)
    lost = (largest * len(live) >> 1070) + 1  # what underflows, of one row
    return Line(direction, constant + ((1 + voters.is_pair) * lost << VOTE_BITS))


def _term(lead: int, low: int, high: int, above: int) -> tuple[int, int]:
    """Slope and offset of a line above lead·exp from low to high; ``above`` is the larger bound at the high end."""
    if lead > 0:
        least, most = exponential(low)
        slope = lead * (above - least) // (high - low) if high > low else lead * above >> BITS
        return slope, max(lead * above - slope * high, lead * most - slope * low)
    touch = low + min((high - low) >> 1, _ONE)
    slope = -(-lead * exponential(touch)[0] >> BITS)
    return slope, slope * (_ONE - touch)


def _ends(ahead: Ahead, unit: int, own_unit: int, allowed: list[list[int]], body: Body) -> tuple[int, int]:
    """Bounds of a difference of logits, in units of 2^-BITS."""
    least = most = ahead.base * own_unit
    lows, highs, _ = body
    for k, w in ahead.numbers:
        if w > 0:
            least += w * lows[k]
            most += w * highs[k]
        else:
            least += w * highs[k]
            most += w * lows[k]
    for members in allowed:
        own = [ahead.weights[k] for k in members]
        least += own_unit * min(own)
        most += own_unit * max(own)
    return (least << BITS) // unit, -((-most << BITS) // unit)


def _cheap_ends(
    e: int, ahead: Ahead, unit: int, n_experts: int, space: Space, body: Body, cheap: Cheap
) -> tuple[int, int]:
    """The same of rows that cost less than is claimed."""
    if not any(ahead.weights):
        least = most = 0
    else:
        scale, opposite = unit // space.unit, [-w for w in ahead.weights]
        least = -cheap.most(opposite, cheap.factors[e], scale, space, body)
        most = cheap.most(ahead.weights, cheap.factors[n_experts + e], scale, space, body)
    base = ahead.base * space.unit
    return ((least + base) << BITS) // unit, -((-(most + base) << BITS) // unit)


def is_below_zero(most: int, lines: list[Line], unit: int) -> bool:
    """Whether functions together stay below zero, if their directions together are at most ``most`` over ``unit``."""
    return -(-(most << BITS) // unit) + sum(line.constant for line in lines) < 0
