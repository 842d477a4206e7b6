"""The ONNX graph of a mixture that answers with numbers.

Laws are a product and a sum per feature, as the gate is: ``MatMul`` and ``Gemm`` may add in any order and fuse.
"""

from __future__ import annotations

import json

import numpy as np
from onnx import ModelProto, TensorProto

from moet.export.onnx_graph import Graph, columns, described, first_maximum, logits_of, rows_of, walk, zeros
from moet.model.flat import Routing
from moet.model.regression.laws import Laws
from moet.model.regression.mixture import RegressionMixture


def law_model_of(mixture: RegressionMixture) -> ModelProto:
    """Write a mixture that answers with numbers as an ONNX model."""
    graph = Graph()
    routing = Routing.of(mixture.gate_weights, mixture.gate_bias, mixture.trees)
    features = columns(graph, mixture)
    second_axis = graph.constant("second_axis", [1])
    roots = graph.constant("root", routing.roots)
    if mixture.n_experts == 1:
        expert = zeros(graph)
    else:
        logits = logits_of(graph, mixture, features)
        expert = first_maximum(graph, logits, mixture.n_experts)
    if mixture.prediction == "hard" or mixture.n_experts == 1:
        leaf = walk(graph, routing, graph.node("Gather", roots, expert), mixture.size.depth)
        graph.node("Squeeze", _outputs(graph, mixture, leaf, features), second_axis, name="outputs")
    else:
        everyone = graph.node("Expand", roots, graph.node("Shape", logits))
        outputs = _outputs(graph, mixture, walk(graph, routing, everyone, mixture.size.depth), features)
        scores = _if_finite(graph, logits, logits)  # the model refuses logits that overflow
        shares = graph.node("Unsqueeze", graph.node("Softmax", scores, axis=1), graph.constant("third_axis", [2]))
        graph.node("ReduceSum", graph.node("Mul", outputs, shares), second_axis, keepdims=0, name="outputs")
    graph.node("Squeeze", expert, second_axis, name="expert")
    answers = [rows_of("outputs", TensorProto.DOUBLE, mixture.n_outputs)]
    return described(graph, mixture, answers, output_names=json.dumps(mixture.outputs))


def _outputs(graph: Graph, mixture: RegressionMixture, leaf: str, features: list[str]) -> str:
    """Outputs of some leaves of every row, (rows, leaves, outputs); NaN where a sum overflows."""
    laws = Laws.of(mixture.trees, mixture.n_features, mixture.low, mixture.high)
    total = value = graph.node("Gather", graph.constant("value", laws.value), leaf)
    if laws.terms.any():
        last_axis = graph.constant("last_axis", [2])
        for k, column in enumerate(features):
            slope = graph.node("Gather", graph.constant(f"slope_{column}", laws.slope[:, :, k]), leaf)
            total = graph.node("Add", total, graph.node("Mul", slope, graph.node("Unsqueeze", column, last_axis)))
    if laws.terms.any() and not laws.terms.all():
        # not even a zero is added to a constant: it could change the sign of a zero
        total = _choice(
            graph, graph.node("Gather", graph.constant("adds", laws.terms[:, None] > 0), leaf), value, total
        )
    clipped = total
    for sign, name, bound in (("Less", "low", laws.low), ("Greater", "high", laws.high)):
        if np.isfinite(bound).any():
            limit = graph.node("Expand", graph.constant(name, bound), graph.node("Shape", total))
            clipped = _choice(graph, graph.node(sign, clipped, limit), clipped, limit)
    return _if_finite(graph, total, clipped)


def _choice(graph: Graph, condition: str, otherwise: str, chosen: str) -> str:
    """``Where``, with the sign of zeros, which onnxruntime's forgets; all are (rows, leaves, outputs)."""
    axis = graph.constant(f"axis_{chosen}", [3])
    both = graph.node("Concat", *(graph.node("Unsqueeze", one, axis) for one in (otherwise, chosen)), axis=3)
    index = graph.node("Cast", condition, to=TensorProto.INT64)
    everywhere = graph.node("Expand", index, graph.node("Shape", chosen))
    picked = graph.node("GatherElements", both, graph.node("Unsqueeze", everywhere, axis), axis=3)
    return graph.node("Squeeze", picked, axis)


def _if_finite(graph: Graph, total: str, result: str) -> str:
    """``result`` where ``total`` is finite, NaN elsewhere; taking a zero away keeps the sign of a zero."""
    return graph.node("Sub", result, graph.node("Sub", total, total))
