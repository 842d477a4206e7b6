"""A proved set guards any agent: actions that may lead out of what a proved policy can hold are replaced by its own.

The names are loaded on first use, so that importing this package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moet.shield.controls import ControlShield
    from moet.shield.env import ShieldedEnv
    from moet.shield.shield import Shield

__all__ = ["ControlShield", "Shield", "ShieldedEnv"]

_HOME = {"ControlShield": "controls", "Shield": "shield", "ShieldedEnv": "env"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
