"""A student at work: observations of a task in, action numbers out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.envs.task import Floats, Task
from moet.errors import ModelError, TaskError
from moet.model.file import as_mixture
from moet.model.mixture import Mixture


@dataclass(frozen=True)
class Policy:
    """A model that plays a task.

    Attributes
    ----------
    model : Mixture or classifier
        Answers features with action numbers.
    task : Task
        What it plays.
    provenance : mapping
        Where it comes from; kept in its model file.
    """

    model: Any
    task: Task
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Any, task: Task) -> Policy:
        """Let ``model`` play ``task``.

        Parameters
        ----------
        model : Policy, Mixture, fitted classifier, or path of a model file
            Its classes are action numbers, or names of actions of the task.
        task : Task
        """
        if isinstance(model, Policy):
            return cls(model.model, task, model.provenance)
        try:
            mixture = as_mixture(model)
        except ModelError:
            if not hasattr(model, "predict"):
                raise
            return cls(model, task)
        if mixture.n_features != len(task.feature_names):
            raise TaskError(
                f"the model has {mixture.n_features} features, but {task.name} shows {len(task.feature_names)}: "
                f"{', '.join(task.feature_names)}"
            )
        return cls(_relabelled(mixture, _action_numbers(mixture, task)), task, mixture.provenance)

    @cached_property
    def mixture(self) -> Mixture:
        """The model as an artefact of its own, in the task's names of features and actions."""
        mixture = as_mixture(self.model)
        names = [self.task.action_names[action] for action in mixture.classes.tolist()]
        # an environment without names for its actions numbers them, and so do its models
        labels = names if self.task.has_named_actions else mixture.classes
        return _relabelled(mixture, labels, self.task.feature_names, self.provenance)

    def predict(self, features: ArrayLike) -> NDArray[np.int64]:
        """Action number for each row of features."""
        return np.asarray(self.model.predict(features), dtype=np.int64)

    def act(self, observations: Floats) -> NDArray[np.int64]:
        """Action number for each observation of the task."""
        return self.predict(self.task.view(observations))


def _relabelled(
    mixture: Mixture,
    classes: ArrayLike,
    feature_names: tuple[str, ...] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Mixture:
    return Mixture(
        gate_weights=mixture.gate_weights,
        gate_bias=mixture.gate_bias,
        trees=mixture.trees,
        classes=classes,
        feature_names=feature_names or mixture.feature_names,
        prediction=mixture.prediction,
        provenance=provenance,
    )


def _action_numbers(mixture: Mixture, task: Task) -> list[int]:
    number = {name: action for action, name in enumerate(task.action_names)}
    number |= {action: action for action in range(len(task.action_names))}  # type: ignore[misc]
    unknown = [label for label in mixture.classes.tolist() if label not in number]
    if unknown:
        raise TaskError(
            f"the model answers {unknown[0]!r}, which is no action of {task.name}; "
            f"its actions are {', '.join(task.action_names)}"
        )
    return [number[label] for label in mixture.classes.tolist()]
