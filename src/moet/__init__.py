"""MoET: mixtures of expert trees that people can read, solvers can prove and microcontrollers can run.

The public names are loaded on first use, so that ``import moet`` and ``moet --help`` stay fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moet import distill, envs, explain, export, shield, study, teachers, verify
    from moet.model.classifier import MoETClassifier
    from moet.model.digits import simplify
    from moet.model.file import load, save
    from moet.model.mixture import Mixture
    from moet.model.regression.mixture import RegressionMixture
    from moet.model.regression.regressor import MoETRegressor
    from moet.model.regression.tree import RegressionTree
    from moet.model.schema import Column, Schema
    from moet.model.tree import Tree
    from moet.verify.box import Box

__version__ = "0.2.0"

__all__ = [
    "Box",
    "Column",
    "Mixture",
    "MoETClassifier",
    "MoETRegressor",
    "RegressionMixture",
    "RegressionTree",
    "Schema",
    "Tree",
    "__version__",
    "distill",
    "envs",
    "explain",
    "export",
    "load",
    "save",
    "shield",
    "simplify",
    "study",
    "teachers",
    "verify",
]

_HOME = {
    "Box": "moet.verify.box",
    "Column": "moet.model.schema",
    "MoETClassifier": "moet.model.classifier",
    "Mixture": "moet.model.mixture",
    "MoETRegressor": "moet.model.regression.regressor",
    "RegressionMixture": "moet.model.regression.mixture",
    "RegressionTree": "moet.model.regression.tree",
    "Schema": "moet.model.schema",
    "Tree": "moet.model.tree",
    "load": "moet.model.file",
    "save": "moet.model.file",
    "simplify": "moet.model.digits",
}

_PARTS = ("distill", "envs", "explain", "export", "shield", "study", "teachers", "verify")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
