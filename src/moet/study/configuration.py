"""One point of a sweep: from the numbers that name it to a student."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from moet.model.mixture import Prediction
from moet.study.outcome import Family
from moet.study.presets import BOOSTING, Plan

if TYPE_CHECKING:
    import optuna

SEED_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Configuration:
    """What is distilled.

    Attributes
    ----------
    experts, depth : int
        Size; one expert is a plain tree.
    prediction : {"hard", "soft"}
        Of a mixture. A tree is the same either way, and counts as hard.
    gate : str
        Name of the training among those of the plan; a tree has no gate, and the first one's name.
    seed : int
        Of everything random.
    """

    experts: int
    depth: int
    prediction: Prediction
    gate: str
    seed: int

    @property
    def family(self) -> Family:
        """What the paper calls such a student."""
        if self.experts == 1:
            return "VIPER"
        return "MoËT" if self.prediction == "soft" else "MoËT_h"

    @property
    def parameters(self) -> dict[str, Any]:
        """As parameters of a trial."""
        return asdict(self)

    def student(self, plan: Plan) -> Any:
        """A classifier that has not learned anything yet; it takes its seed from the distillation."""
        if self.experts == 1:
            from sklearn.tree import DecisionTreeClassifier

            return DecisionTreeClassifier(max_depth=self.depth)
        from moet import MoETClassifier

        return MoETClassifier(self.experts, self.depth, prediction=self.prediction, **plan.trainings[self.gate])


def grid(plan: Plan) -> list[Configuration]:
    """All configurations of a plan: one seed after the other, and the large ones, which take longest, first.

    So a sweep that is stopped early has seen the whole grid, and workers end at about the same time.
    """
    first_gate = next(iter(plan.gates))
    trees = [Configuration(1, depth, "hard", first_gate, seed=0) for depth in plan.tree_depths]
    mixtures = [
        Configuration(experts, depth, prediction, gate, seed=0)
        for experts, depth in plan.mixtures
        for prediction in get_args(Prediction)
        for gate in plan.gates
    ]
    boosted = [Configuration(experts, depth, "soft", BOOSTING, seed=0) for experts, depth in plan.boosted]
    by_size = sorted(mixtures + boosted + trees, key=lambda shape: (-shape.experts, -shape.depth))
    return [replace(shape, seed=seed) for seed in range(plan.seeds) for shape in by_size]


def suggested(trial: optuna.Trial, plan: Plan) -> Configuration:
    """The configuration that a sampler, or the queue, chose for a trial; anything within the limits of the plan."""
    sizes = [*((1, depth) for depth in plan.tree_depths), *plan.mixtures, *plan.boosted]
    depths = [depth for _, depth in sizes]
    experts = trial.suggest_int("experts", 1, max(experts for experts, _ in sizes))
    depth = trial.suggest_int("depth", min(depths), max(depths))
    prediction = trial.suggest_categorical("prediction", get_args(Prediction))
    gate = trial.suggest_categorical("gate", list(plan.trainings))
    return Configuration(
        experts=experts,
        depth=max(depth, 1) if experts == 1 else depth,  # a tree without a test is no policy
        prediction="soft" if gate == BOOSTING and experts > 1 else prediction,
        gate=gate,
        seed=trial.suggest_int("seed", 0, SEED_LIMIT),
    )
