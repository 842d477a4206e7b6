"""From an agent to a small mixture of trees that plays as well, and the measure of how well."""

from moet.distill.evaluate import Evaluation, evaluate
from moet.distill.policy import Policy
from moet.distill.viper import Distillation, distill
from moet.teachers.teacher import Teacher

__all__ = ["Distillation", "Evaluation", "Policy", "Teacher", "distill", "evaluate"]
