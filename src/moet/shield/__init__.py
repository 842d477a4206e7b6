"""A proved set guards any agent: actions that may lead out of what a proved policy can hold are replaced by its own.

The names are loaded on first use, so that importing this package stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moet.lazy import loader

if TYPE_CHECKING:
    from moet.shield.c_header import c
    from moet.shield.controls import ControlShield
    from moet.shield.env import ShieldedEnv
    from moet.shield.goals import GoalShield
    from moet.shield.shield import Shield

__all__ = ["ControlShield", "GoalShield", "Shield", "ShieldedEnv", "c"]

_HOME = {"ControlShield": "controls", "GoalShield": "goals", "Shield": "shield", "ShieldedEnv": "env", "c": "c_header"}

__getattr__ = loader(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
