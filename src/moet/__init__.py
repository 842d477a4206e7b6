"""MoET: mixtures of expert trees that people can read, solvers can prove and microcontrollers can run.

The public names are loaded on first use, so that ``import moet`` and ``moet --help`` stay fast.
"""

from __future__ import annotations

from moet.lazy import loader

TYPE_CHECKING = False
"""As in ``typing``, whose import takes longer than all else here: an interrupt in it would end in a traceback."""

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
    "Box": "verify.box",
    "Column": "model.schema",
    "MoETClassifier": "model.classifier",
    "Mixture": "model.mixture",
    "MoETRegressor": "model.regression.regressor",
    "RegressionMixture": "model.regression.mixture",
    "RegressionTree": "model.regression.tree",
    "Schema": "model.schema",
    "Tree": "model.tree",
    "load": "model.file",
    "save": "model.file",
    "simplify": "model.digits",
}

_PARTS = ("distill", "envs", "explain", "export", "shield", "study", "teachers", "verify")

__getattr__ = loader(__name__, _HOME, _PARTS)


def __dir__() -> list[str]:
    return sorted(__all__)
