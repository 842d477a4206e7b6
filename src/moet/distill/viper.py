"""VIPER: DAgger with a teacher that knows how much each of its choices matters (the paper's Algorithm 1)."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moet.distill.checkpoint import Folder, Store
from moet.distill.dataset import Importance, Weighting
from moet.distill.outcome import Distillation
from moet.distill.run import Run, Settings, carry_on
from moet.distill.selection import Selection
from moet.distill.sizes import choose_size
from moet.distill.student import check_student
from moet.envs.catalog import resolve
from moet.envs.task import FeatureFunction, Rounds, Task
from moet.errors import InputError
from moet.model.mixture import Prediction
from moet.progress import told
from moet.teachers.adapters import checked
from moet.teachers.teacher import Teacher

if TYPE_CHECKING:
    from moet.verify.systems.system import System


def distill(
    teacher: Teacher,
    env: Any,
    student: Any = None,
    *,
    prediction: Prediction = "hard",
    iterations: int | None = None,
    rollouts_per_iteration: int | None = None,
    max_samples: int = 200_000,
    importance: Importance | None = None,
    weighting: Weighting = "weight",
    selection: Selection = "reward_then_fidelity",
    selection_episodes: int | None = None,
    digits: int | None = None,
    budget: float | None = None,
    features: FeatureFunction | None = None,
    seed: int = 0,
    workers: int = 1,
    checkpoint: str | Path | Store | None = None,
    prove: System | None = None,
    steps: int | None = None,
    within: int | None = None,
    verbose: int = 0,
) -> Distillation:
    """Train a small student to act as a teacher does, on the states the student itself gets into.

    The first iteration plays the teacher, every other one the student before it. The teacher labels all states seen so
    far, a new student is fitted to them, and the best of all students is kept.

    Parameters
    ----------
    teacher : Teacher
        The oracle.
    env : str, Task, callable or System
        A name of the catalogue, any Gymnasium id, or a function that makes an environment. A system with controls is
        played itself: every step that ends in its safe set earns one.
    student : classifier or regressor, optional
        Anything with ``fit`` and ``predict``: a :class:`~moet.MoETClassifier`, a decision tree, or your own; where
        actions are numbers, a :class:`~moet.MoETRegressor` or another regressor, which gets the actions' bounds. It is
        copied, never fitted itself. Without one, the smallest hard mixture is found that comes within a tolerance of
        the best reward; see :func:`moet.distill.choose_size`. For continuous actions it is a mixture of affine laws;
        a single one is tried first.
    prediction : {"hard", "soft"}
        How the student that is found answers; one that is given says so itself. Hard ones can be proved and exported.
    iterations, rollouts_per_iteration : int, optional
        How many students are fitted, and how many episodes are played before each; by default what the task says
        (``task.rounds``): 40 and 10; 16 and 5 for robots of many numbers; 8 and 10 where an episode may have more than
        5,000 steps. Of such long games a student learns from as many steps as the teacher's longest had.
    max_samples : int
        Largest number of rows a student is fitted on.
    importance : {"uniform", "q_gap"} or None
        How much a state matters: all the same, or, as published, by how much the teacher's scores differ in it. A
        teacher without scores knows no ``"q_gap"``: all states then count the same. Where actions are numbers, the
        scores are those that the agent's critic gives a grid of actions. By default ``"q_gap"`` if there is a critic,
        ``"uniform"`` otherwise: what earns more, see ``docs/results-continuous.md``.
    weighting : {"weight", "resample"}
        How importance enters: as weights of the rows, or by drawing rows as published.
    selection : {"reward", "reward_then_fidelity", "fidelity_then_size", "harmonic"}
        Which student is kept; see :data:`moet.distill.selection.Selection`.
    selection_episodes : int, optional
        Episodes that each student is judged on; by default what the task says: 50, or 2 long ones. The best few play
        four times as many again, and play on where luck may have ordered their rewards.
    digits : int, optional
        Significant digits of the numbers of the policy that is kept. By default as few as cost nothing: at most one
        standard error of the reward, and 0.2 % of fidelity and of the answers. 17 leaves them as they were learned.
    budget : float, optional
        Minutes to spend on finding the size and on the run of that size; without a student only. What comes out then
        depends on how fast the machine is.
    features : callable, optional
        From observations to what the student sees; by default what the task says.
    seed : int
        Seed of everything random. Episodes for training, selection and :func:`~moet.distill.evaluate` never coincide.
    workers : int
        Processes to spread episodes over; worth it for slow environments only. The result does not depend on it.
    checkpoint : path or Store, optional
        Folder, or another place, to save each iteration in. A run that finds what it saved goes on from there, with the
        same result as one that was never stopped.
    prove : System, optional
        What the policy is to keep safe. Then the run does not end before the policy has a certificate, or has a shield
        that has one: see :mod:`moet.distill.prove`. What the task shows must be the states of the system, rounded no
        more than it says; if it has controls, what it shows to a policy.
    steps : int, optional
        For how many steps; for ever by default.
    within : int, optional
        Prove instead that the goal of the system is reached in so many steps; see :mod:`moet.distill.prove_goal`.
    verbose : int
        1 shows a progress bar on stderr, and what is asked for a proof.

    Returns
    -------
    Distillation
        With ``verdict``, ``certificate`` and ``shield`` (or None) if a proof was asked for.

    References
    ----------
    - Vasić, M., et al. *MoËT: Mixture of Expert Trees and its Application to Verifiable Reinforcement Learning.* Neural
      Networks 151, 2022.
    - Bastani, O., Y. Pu, A. Solar-Lezama. *Verifiable Reinforcement Learning via Policy Extraction.* NeurIPS 2018.
    - Ross, S., G. Gordon, D. Bagnell. *A Reduction of Imitation Learning and Structured Prediction to No-Regret Online
      Learning.* AISTATS 2011.

    Examples
    --------
    >>> from moet import MoETClassifier, teachers
    >>> from moet.distill import distill
    >>> student = MoETClassifier(n_experts=2, max_depth=0, prediction="hard")
    >>> run = distill(teachers.load("cartpole"), "cartpole", student, iterations=3)
    >>> run.score.reward
    200.0
    >>> run.policy
    Policy(Mixture(2 experts, 2 leaves, depth 0, 4 features, 2 classes, hard), 'cartpole')
    """
    task = _task(env, features)
    teacher = checked(teacher, task)
    matters = importance or ("uniform" if teacher.critic is None else "q_gap")
    iterations, rollouts, judged_on = _rounds(task, iterations, rollouts_per_iteration, selection_episodes)
    settings = Settings(rollouts, max_samples, matters, weighting, selection, judged_on, digits, seed, workers)
    settings.check(iterations)
    if student is not None and budget is not None:
        raise InputError("budget is for finding a size; a given student takes as long as its iterations")
    if prove is None and (steps is not None or within is not None):
        raise InputError("steps and within say what to prove; name the system: prove=systems.cartpole()")
    if steps is not None and within is not None:
        raise InputError("steps is about safety, and within about the goal: one of them is proved, leave the other out")
    if prove is not None:
        from moet.distill.provable import check_provable

        check_provable(task, prove, student, prediction, within)
    store = Folder(checkpoint) if isinstance(checkpoint, str | Path) else checkpoint
    with nullcontext() if store is None else store.locked():
        if student is None:
            limits: dict[str, Any] = {"store": store, "budget": budget, "verbose": verbose}
            found = choose_size(teacher, task, settings, iterations, prediction=prediction, **limits)
        else:
            check_student(student, task, weighted=weighting == "weight")
            run = Run(teacher, task, student, settings)
            carry_on(run, iterations, store, verbose=verbose)
            found = run.finish()
    if prove is None:
        return found
    from moet.distill.judging import Loop
    from moet.distill.prove import proved

    return proved(found, student, Loop(teacher, task, prove, steps, seed, within), told("proving", shown=verbose > 0))


def _rounds(task: Task, *told: int | None) -> Rounds:
    """What the user said, and what the task says where nothing was."""
    return Rounds(*(usual if one is None else one for one, usual in zip(told, task.rounds, strict=True)))


def _task(env: Any, features: FeatureFunction | None) -> Task:
    """The task that is meant; a system is one itself."""
    if isinstance(env, str | Task) or callable(env):
        return resolve(env, features)
    from moet.verify.systems.system import System

    if not isinstance(env, System):
        return resolve(env, features)
    from moet.distill.plant import plant_task

    return plant_task(env)
