"""The page put together: what it shows, as JSON, and the scripts that show it, in one file that loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.explain.explorer_page.ranges import (
    Range,
    answers_of,
    choice_columns,
    possible_ends,
    slider_ranges,
    start_between,
    telling_features,
)
from moet.explain.text import feature_index
from moet.model.file import Model, as_model, digest
from moet.model.regression.mixture import RegressionMixture
from moet.model.text import summary
from moet.model.tree import BaseTree
from moet.web.page import assembled

MAX_ROWS = 1000
"""Rows of data that are drawn; more would hide the map."""

_SCALE_ROWS = 2000
"""Inputs that say which numbers a colour scale spans."""


def explorer(
    model: object,
    *,
    compare: object | None = None,
    data: ArrayLike | None = None,
    units: Mapping[str, str] | None = None,
    names: Sequence[str] = ("model", "other model"),
    source: str = "the data",
) -> str:
    """Write a page that runs a mixture in the browser: one HTML document that needs no server and no network.

    Parameters
    ----------
    model : mixture, fitted estimator, policy, or path of a model file
        What to explore. The hard answers in the browser, labels or numbers, have the same bits as those of
        ``predict_hard``; those of a soft model may differ in the last digits of ``exp``.
    compare : same kinds, optional
        A second model with the same features and classes, or outputs, to be shown beside the first.
    data : array of float, shape (n_rows, n_features), optional
        Inputs to draw on the map and to take the ranges of the sliders from. At most ``MAX_ROWS`` of them are put into
        the page, drawn at random (always the same ones).
    units : mapping, optional
        From names of features and outputs to their units; a pure number has none, or an empty one.
    names : sequence of str
        How to call the model, and the second one.
    source : str
        How to call the data.

    Returns
    -------
    str
        The document, to be written as UTF-8.

    Raises
    ------
    InputError
        If the second model has other features, classes or outputs, or the data do not fit the model.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import explorer
    >>> page = explorer(model)
    >>> page[:15]
    '<!doctype html>'
    """
    mixtures = [as_model(model)]
    if compare is not None:
        mixtures.append(as_model(compare))
        _check_comparable(*mixtures)
    names = names[: len(mixtures)]
    units = {} if units is None else units
    for name in units:
        feature_index(name, (*mixtures[0].feature_names, *outputs_of(mixtures[0])))
    content = _content(mixtures, names, units, None if data is None else _rows(mixtures[0], data), source)
    return assembled("moet.explain.explorer_page", content)


def outputs_of(mixture: Model) -> tuple[str, ...]:
    """Names of the outputs of a model that answers with numbers."""
    return mixture.outputs if isinstance(mixture, RegressionMixture) else ()


def _content(
    mixtures: list[Model],
    names: Sequence[str],
    units: Mapping[str, str],
    rows: NDArray[np.float64] | None,
    source: str,
) -> dict[str, Any]:
    """Everything the scripts are told."""
    first = mixtures[0]
    ranges = slider_ranges(mixtures, rows)
    choices = choice_columns(first.feature_names, ranges)
    generator = np.random.default_rng(0)
    if rows is None:
        start = start_between(mixtures, ranges, choices)
        sample = generator.uniform([r.low for r in ranges], [r.high for r in ranges], (64, len(ranges)))
    else:
        start = _typical(rows)
        sample = rows if len(rows) <= MAX_ROWS else rows[np.sort(generator.choice(len(rows), MAX_ROWS, replace=False))]
    features = [
        {"name": name, "unit": units.get(name, ""), "choice": choice, "least": least, "most": most} | r._asdict()
        for name, choice, r, (least, most) in zip(
            first.feature_names, choices, ranges, possible_ends(first), strict=True
        )
    ]
    telling = telling_features(first, ranges, sample[:64])
    return {
        "features": features,
        "classes": None if isinstance(first, RegressionMixture) else [str(c) for c in first.classes.tolist()],
        "outputs": _outputs(first, units, ranges, sample) if isinstance(first, RegressionMixture) else None,
        "models": [_model(mixture, name) for mixture, name in zip(mixtures, names, strict=True)],
        "start": start.tolist(),
        "axes": [*sorted(telling, key=lambda k: choices[k] is not None), 0][:2],  # numbers first
        "ranges": _about_ranges(first, rows, source),
        "rows": None if rows is None else {"values": sample.tolist(), "note": _about_rows(rows, sample, source)},
    }


def _outputs(
    mixture: RegressionMixture, units: Mapping[str, str], ranges: Sequence[Range], sample: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Names, units and bounds of the outputs, and the ends of their colour scales: what occurs in the ranges."""
    low, high = ([r.low for r in ranges], [r.high for r in ranges])
    rows = np.concatenate([sample, np.random.default_rng(0).uniform(low, high, (_SCALE_ROWS, len(ranges)))])
    values = answers_of(mixture, rows)
    outputs = []
    for o, (name, least, most) in enumerate(zip(mixture.outputs, mixture.low, mixture.high, strict=True)):
        finite = values[np.isfinite(values[:, o]), o]
        span = [float(finite.min()), float(finite.max())] if len(finite) else [0.0, 1.0]
        span = span if span[0] < span[1] else [span[0] - 0.5, span[1] + 0.5]
        bounds = {"low": _bound(least), "high": _bound(most)}
        outputs.append({"name": name, "unit": units.get(name, ""), "span": span} | bounds)
    return outputs


def _bound(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _model(mixture: Model, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "digest": digest(mixture),
        "summary": summary(mixture),
        "prediction": mixture.prediction,
        "sharpness": getattr(mixture, "sharpness", None),
        "offset": getattr(mixture, "offset", None),
        "gate": {"weights": mixture.gate_weights.tolist(), "bias": mixture.gate_bias.tolist()},
        "trees": [_tree(tree) for tree in mixture.trees],
    }


def _tree(tree: BaseTree) -> dict[str, Any]:
    arrays = {part: getattr(tree, part) for part in tree.__dataclass_fields__}
    return {part: array.tolist() for part, array in arrays.items() if array is not None}


def _rows(mixture: Model, data: ArrayLike) -> NDArray[np.float64]:
    mixture.expert(data)  # says what is wrong with them
    rows = np.asarray(data, dtype=np.float64)
    if len(rows) == 0:
        raise InputError("the data have no rows")
    return rows


def _typical(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The row nearest to the medians of all, each feature measured by its spread."""
    spread = rows.std(axis=0)
    distance = np.abs(rows - np.median(rows, axis=0)) / np.where(spread > 0, spread, 1.0)
    return rows[distance.sum(axis=1).argmin()]


def _about_ranges(mixture: Model, rows: NDArray[np.float64] | None, source: str) -> str:
    if mixture.schema is not None:
        return "Sliders span the values that rows of the table can have. Any number can be typed."
    if rows is None:
        return "Sliders span the model's thresholds, or what moves its gate. Any number can be typed."
    return f"Sliders span the values in {source} and the model's thresholds. Any number can be typed."


def _about_rows(rows: NDArray[np.float64], sample: NDArray[np.float64], source: str) -> str:
    which = f"{len(rows):,}" if len(rows) == len(sample) else f"{len(sample):,} of {len(rows):,} rows, drawn at random,"
    return (
        f"Dots: {which} from {source}, in the colour of the answer to the whole row; the map around a dot may "
        "differ, for its other features are not those of the sliders."
    )


def _check_comparable(first: Model, second: Model) -> None:
    if first.feature_names != second.feature_names:
        raise InputError(
            f"only models with the same features in the same order can be compared; the first has "
            f"{_listed(first.feature_names)}, the second {_listed(second.feature_names)}"
        )
    if isinstance(first, RegressionMixture) or isinstance(second, RegressionMixture):
        if outputs_of(first) != outputs_of(second):
            raise InputError(
                f"only models with the same outputs in the same order can be compared; the first has "
                f"{_listed(outputs_of(first)) or 'labels'}, the second {_listed(outputs_of(second)) or 'labels'}"
            )
        return
    ours, theirs = first.classes.tolist(), second.classes.tolist()
    if ours != theirs:
        raise InputError(
            f"only models with the same classes in the same order can be compared; the first has {_listed(ours)}, "
            f"the second {_listed(theirs)}"
        )


def _listed(names: Sequence[Any]) -> str:
    return shorten(", ".join(map(repr, names)), 300, placeholder=" ...")
