"""Why a mixture answers one input with these numbers: the expert, the path, the law and what its bounds cut off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from moet.errors import InputError, ModelError
from moet.explain.reasons import Check, Reasons, contest_of, encoded_input, logits_of, path_of
from moet.explain.text import with_units
from moet.model.file import as_model
from moet.model.regression.mixture import RegressionMixture
from moet.model.text import how_to_harden


@dataclass(frozen=True)
class Law:
    """How one output came about: ``unclipped = value + sum(terms)``, from left to right in float64.

    Attributes
    ----------
    output : str
    value : float
        Where the sum begins.
    slopes, terms : tuple of float
        By feature: the slope, and slope times feature. Empty at a constant leaf.
    unclipped, clipped : float
        The sum, and the output, which is the sum clipped to the output's bounds.
    """

    output: str
    value: float
    slopes: tuple[float, ...]
    terms: tuple[float, ...]
    unclipped: float
    clipped: float


@dataclass(frozen=True, kw_only=True)
class WhyLaw(Reasons):
    """Reasons for the numbers that answer one input; as a string, for people.

    Attributes
    ----------
    x, features, contest
        As in :class:`Why`.
    expert : int
        The one that answers.
    path : tuple of Check
        The tests from the root of its tree on.
    leaf : int
        The node they lead to.
    laws : tuple of Law
        One per output.

    Examples
    --------
    >>> from moet import RegressionMixture, RegressionTree
    >>> law = RegressionMixture([[0, 0]], [0], [RegressionTree.leaf([0.5], slope=[[1, -2]])], ["force"])
    >>> from moet.explain import why_law
    >>> print(why_law(law, [1, 1]))
    force = -0.5
    <BLANKLINE>
    law of force:
                  value  slope  adds
      (constant)                +0.5
      x0              1      1    +1
      x1              1     -2    -2
      sum: -0.5
    """

    expert: int
    path: tuple[Check, ...]
    leaf: int
    laws: tuple[Law, ...]

    def __str__(self) -> str:
        from moet.explain.reason_text import describe_law

        return describe_law(self)


def why_law(model: object, x: ArrayLike, *, units: Mapping[str, str] | None = None) -> WhyLaw:
    """Give the reasons for the numbers with which a hard RegressionMixture answers one input.

    Parameters
    ----------
    model : RegressionMixture, fitted regressor, policy, or path of a model file
    x : array of float, shape (n_features,)
        Of a model with a schema also a row of the user's table, as a dict or a Series.
    units : mapping, optional
        Units by name of a feature or an output.

    Examples
    --------
    >>> from moet import RegressionTree
    >>> law = RegressionTree.leaf([0.5], slope=[[2.0, -1.0]])
    >>> brake = RegressionMixture([[0.0, 0.0]], [0.0], [law], ["torque"], high=[2], feature_names=["angle", "speed"])
    >>> why_law(brake, [3.0, 1.0]).laws[0].unclipped
    5.5
    """
    mixture = as_model(model)
    if not isinstance(mixture, RegressionMixture):
        raise ModelError("this model answers with labels: ask explain.why")
    if mixture.prediction == "soft" and mixture.n_experts > 1:
        raise InputError(f"a soft model has no single law for an input; {how_to_harden(mixture)}")
    x = encoded_input(x, mixture)
    outputs = mixture.act(x).tolist()  # which also checks x
    state = np.asarray(x, dtype=np.float64)
    logits = logits_of(mixture, state)
    ranked = sorted(range(mixture.n_experts), key=lambda j: -logits[j])  # stable: the first of equals wins
    path, leaf = path_of(mixture.trees[ranked[0]], state)
    names = with_units([*mixture.feature_names, *mixture.outputs], units)
    return WhyLaw(
        x=tuple(state.tolist()),
        features=tuple(names[: mixture.n_features]),
        schema=mixture.schema,
        contest=None if mixture.n_experts == 1 else contest_of(mixture, state, logits, *ranked[:2]),
        expert=ranked[0],
        path=path,
        leaf=leaf,
        laws=tuple(
            _law(mixture, ranked[0], leaf, o, state, name, outputs[o])
            for o, name in enumerate(names[mixture.n_features :])
        ),
    )


def _law(
    mixture: RegressionMixture, expert: int, leaf: int, output: int, state: np.ndarray, name: str, clipped: float
) -> Law:
    tree = mixture.trees[expert]
    slopes = [] if tree.slope is None else tree.slope[leaf, output].tolist()
    terms = [slope * value for slope, value in zip(slopes, state.tolist(), strict=False)]  # none at a constant leaf
    total = value = float(tree.value[leaf, output])
    for term in terms:
        total += term
    return Law(name, value, tuple(slopes), tuple(terms), total, clipped)
