"""A mixture, hard or soft, as an ONNX model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moet.errors import ExportError
from moet.model.file import as_model
from moet.model.regression.mixture import RegressionMixture

if TYPE_CHECKING:
    from onnx import ModelProto


def onnx(model: object) -> ModelProto:
    """Write a mixture as an ONNX model of plain operators in float64.

    The model has one input, ``x`` of shape (rows, features), and three outputs per row: ``label``, ``probabilities``
    (the columns in the order of the classes) and ``expert``, the index of the most probable expert. The numbers in
    ``x`` must be finite.

    A hard mixture answers as :meth:`moet.Mixture.predict_hard` does for every input, ``probabilities`` are those of
    the leaf that answers. The vote of a soft mixture needs an exponential function, which runtimes round differently:
    its probabilities agree up to rounding, and its label wherever the two most probable classes differ by more.

    A RegressionMixture has two outputs per row, ``outputs`` and ``expert``. Those of a hard one are
    :meth:`moet.RegressionMixture.predict_hard`'s to the bit, those of a soft one agree up to rounding; both are NaN
    where the model raises an error because a sum overflows.

    Parameters
    ----------
    model : Mixture, RegressionMixture, fitted estimator, policy, or path of a model file
        What to write.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save`` writes it to a file; ``SerializeToString()`` gives the bytes that onnxruntime takes.

    Raises
    ------
    ExportError
        If the package onnx is not installed.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import export
    >>> export.onnx(model)[:2]  # doctest: +SKIP
    """
    mixture = as_model(model)
    try:
        from moet.export.onnx_graph import model_of
        from moet.export.onnx_laws import law_model_of
    except ModuleNotFoundError as error:
        raise ExportError(f"ONNX needs the package {error.name}: pip install 'moet[onnx]'") from None
    return law_model_of(mixture) if isinstance(mixture, RegressionMixture) else model_of(mixture)
