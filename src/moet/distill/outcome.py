"""What a distillation gives back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from moet.distill.dataset import Labelled
from moet.distill.policy import Policy
from moet.distill.selection import Score
from moet.model.sizes import Tried

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


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
    """

    policy: Policy
    history: tuple[Iteration, ...]
    selected: int
    score: Score
    data: Labelled
    front: tuple[Tried, ...] = ()
    taken: int | None = None
    tolerance: float | None = None

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
