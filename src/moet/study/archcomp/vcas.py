"""Vertical collision avoidance: an intruder 130 feet below, and an advisory every second, for ten seconds.

The nine published networks advise to climb at 1500 feet a minute (CL1500) in every state that can be met here. The
pilot then accelerates by anything from g/4 to g/3 until that rate is reached, and not at all after it: ``whim`` says
where between the two, anew every second, where other tools take one of three values. To be on the safe side it disturbs
a pilot who holds the rate, too. SCL1500, the stronger advisory, is g/3.
"""

from __future__ import annotations

from fractions import Fraction

from moet.study.archcomp.instance import Demand, Instance
from moet.verify import systems

GRAVITY = Fraction("32.2")
CLIMB = (GRAVITY * 7 / 24, GRAVITY / 24)
STRONG_CLIMB = (GRAVITY / 3, Fraction(0))
"""Middle and half width of the pilot's acceleration, in feet per second squared."""
ENOUGH = 25.0
"""Feet per second: 1500 feet a minute."""


def _vcas(rate: str, advisory: str, spread: Fraction, holds: bool = True) -> Instance:
    name = f"vcas_{rate.strip('-').replace('.', '_')}_{advisory}"
    safe = "height <= -100"
    return Instance(
        name,
        f"VCAS, first rate {rate} ft/s, {advisory.upper()}, all accelerations",
        {
            "states": ["height", "rate", "whim"],
            "controls": {"climb": (-GRAVITY / 3, GRAVITY / 3)},
            "matrix": [[1, -1, -spread / 2], [0, 1, spread], [0, 0, 0]],
            "input_matrix": [[Fraction(-1, 2)], [1], [0]],
            "initial": {"height": (-133, -129), "rate": rate, "whim": (-1, 1)},
            "disturbance": {"whim": (-1, 1)},
            "safe": [safe],
        },
        steps=10,
        demands=[Demand((safe,))],
        origin="what the networks advise" if advisory == "cl1500" else "another advisory",
        kind=systems.AffineSystem,
        holds=holds,
        cora=1.02,
    )


VCAS = (
    _vcas("-19.5", "cl1500", CLIMB[1]),
    _vcas("-22.5", "cl1500", CLIMB[1], holds=False),
    _vcas("-22.5", "scl1500", STRONG_CLIMB[1]),
    _vcas("-25.5", "scl1500", STRONG_CLIMB[1], holds=False),
    _vcas("-28.5", "scl1500", STRONG_CLIMB[1], holds=False),
)
