"""Questions about closed loops: a policy that acts on a system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from moet.errors import InputError
from moet.model.file import as_mixture
from moet.model.mixture import Mixture
from moet.model.text import how_to_harden
from moet.progress import progress_bar
from moet.verify.limits import Deadline, Progress
from moet.verify.loops.flowpipe import questions as flowpipe_questions
from moet.verify.loops.paths.search import PathSearch
from moet.verify.loops.sets.crew import number_of
from moet.verify.result import Unknown, Verdict
from moet.verify.spec import Spec
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.discrete import AffineSystem, NonlinearSystem
from moet.verify.systems.system import System

Decide = Callable[[Progress | None], Verdict]

_TICKS = 1000

CPU_LIMIT = 600.0
"""Default limit of a question about a closed loop, in seconds of CPU time."""

MOST_SEARCHED_STEPS = 20
"""The number of runs doubles every few steps; beyond this, sets of states are merged first: as quick to find, and a
hundred times quicker to check at fifty steps."""


def safe(
    model: Any,
    system: System,
    steps: int | None,
    *,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
    workers: int | None = None,
    verbose: bool = False,
) -> Verdict:
    """Ask whether a system stays in its safe set when the model chooses the actions.

    The question is about every first state of the system, every disturbance and observation error it allows, and every
    expert that may be chosen in float64 arithmetic. The states 0, 1, ..., ``steps`` are looked at.

    Parameters
    ----------
    model : Mixture, fitted classifier, policy or path
        A hard mixture whose classes are the names or numbers of actions; for a system with controls, a mixture whose
        outputs they are.
    system : System
        With controls, its sets to ``avoid`` count, too, and in continuous time all times between samples.
    steps : int or None
        None for ever: an invariant is searched for.
    timeout : float, optional
        Seconds after which the answer is Unknown.
    cpu_limit : float, optional
        Seconds of CPU time after which it is, which do not depend on what else the machine does; compiling does not
        count. None is no limit.
    seed : int
        Of the random runs that are tried where a possible violation cannot be replayed.
    workers : int, optional
        Threads that work on sets of states; one per core by default. Verdict and certificate do not depend on it.
    verbose : bool
        Show progress on stderr.

    Returns
    -------
    Proved
        With a certificate that :func:`moet.verify.check` accepts.
    Refuted
        With the trace of a run that leaves the safe set; it was replayed exactly and through the deployed predictor.
    Unknown
        With the reason.

    References
    ----------
    - Vasić, M., et al. *MoËT: Mixture of Expert Trees and its Application to Verifiable Reinforcement Learning.* Neural
      Networks 151, 2022.
    - Farkas, J. *Theorie der einfachen Ungleichungen.* Journal für die reine und angewandte Mathematik 124, 1902.
    - Gilbert, E., K. Tan. *Linear Systems with State and Control Constraints: The Theory and Application of Maximal
      Output Admissible Sets.* IEEE Transactions on Automatic Control 36, 1991.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.verify import safe, systems
    >>> tank = systems.AffineSystem(
    ...     "tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]], offsets=[["0"], ["0.5"]],
    ...     initial={"level": (1, 2)}, safe=["0.5 <= level <= 4"],
    ... )
    >>> leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    >>> valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    >>> proof = safe(valve, tank, steps=None)
    >>> proof.checked
    True
    """
    deadline = Deadline(timeout, cpu_limit)
    if _is_controlled(system):
        if steps is not None:
            _check_steps(steps)
        spec = flowpipe_questions.staying_safe(system, steps)
        return _decided(flowpipe_questions.asked(model, system, spec, deadline, seed), deadline, "following", verbose)
    mixture = _policy(model, system, "safe")
    if not system.safe:
        raise InputError(f"the system {system.name!r} has no safe set")
    if steps is None:
        from moet.verify.loops.sets.invariant import safe_for_ever

        decide = partial(safe_for_ever, mixture, system, deadline, workers=number_of(workers))
        return _decided(decide, deadline, "growing a set", verbose)
    _check_steps(steps)
    if not isinstance(system, AffineSystem) or steps > MOST_SEARCHED_STEPS:
        from moet.verify.loops.sets.bounded import safe_for_steps

        decide = partial(safe_for_steps, mixture, system, steps, deadline, workers=number_of(workers))
        verdict = _decided(decide, deadline, "following sets", verbose)
        if not isinstance(system, AffineSystem) or not isinstance(verdict, Unknown):
            return verdict
    return _search(mixture, system, steps, None, deadline, seed, verbose)


def reaches(
    model: Any,
    system: System,
    goal: str | Sequence[str] | None = None,
    *,
    within: int,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
    workers: int | None = None,
    verbose: bool = False,
) -> Verdict:
    """Ask whether every run enters a goal within a number of steps.

    Of a system with controls, it must also stay safe, and out of the sets to ``avoid``, until then.

    Parameters
    ----------
    model, system, timeout, cpu_limit, seed, workers, verbose
        As for :func:`safe`. Nonlinear systems take minutes rather than milliseconds: the first states are cut into
        small parts, each of which is followed for itself.
    goal : str or sequence of str, optional
        Linear conditions that all must hold, such as ``"position >= 0.5"``; by default the goal of the system.
    within : int
        Number of steps.

    Returns
    -------
    Proved, Refuted or Unknown
        As for :func:`safe`; a counterexample is a run that is not in the goal at any of the times 0, ..., ``within``.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.verify import reaches, systems
    >>> tank = systems.AffineSystem(
    ...     "tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]], offsets=[["0"], ["0.5"]],
    ...     initial={"level": (1, 2)}, safe=["0.5 <= level <= 4"], goal=["level >= 2"],
    ... )
    >>> leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    >>> valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    >>> type(reaches(valve, tank, within=20)).__name__
    'Proved'
    """
    deadline = Deadline(timeout, cpu_limit)
    if _is_controlled(system):
        _check_steps(within)
        spec = flowpipe_questions.getting_there(system, goal, within)
        return _decided(flowpipe_questions.asked(model, system, spec, deadline, seed), deadline, "following", verbose)
    mixture = _policy(model, system, "reaches")
    _check_steps(within)
    conditions = system.goal_conditions(goal)
    if isinstance(system, AffineSystem):
        return _search(mixture, system, within, conditions, deadline, seed, verbose)
    if not isinstance(system, NonlinearSystem):
        raise InputError(f"reaches is for affine and nonlinear systems, and {system.name!r} is neither")
    from moet.verify.loops.sets.reach_goal import GoalSearch

    search = GoalSearch(mixture, system, conditions, within, deadline, seed, number_of(workers))
    return _decided(search.decide, deadline, "following", verbose)


def meets(
    model: Any,
    system: System,
    spec: str | Spec,
    *,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
    verbose: bool = False,
) -> Verdict:
    """Ask whether all runs of a system with controls meet a specification.

    Parameters
    ----------
    model : RegressionMixture, fitted regressor, policy or path
    system : System
        With controls. Its own ``safe``, ``avoid`` and ``goal`` do not count: the specification says it all.
    spec : str or Spec
        Such as ``"-0.001 <= x <= 0.001 from 8 to 10; never 1 <= x and y <= 0"``; see :class:`moet.verify.Spec`.
    timeout, cpu_limit, seed, verbose
        As for :func:`safe`.

    Returns
    -------
    Proved, Refuted or Unknown
        As for :func:`safe`.

    References
    ----------
    - Althoff, M., O. Stursberg, M. Buss. *Reachability Analysis of Nonlinear Systems with Uncertain Parameters Using
      Conservative Linearization.* CDC 2008.
    - Gilbert, E., K. Tan. *Linear Systems with State and Control Constraints: The Theory and Application of Maximal
      Output Admissible Sets.* IEEE Transactions on Automatic Control 36, 1991.

    Examples
    --------
    >>> from moet import RegressionMixture
    >>> from moet.model.regression.tree import RegressionTree
    >>> from moet.verify.systems import SampledSystem
    >>> tank = SampledSystem(
    ...     "tank", flow={"level": "inflow - level / 10"}, controls={"inflow": (0, 1)}, period="0.5",
    ...     initial={"level": (1, 2)},
    ... )
    >>> law = RegressionMixture([[0.0]], [0.0], [RegressionTree.leaf([1.0], slope=[[-0.25]])], ["inflow"])
    >>> meets(law, tank, "level <= 3 until 10; reach 2 <= level within 10").checked
    True
    """
    deadline = Deadline(timeout, cpu_limit)
    if not isinstance(system, System):
        raise InputError(f"expected a system, such as systems.SampledSystem(...), got {type(system).__name__}")
    if not _is_controlled(system):
        raise InputError("meets is about systems with controls; ask safe or reaches about systems with actions")
    read = spec if isinstance(spec, Spec) else Spec.read(spec, system.states)
    if read.states != system.states:
        raise InputError(f"the specification is about {read.states}, the system has the states {system.states}")
    decide = flowpipe_questions.asked(model, system, read.requirements, deadline, seed)
    return _decided(decide, deadline, "following", verbose)


def _is_controlled(system: Any) -> bool:
    return isinstance(system, System) and bool(system.controls)


def _search(
    mixture: Mixture,
    system: AffineSystem,
    steps: int,
    goal: Sequence[HalfSpace] | None,
    deadline: Deadline,
    seed: int,
    verbose: bool,
) -> Verdict:
    def decide(progress: Progress | None) -> Verdict:
        return PathSearch(mixture, system, steps, goal, deadline, seed).decide(progress)

    return _decided(decide, deadline, "searching", verbose)


def _decided(decide: Decide, deadline: Deadline, doing: str, verbose: bool) -> Verdict:
    """Decide a question, say what it took and, if that is wanted, show how far the search is.

    The searches calculate in float64. Where that overflows and they are not prepared for it, they end.
    """
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            verdict = _with_progress(decide, doing, verbose)
    except (FloatingPointError, OverflowError, np.linalg.LinAlgError):
        reason = "numbers of this question grow beyond the range of float64, in which proofs are searched for"
        verdict = Unknown(reason=reason, effort={"seconds": deadline.seconds})
    return replace(verdict, effort={**verdict.effort, "cpu_seconds": deadline.cpu_seconds})


def _with_progress(decide: Decide, doing: str, verbose: bool) -> Verdict:
    if not verbose:
        return decide(None)
    with progress_bar(doing, _TICKS, shown=True) as advance:
        shown = 0

        def progress(share: float, note: str) -> None:
            nonlocal shown
            while shown < share * _TICKS:
                advance(note)
                shown += 1

        return decide(progress)


def _policy(model: Any, system: System, question: str) -> Mixture:
    if not isinstance(system, System):
        raise InputError(f"expected a system, such as systems.cartpole_published(), got {type(system).__name__}")
    mixture = as_mixture(model)
    if mixture.prediction != "hard" and mixture.n_experts > 1:
        raise InputError(f"{question} is about hard mixtures, and this model is soft; {how_to_harden(mixture)}")
    system.actions_of(mixture)
    return mixture


def _check_steps(steps: Any) -> None:
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise InputError(f"the number of steps must be an integer, at least 0, got {steps!r}")
