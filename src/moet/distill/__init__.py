"""From an agent, or a large classifier, to a small mixture of trees that does as well, and the measure of how well.

What proves is loaded on first use: it needs the engines of :mod:`moet.verify`.
"""

from typing import TYPE_CHECKING

from moet.distill.distilled_classifier import DistilledClassifier
from moet.distill.evaluation import Evaluation, evaluate, play_report
from moet.distill.outcome import Distillation
from moet.distill.policy import Policy
from moet.distill.recorded import imitate
from moet.distill.tuning import tune
from moet.distill.viper import distill
from moet.lazy import loader
from moet.teachers.teacher import Teacher

if TYPE_CHECKING:
    from moet.distill.lqr import SafeLaw, safe_law
    from moet.distill.regulators import ControlLaw, control_law

__all__ = [
    "ControlLaw",
    "Distillation",
    "DistilledClassifier",
    "Evaluation",
    "Policy",
    "SafeLaw",
    "Teacher",
    "control_law",
    "distill",
    "evaluate",
    "imitate",
    "play_report",
    "safe_law",
    "tune",
]

__getattr__ = loader(
    __name__, {"SafeLaw": "lqr", "safe_law": "lqr", "ControlLaw": "regulators", "control_law": "regulators"}
)


def __dir__() -> list[str]:
    return sorted(__all__)
