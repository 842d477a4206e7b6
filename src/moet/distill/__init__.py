"""From an agent, or a large classifier, to a small mixture of trees that does as well, and the measure of how well."""

from moet.distill.distilled_classifier import DistilledClassifier
from moet.distill.evaluation import Evaluation, evaluate, play_report
from moet.distill.outcome import Distillation
from moet.distill.policy import Policy
from moet.distill.recorded import imitate
from moet.distill.tuning import tune
from moet.distill.viper import distill
from moet.teachers.teacher import Teacher

__all__ = [
    "Distillation",
    "DistilledClassifier",
    "Evaluation",
    "Policy",
    "Teacher",
    "distill",
    "evaluate",
    "imitate",
    "play_report",
    "tune",
]
