"""Probabilities that come true: what a model says of its answers, corrected by rows that it was not fitted to.

Trees are surer of the rows they were grown on than of others, and boosted leaves hold votes. A number or two mend
either, chosen by the likelihood of labels that the model had not seen, and no answer changes:

- leaves of a hard mixture are drawn towards the class shares of the table by so many rows' worth (``shrinkage``), and
  all of an answer by a share of the way (``doubt``);
- the probabilities of a soft mixture are the softmax of its votes times a number (``sharpness``), one for each class
  that may be the answer: those for a rare class are right less often than others that are as sure. Where that says
  enough more, the answer is also raised above the others by a number (``offset``): votes of models that know their rows
  too well cross over where one answer is still right far more often than the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from moet.model.mixture import Mixture, sharpened
from moet.model.table import Table
from moet.model.tree import LEAF, Tree

Floats = NDArray[np.float64]

FOLDS = 5
FEWEST_ROWS = 100
"""Tables that hold nothing out are cut into so many folds; of fewer rows nothing is to be learned about models."""

SHRINKAGES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
"""Weights of the class shares in a leaf, in typical rows."""

DOUBTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
"""Shares of the way to the class shares that all leaves of an answer may go."""

SHARPNESSES = (1e-2, 1e5)
"""Least and largest, relative to the one that a model has."""

SPREAD = 1.0
"""Standard deviation, in logarithms, of an answer's sharpness around that of all, and of its offset around 0: a prior
for rare answers."""

ACCURACY = 1e-4
"""Of both: how near to the likeliest a search ends."""

KEPT = 0.99
"""A leaf goes at most so far on the way to where its answer would change."""


class Trial(NamedTuple):
    """A model, the rows it was fitted to, and rows that it was not; classes are class indices."""

    mixture: Mixture
    taught: Table
    asked: Table


def folds(table: Table) -> Iterator[tuple[Table, Table]]:
    """Cut a small table into rows to fit to and rows to ask, several times; groups stay together."""
    if len(table) < FEWEST_ROWS or table.n_classes == 1:
        return
    # the order of a canonical table is as good as random
    fold = np.unique(table.group_of_entry, return_inverse=True)[1] % FOLDS
    for k in range(FOLDS):
        taught, asked = (table.take(np.flatnonzero(weight), weight) for weight in table.parted(fold == k))
        if len(asked) and len(taught):
            yield taught, asked


def calibrated(mixture: Mixture, table: Table, trials: Sequence[Trial]) -> Mixture:
    """The mixture, fitted to ``table``, with the probabilities that the trials recommend and the same answers."""
    if not trials or not table.class_shares.all():  # a class without rows has no probability to correct
        return mixture
    if mixture.prediction == "soft":
        return replace(mixture, **best_sharpness(mixture, trials)._asdict())
    return shrunk(mixture, table, *best_shrinkage(trials))


def best_sharpness(mixture: Mixture, trials: Sequence[Trial]) -> Sharpened:
    """Sharpness and offset of every answer under which labels not seen are likeliest; none if the votes are better.

    The sharpness of a mixture which has one, whose votes are in arbitrary units, is multiplied by one number per class.
    Numbers are chosen if they say more than Akaike's criterion asks of so many.
    """
    asked = _Votes(
        np.concatenate([_unit(one.mixture) * one.mixture.votes(_rows(one.asked)) for one in trials]), *_asked(trials)
    )
    n_classes = asked.votes.shape[1]
    answer = asked.votes.argmax(axis=1)
    parts = [asked.take(answer == c) for c in range(n_classes)]
    every = likeliest(asked, np.zeros(1), np.inf)[0]
    scaled = [likeliest(part, every, SPREAD) for part in parts]
    moved = [likeliest(part, np.append(every, 0.0), SPREAD) for part in parts]
    raised = sum(loss for _, loss in scaled) - sum(loss for _, loss in moved) > n_classes
    found = np.stack([numbers for numbers, _ in (moved if raised else scaled)], axis=1)
    said = sharpened(asked.votes, np.exp(found[0]), found[1] if raised else None)
    if mixture.sharpness is None and asked.loss(asked.votes) - asked.loss(said) <= n_classes:
        return Sharpened(None, None)
    sharpness = tuple((_unit(mixture) * np.exp(found[0])).tolist())
    return Sharpened(sharpness, tuple(found[1].tolist()) if raised else None)


class Sharpened(NamedTuple):
    """What a mixture's votes become probabilities with."""

    sharpness: tuple[float, ...] | None
    offset: tuple[float, ...] | None


class _Votes(NamedTuple):
    """Votes, labels and weights of rows that were asked."""

    votes: Floats
    label: NDArray[np.int32]
    weight: Floats

    def take(self, mask: NDArray[np.bool_]) -> _Votes:
        return _Votes(self.votes[mask], self.label[mask], self.weight[mask])

    def loss(self, said: Floats) -> float:
        """Negative log-likelihood of the labels."""
        return float(self.weight @ _surprise(said, self.label))


def likeliest(asked: _Votes, middle: Floats, spread: float) -> tuple[Floats, float]:
    """The logarithm of the sharpness, and the offset if ``middle`` has one; and their loss with that of the prior.

    The prior is normal around ``middle``. Where others are held below the answer the loss has kinks, so no slope is
    used.
    """
    if not len(asked.label):
        return middle, 0.0

    def loss(numbers: Floats) -> float:
        n_classes = asked.votes.shape[1]
        offset = np.full(n_classes, numbers[1]) if len(numbers) > 1 else None
        said = sharpened(asked.votes, float(np.exp(numbers[0])), offset)
        return asked.loss(said) + 0.5 * float(((numbers - middle) ** 2).sum()) / spread**2

    simplex = np.vstack([middle, middle + np.eye(len(middle))])
    options = {"initial_simplex": simplex, "xatol": ACCURACY, "fatol": ACCURACY}
    bounds = [tuple(np.log(SHARPNESSES)), (-np.inf, np.inf)][: len(middle)]
    found = minimize(loss, middle, method="Nelder-Mead", bounds=bounds, options=options)
    return found.x, float(found.fun)


def _unit(mixture: Mixture) -> float:
    """The sharpness that training gave a mixture, whose votes may be in arbitrary units."""
    assert not isinstance(mixture.sharpness, tuple)
    return mixture.sharpness or 1.0


def best_shrinkage(trials: Sequence[Trial]) -> tuple[float, tuple[float, ...]]:
    """The shrinkage, and the doubt of every answer, under which labels not seen are likeliest.

    First the one without the others, then those, then the first once more.
    """
    label, weight = _asked(trials)
    answer = np.concatenate([one.mixture.votes(_rows(one.asked)).argmax(axis=1) for one in trials])
    n_classes = len(trials[0].mixture.classes)

    def losses(shrinkage: float, doubts: Sequence[float]) -> Floats:
        said = [
            shrunk(one.mixture, one.taught, shrinkage, doubts).predict_proba_hard(_rows(one.asked)) for one in trials
        ]
        return weight * _surprise(np.concatenate(said), label)

    shrinkage = min(SHRINKAGES, key=lambda one: losses(one, ()).sum())
    by_doubt = [losses(shrinkage, [doubt] * n_classes) for doubt in DOUBTS]
    lost = np.stack([np.bincount(answer, each, n_classes) for each in by_doubt])  # answers stay, so each has its own
    doubts = tuple(DOUBTS[k] for k in lost.argmin(axis=0))
    return (min(SHRINKAGES, key=lambda one: losses(one, doubts).sum()) if any(doubts) else shrinkage), doubts


def shrunk(mixture: Mixture, table: Table, shrinkage: float, doubts: Sequence[float] = ()) -> Mixture:
    """A hard mixture whose leaves count the class shares of its table as so many rows more; answers stay.

    Doubt is a share of the way to the class shares that all leaves of an answer go, however many rows they have: where
    to cut was chosen by those rows.
    """
    doubt = np.array(doubts or [0.0] * len(mixture.classes))
    if shrinkage == 0 and not doubt.any():
        return mixture

    def value(own: Floats, weight: Floats) -> Floats:
        met = weight.sum(axis=1, dtype=np.float64)
        kept = np.divide(met, met + shrinkage, out=np.zeros_like(met), where=met + shrinkage > 0)
        return drawn(own, table.class_shares, 1.0 - (1.0 - doubt[own.argmax(axis=1)]) * kept)

    return with_values(mixture, _rows(table), np.broadcast_to(table.weight[:, None], (len(table), 1)), value)


def with_values(mixture: Mixture, X: ArrayLike, weight: Floats, value: Callable[[Floats, Floats], Floats]) -> Mixture:
    """A hard mixture whose nodes hold what ``value`` makes of their own value and of the weights of rows that come by.

    Parameters
    ----------
    mixture : Mixture
    X : array or DataFrame, shape (n, n_features)
    weight : array of float, shape (n, n_weights)
        What every row adds to the nodes that it comes by in the tree of its expert.
    value : callable
        Takes arrays of shape (n_nodes, n_classes) and (n_nodes, n_weights), returns one like the first.
    """
    expert, leaf = mixture.leaves(X)
    trees = []
    for j, tree in enumerate(mixture.trees):
        mine = expert == j
        met: Floats = np.stack([np.bincount(leaf[mine], column[mine], tree.n_nodes) for column in weight.T], axis=1)
        for node in np.flatnonzero(tree.feature != LEAF)[::-1]:  # children come after their parent
            met[node] = met[tree.left[node]] + met[tree.right[node]]
        trees.append(Tree(tree.feature, tree.threshold, tree.left, tree.right, value(tree.value, met)))
    return mixture.rebuilt(mixture.gate_weights, mixture.gate_bias, trees)


def drawn(value: Floats, towards: Floats, share: Floats) -> Floats:
    """Rows of probabilities drawn towards others by a share of the way, or as far as each row's answer stays."""
    towards = np.broadcast_to(towards, value.shape)
    every, answer = np.arange(len(value)), value.argmax(axis=1)
    lead = value[every, answer][:, None] - value
    behind = towards - towards[every, answer][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        furthest = np.where(behind > 0, lead / (lead + behind), np.inf).min(axis=1)
    share = np.minimum(share, KEPT * furthest)[:, None]
    moved = (1.0 - share) * value + share * towards
    return np.where((moved.argmax(axis=1) == answer)[:, None], moved, value)


def _rows(table: Table) -> Floats:
    return table.X[table.rows]


def _asked(trials: Sequence[Trial]) -> tuple[NDArray[np.int32], Floats]:
    """Labels and weights of the rows that are asked."""
    return np.concatenate([one.asked.y for one in trials]), np.concatenate([one.asked.weight for one in trials])


def _surprise(said: Floats, label: NDArray[np.int32]) -> Floats:
    """Negative log-likelihoods; who rules a label out is wrong once in twice as many rows as were asked."""
    likelihood = np.maximum(said[np.arange(len(label)), label], 0.5 / len(label))
    return np.asarray(-np.log(likelihood), dtype=np.float64)
