"""One trial: distil a configuration, and measure what came out."""

from __future__ import annotations

import logging
import warnings
from dataclasses import asdict
from functools import cached_property
from typing import Any

from moet.distill import Policy, distill
from moet.distill.checkpoint import Store
from moet.distill.evaluation import agreement
from moet.distill.outcome import Distillation
from moet.envs.catalog import resolve
from moet.envs.rollout import Episodes, bootstrap_interval, play
from moet.envs.seeds import Purpose, episode_seeds
from moet.envs.task import Task
from moet.errors import CheckpointError, FarBelowWarning
from moet.model.digits import EXACT
from moet.model.file import as_mixture
from moet.model.mixture import Mixture
from moet.study.configuration import Configuration
from moet.study.definition import Definition, versions
from moet.study.outcome import Measured, Outcome
from moet.teachers.adapters import checked
from moet.teachers.teacher import Teacher

EPISODE_SEED = 0
"""All policies of a study meet the same episodes, whatever they were trained with."""

PROVED_STEPS = 10
"""The paper's horizon."""

log = logging.getLogger(__name__)


class Runner:
    """Runs trials of one study. Task, teacher and the teacher's reward are the same for all, and found once.

    Parameters
    ----------
    definition : Definition
        The study.
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    @cached_property
    def task(self) -> Task:
        """What is played."""
        return resolve(self.definition.task)

    @cached_property
    def teacher(self) -> Teacher:
        """Who is imitated."""
        return checked(self.definition.load_teacher(), self.task)

    @cached_property
    def teacher_reward(self) -> float:
        """The teacher's mean reward on the fresh episodes."""
        return float(self._play(self.teacher, Purpose.REPORT).returns.mean())

    def check(self) -> None:
        """Complain if the task cannot be played here, or its teacher not be loaded, before trials are lost for it."""
        self.task.make().close()
        _ = self.teacher

    def run(self, configuration: Configuration, checkpoint: Store | None = None) -> Outcome:
        """Distil one configuration; what comes out follows from it and the study, times aside.

        Iterations found in ``checkpoint`` are not repeated.
        """
        try:
            run = self._distil(configuration, checkpoint)
        except CheckpointError as error:  # no trial is lost for it
            log.warning("a trial goes on without its checkpoint: %s", error)
            run = self._distil(configuration, None)
        model = as_mixture(run.policy)
        return Outcome(
            task=self.definition.task,
            family=configuration.family,
            experts=configuration.experts,
            depth=configuration.depth,
            settings=_settings(configuration, self.definition),
            seed=configuration.seed,
            before=self._measured(run.policy, Purpose.COMPARISON),
            after=self._measured(run.policy, Purpose.REPORT),
            teacher_reward=self.teacher_reward,
            leaves=model.size.leaves,
            parameters=parameter_count(model),
            seconds=sum(iteration.seconds for iteration in run.history),
            model=model,
            verification=_verified(model, self.definition),
            history=_history(run),
            versions=versions(),
        )

    def _distil(self, configuration: Configuration, checkpoint: Store | None) -> Distillation:
        plan = self.definition.plan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FarBelowWarning)  # that sizes differ is what a study is about
            return distill(
                self.teacher,
                self.task,
                configuration.student(plan),
                iterations=plan.iterations,
                rollouts_per_iteration=plan.rollouts,
                max_samples=plan.max_samples,
                importance=plan.importance,
                weighting=plan.weighting,
                selection=plan.selection,
                selection_episodes=plan.selection_episodes,
                digits=EXACT,  # students are compared as they were learned
                seed=configuration.seed,
                checkpoint=checkpoint,
            )

    def _measured(self, policy: Policy, purpose: Purpose) -> Measured:
        own = self._play(policy, purpose)
        return Measured(
            reward=float(own.returns.mean()),
            interval=bootstrap_interval(own.returns, EPISODE_SEED),
            fidelity=float(agreement(self.task, own.actions, self.teacher.act(own.observations)).mean()),
            episodes=len(own.returns),
        )

    def _play(self, player: Policy | Teacher, purpose: Purpose) -> Episodes:
        return play(player.act, self.task, episode_seeds(EPISODE_SEED, purpose, self.definition.plan.episodes))


def parameter_count(model: Mixture) -> int:
    """Numbers that make up a model: feature and threshold of each test, the answer of each leaf, and the gate.

    A leaf of a soft mixture answers with the probability of each class; one tree needs no gate.
    """
    size = model.size
    answer = len(model.classes) if model.prediction == "soft" and size.experts > 1 else 1
    gate = size.gate_numbers if size.experts > 1 else 0
    return 2 * (size.nodes - size.leaves) + answer * size.leaves + gate


def _settings(configuration: Configuration, definition: Definition) -> dict[str, Any]:
    plan = definition.plan
    shared = ("iterations", "rollouts", "max_samples", "importance", "weighting", "selection", "selection_episodes")
    settings = {name: getattr(plan, name) for name in shared} | {"teacher": definition.teacher}
    if configuration.experts > 1:
        settings |= {"gate": configuration.gate, "gate_options": dict(plan.trainings[configuration.gate])}
    return settings


def _verified(model: Mixture, definition: Definition) -> dict[str, Any] | None:
    """The paper's question about CartPole, where an answer is possible: not for soft mixtures."""
    if definition.task.partition("-")[0].lower() != "cartpole" or (
        model.prediction == "soft" and model.size.experts > 1
    ):
        return None
    from moet.verify import safe, systems

    verdict = safe(model, systems.cartpole_published(), steps=PROVED_STEPS, cpu_limit=definition.plan.verify_seconds)
    return {
        "question": f"cartpole_published stays upright for {PROVED_STEPS} steps",
        "verdict": type(verdict).__name__,
        "seconds": verdict.effort["seconds"],
    }


def _history(run: Distillation) -> list[dict[str, Any]]:
    return [
        asdict(iteration.score)
        | {"loss": iteration.loss, "rows": iteration.rows, "seconds": iteration.seconds, "kept": k == run.selected}
        for k, iteration in enumerate(run.history)
    ]
