"""What a distillation gives back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from moet.distill.dataset import Labelled
from moet.distill.policy import Policy
from moet.distill.selection import Score
from moet.model.sizes import Tried

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from moet.model.file import Model
    from moet.shield.controls import ControlShield
    from moet.shield.goals import GoalShield
    from moet.shield.shield import Shield
    from moet.verify.checker.certificate import Certificate
    from moet.verify.result import Trace, Verdict


@dataclass(frozen=True)
class Iteration:
    """What happened in one iteration.

    Attributes
    ----------
    score : Score
        How its student did on the episodes for selection.
    loss : float
        Share of the weight of its training rows on which it does not act as the teacher; of continuous actions, the
        mean difference from the teacher's in units of their range.
    rows : int
        States collected so far.
    seconds : float
        Time taken.
    """

    score: Score
    loss: float
    rows: int
    seconds: float


class Candidate(NamedTuple):
    """A policy that was asked about on the way to a proof.

    ``name`` is ``"student"``, ``"taught"`` (fitted again with the run that refuted it) or ``"line"``, which is a
    ``share`` of the way from a linear student to a safe law, or the name of a state: so, too, but only what the gate
    makes of this state is moved; or ``"fence"``: the linear student acts where a regulator is about to change its
    mind, within one less the share, in units of what one action changes of the regulator's function; on the way to a
    goal it may be a size, such as ``"E2-D1"``. ``verdict`` is ``"proved"``, ``"refuted"`` or ``"unknown"``, in
    ``seconds`` of CPU time, and ``answer`` all of it.
    """

    name: str
    share: float
    fidelity: float
    reward: float
    verdict: str
    seconds: float
    mixture: Model
    answer: Verdict


@dataclass(frozen=True, repr=False)
class Distillation:
    """The outcome of :func:`distill`.

    Attributes
    ----------
    policy : Policy
        The student that was kept, pruned, and with as few digits as cost nothing.
    history : tuple of Iteration
        One entry per iteration.
    selected : int
        Which of them made the policy.
    score : Score
        How the policy did when the best students met again.
    data : Labelled
        All states that were collected, with the teacher's answers.
    front : tuple of Tried
        The sizes that were tried, if the size was to be found.
    taken : int or None
        Which of them was taken: the smallest whose reward is within ``tolerance`` of the best of them.
    tolerance : float or None
    verdict : Verdict or None
        Of the policy, if a proof was asked for.
    shield : Shield, GoalShield, ControlShield or None
        What guards the policy, if it could not be proved without giving up too much.
    overridden : float or None
        Share of the policy's actions that the shield replaces in play.
    candidates : tuple of Candidate
        All policies that were asked about, the free student first.
    kept : int or None
        Which of them is the policy.
    teacher_failure : Trace or None
        A simulated run in which the teacher itself leaves the safe set, or does not reach the goal.

    Examples
    --------
    >>> from moet import MoETClassifier, teachers
    >>> from moet.distill import distill
    >>> run = distill(teachers.load("cartpole"), "cartpole", MoETClassifier(2, 0, prediction="hard"), iterations=2)
    >>> len(run.history), run.score.leaves, run.verdict
    (2, 2, None)
    """

    policy: Policy
    history: tuple[Iteration, ...]
    selected: int
    score: Score
    data: Labelled
    front: tuple[Tried, ...] = ()
    taken: int | None = None
    tolerance: float | None = None
    verdict: Verdict | None = None
    shield: Shield | GoalShield | ControlShield | None = None
    overridden: float | None = None
    candidates: tuple[Candidate, ...] = ()
    kept: int | None = None
    teacher_failure: Trace | None = None

    @property
    def certificate(self) -> Certificate | None:
        """Proof about the policy, or about its shield; None if there is neither."""
        if self.shield is not None:
            return self.shield.certificate
        return getattr(self.verdict, "certificate", None)

    @property
    def given_up(self) -> float | None:
        """Fidelity of the free student less that of the policy, if a proof was asked for."""
        if self.kept is None:
            return None
        return self.candidates[0].fidelity - self.candidates[self.kept].fidelity

    def __repr__(self) -> str:
        score = self.score
        return (
            f"Distillation({self.policy.model!r}, reward {score.reward:.2f}, fidelity {score.fidelity:.4f}, "
            f"student {self.selected} of {len(self.history)})"
        )

    def _repr_html_(self) -> str:
        from moet.notebook import distillation_html

        return distillation_html(self)

    def frame(self) -> pd.DataFrame:
        """The history as a table, one row per iteration; the one that was kept says so."""
        import pandas as pd

        records: list[dict[str, Any]] = [
            {"iteration": k}
            | asdict(iteration.score)
            | {"loss": iteration.loss, "rows": iteration.rows}
            | {"seconds": iteration.seconds, "selected": k == self.selected}
            for k, iteration in enumerate(self.history)
        ]
        return pd.DataFrame(records).set_index("iteration")

    def plot(self) -> Figure:
        """Reward and fidelity over the iterations, with one standard error; the student that was kept is marked."""
        from moet.distill.picture import history_figure

        return history_figure(self)

    def plot_front(self) -> Figure:
        """Fidelity of all policies that were asked about, and which of them were proved."""
        from moet.distill.picture import front_figure

        return front_figure(self)
