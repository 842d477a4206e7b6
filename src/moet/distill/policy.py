"""A student at work: observations of a task in, actions out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.envs.catalog import is_harmless, resolve
from moet.envs.columns import Seen
from moet.envs.spaces import as_rows, one_by_one
from moet.envs.task import FeatureFunction, Floats, Task
from moet.errors import InputError, TaskError
from moet.model.file import Model, as_model, load, model_or_none, save
from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.schema import Column, Schema


@dataclass(frozen=True, repr=False)
class Policy:
    """A model that plays a task.

    Attributes
    ----------
    model : Mixture, RegressionMixture, classifier or regressor
        Answers features with action numbers, or with rows of numbers if these are the task's actions.
    task : Task
        What it plays.
    provenance : mapping
        Where it comes from; kept in its model file.

    Examples
    --------
    >>> from moet import MoETClassifier
    >>> from moet.distill import distill
    >>> from moet.teachers import load
    >>> student = MoETClassifier(n_experts=2, max_depth=0, prediction="hard")
    >>> effort = {"iterations": 1, "rollouts_per_iteration": 2, "selection_episodes": 2}
    >>> policy = distill(load("cartpole"), "cartpole", student, **effort).policy
    >>> policy.act([[0.0, 0.0, 0.1, 0.0]])
    array([1])
    """

    model: Any
    task: Task
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: Any = None) -> Policy:
        """Read a policy from its model file, ready to play.

        Parameters
        ----------
        path : str or path
            A model file that :func:`moet.save` or ``moet distill`` wrote.
        env : str, Task or callable, optional
            What it plays; by default what its file says. An environment that must be imported first, or was given as a
            function, is named here: nothing is imported because a file says so.

        Examples
        --------
        >>> import numpy as np, moet
        >>> trees = [moet.Tree.leaf([1, 0]), moet.Tree.leaf([0, 1])]
        >>> gate = [[0, 0, 0, 0], [0, 0, 4, 1]]
        >>> lean = moet.Mixture(gate, [0, 0], trees, ["left", "right"], provenance={"task": "cartpole"})
        >>> moet.save(lean, "lean.moet.json")
        >>> policy = moet.distill.Policy.load("lean.moet.json")
        >>> policy.env_action([0.0, 0.0, 0.1, 0.0])
        1
        >>> policy.save("again.moet.json")
        >>> moet.load("again.moet.json").classes.tolist()
        ['left', 'right']
        """
        mixture = load(path)
        return cls.of(mixture, task_of_model(mixture, path) if env is None else resolve(env))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a model file, as :func:`moet.save` does."""
        save(self, path)

    @classmethod
    def of(cls, model: Any, task: Task) -> Policy:
        """Let ``model`` play ``task``.

        Parameters
        ----------
        model : Policy, Mixture, RegressionMixture, fitted estimator, or path of a model file
            Its classes are action numbers, or names of actions of the task; its outputs are the numbers of an action.
        task : Task
        """
        if isinstance(model, Policy):
            return cls(model.model, task, model.provenance)
        mixture = model_or_none(model) if hasattr(model, "predict") else as_model(model)
        if mixture is None:
            return cls(model, task)
        if mixture.n_features != len(task.feature_names):
            raise TaskError(
                f"the model has {mixture.n_features} features, but {task.name} shows {len(task.feature_names)}: "
                f"{', '.join(task.feature_names)}"
            )
        _check_kind(mixture, task)
        if isinstance(mixture, RegressionMixture):
            return cls(mixture, task, mixture.provenance)
        return cls(_relabelled(mixture, _action_numbers(mixture, task)), task, mixture.provenance)

    @cached_property
    def mixture(self) -> Model:
        """The model as an artefact of its own, in the task's names of features and actions."""
        mixture = as_model(self.model)
        _check_kind(mixture, self.task)
        if isinstance(mixture, RegressionMixture):
            return _bounded(mixture, self.task, self.provenance)
        names = [self.task.action_names[action] for action in mixture.classes.tolist()]
        # an environment without names for its actions numbers them, and so do its models
        labels = names if self.task.has_named_actions else mixture.classes
        return _relabelled(mixture, labels, self.task.feature_names, self.provenance, _schema(self.task))

    def predict(self, features: ArrayLike) -> NDArray[Any]:
        """Action number, or row of numbers, for each row of features."""
        if self.task.box is not None:
            answers = np.asarray(self.model.predict(features), dtype=np.float64)
            return self.task.box.clipped(answers.reshape(len(answers), -1))
        return np.asarray(self.model.predict(features), dtype=np.int64)

    def act(self, observations: Floats) -> NDArray[Any]:
        """Action number, or row of numbers, for each observation of the task."""
        return self.predict(self.task.view(observations))

    def env_action(self, observation: Any) -> Any:
        """What ``env.step`` takes, for one observation of the task; for a batch of them, what a vector of such takes.

        Parameters
        ----------
        observation : array, number, dict or tuple
            As ``env.reset`` and ``env.step`` give it, or a batch as a vector of environments gives it.

        Returns
        -------
        int or array
            An action number; of an environment whose actions are no numbers, the array that it takes instead.
        """
        space = self._observation_space
        try:
            seen, single = one_by_one(space, observation)
        except ValueError as error:
            raise InputError(f"{self.task.name} shows {error}") from None
        actions = self.act(as_rows(space, seen, self.task.name))
        taken = [self.task.env_action(action) for action in actions]
        return taken[0] if single else np.array(taken)

    @cached_property
    def _observation_space(self) -> Any:
        """What the environment shows; where it cannot be made, the rows that a task with names shows."""
        try:
            env = self.task.make()
        except TaskError:
            from gymnasium.spaces import Box

            return Box(-np.inf, np.inf, (len(self.task.observation_names),))
        try:
            return env.observation_space
        finally:
            env.close()

    def __repr__(self) -> str:
        return f"Policy({self.model!r}, {self.task.name!r})"

    def _repr_html_(self) -> str:
        from moet.notebook import model_html

        return model_html(self.mixture)


def _relabelled(
    mixture: Mixture,
    classes: ArrayLike,
    feature_names: tuple[str, ...] | None = None,
    provenance: Mapping[str, Any] | None = None,
    schema: Schema | None = None,
) -> Mixture:
    return Mixture(
        gate_weights=mixture.gate_weights,
        gate_bias=mixture.gate_bias,
        trees=mixture.trees,
        classes=classes,
        feature_names=feature_names or mixture.feature_names,
        prediction=mixture.prediction,
        provenance=provenance,
        schema=schema,
    )


def _schema(task: Task) -> Schema | None:
    """The observations of a task as rows of a table, where some of what they show is a choice among a few."""
    return Schema(_column(seen) for seen in task.columns) if task.columns else None


def _column(seen: Seen) -> Column:
    if seen.choices:
        return Column(seen.name, "category", seen.features, categories=seen.choices)
    return Column(seen.name, "integer" if seen.whole else "number", seen.features, seen.low, seen.high)


def _bounded(mixture: RegressionMixture, task: Task, provenance: Mapping[str, Any]) -> RegressionMixture:
    """The same laws in the task's names; clipped twice is clipped once, to bounds that are clipped themselves."""
    assert task.box is not None
    return RegressionMixture(
        mixture.gate_weights,
        mixture.gate_bias,
        mixture.trees,
        task.action_names,
        task.box.clipped(mixture.low),
        task.box.clipped(mixture.high),
        task.feature_names,
        mixture.prediction,
        provenance,
        _schema(task),
    )


def _check_kind(model: Model, task: Task) -> None:
    """Refuse labels where numbers are taken, and the reverse."""
    if isinstance(model, RegressionMixture) and task.box is None:
        raise TaskError(
            f"the model answers with numbers ({', '.join(model.outputs)}), {task.name} takes one of "
            f"{len(task.action_names)} actions; take a moet.MoETClassifier"
        )
    if isinstance(model, Mixture) and task.box is not None:
        raise TaskError(f"the model answers with labels, {task.name} takes {task.box.in_words()}; take a MoETRegressor")
    if isinstance(model, RegressionMixture) and task.box is not None and model.n_outputs != len(task.box):
        raise TaskError(
            f"the model answers with {', '.join(model.outputs)}, {task.name} takes {task.box.in_words()}: "
            f"{', '.join(task.action_names)}"
        )


def task_of_model(model: Model, what: object = "this policy", features: FeatureFunction | None = None) -> Task:
    """The task that a model says it was made for, if nothing must be imported or read to make it.

    Raises
    ------
    InputError
        If it says none, or one that is not there until something is imported or read. ``what`` is how to call the
        model.
    """
    name = model.provenance.get("task")
    if not isinstance(name, str):
        raise InputError(f"{what} does not say which task it was made for; name it: --env NAME, in Python env=NAME")
    if not is_harmless(name):
        raise InputError(
            f"{what} was made for {name!r}, which is not registered here or names a module or a file, and a model's "
            "file is not believed so far; name it yourself: --env NAME, in Python env=..."
        )
    return resolve(name, features)


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
