"""What cannot be proved in the end is refused before anything is played: a distillation may take minutes."""

from __future__ import annotations

from typing import Any

from moet.envs.task import Task
from moet.errors import InputError
from moet.model.mixture import Prediction
from moet.verify.loops.sensor import check_precision
from moet.verify.systems.system import System


def check_provable(task: Task, system: System, student: Any, prediction: Prediction, within: int | None) -> None:
    """Complain about a task that does not fit a system, and about questions that are not asked.

    Parameters
    ----------
    task : Task
    system : System
    student : classifier, regressor or None
        None if its size is found.
    prediction : {"hard", "soft"}
        How a student answers whose size is found.
    within : int or None
        In how many steps the goal is to be reached.
    """
    by_label = not system.controls or (within is not None and bool(system.effects))
    if within is None and system.effects:
        raise InputError(
            f"the system {system.name!r} has controls that actions set, and is distilled for goals only: give within "
            "(--within N), or distil without prove and ask safe (moet verify FILE --system SYSTEM)"
        )
    if within is not None and not by_label:
        raise InputError(
            "goals are distilled for where a policy chooses actions, and the controls of this system are numbers: give "
            "it actions=, leave within out, or prove with reaches"
        )
    if within is not None:
        system.goal_conditions(None)
    _check_student(by_label, student, prediction)
    _check_sizes(task, system, by_label)
    env = task.make()
    try:
        check_precision(env.observation_space, system)
    finally:
        env.close()


def _check_student(by_label: bool, student: Any, prediction: Prediction) -> None:
    told = prediction if student is None else getattr(student, "prediction", "hard")
    if told == "soft" and by_label and getattr(student, "n_experts", 2) > 1:
        raise InputError("prove is about hard mixtures, and this student is soft; take prediction='hard' (--hard)")


def _check_sizes(task: Task, system: System, by_label: bool) -> None:
    """As many numbers are to be seen as the system says, and as many actions or controls to be taken."""
    if task.continuous == by_label:
        wants, has = ("controls", "actions") if task.continuous else ("actions", "controls")
        raise InputError(f"{task.name} takes {wants}, and the system {system.name!r} has {has}")
    taken = system.effects if by_label and system.effects else system.controls or system.actions
    for what, shown, said in (
        ("shows", task.feature_names, system.features),
        ("takes", task.action_names, tuple(taken)),
    ):
        if len(shown) != len(said):
            raise InputError(
                f"{task.name} {what} {len(shown)} ({', '.join(shown)}), and the system {system.name!r} has {len(said)}:"
                f" {', '.join(said)}"
            )
