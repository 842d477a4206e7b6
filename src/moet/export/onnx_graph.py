"""The ONNX graph of a mixture that answers with labels, and what the graphs of all mixtures share.

The operators are plain ones whose results do not depend on the runtime: ``MatMul`` may add in any order and fuse, so
the gate is a product and a sum per feature; tree ensembles of ``ai.onnx.ml`` leave open how thresholds are compared, so
the trees are walked one level at a time, all rows at once.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

import moet
from moet.errors import ExportError
from moet.model.base import BaseMixture
from moet.model.file import Model, digest
from moet.model.flat import FlatMixture, Routing
from moet.model.mixture import LEAST_LEAD, Mixture
from moet.model.text import summary

OPSET = 17
IR_VERSION = 8
"""Both are of 2022: older runtimes are rare, and newer versions add nothing that is needed here."""


class Graph:
    """Nodes and constants; every result has a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, name: str, values: Any) -> str:
        """Name of a new constant."""
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Name of the result of a new node."""
        result = name or f"{operator.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [result], **attributes))
        return result


def model_of(mixture: Mixture) -> ModelProto:
    """Write a mixture as an ONNX model."""
    graph = Graph()
    flat = FlatMixture.of(mixture.gate_weights, mixture.gate_bias, mixture.trees)
    second_axis = graph.constant("second_axis", [1])
    value = graph.constant("value", flat.value)
    roots = graph.constant("root", flat.routing.roots)
    if mixture.n_experts == 1:
        expert = zeros(graph)
    else:
        logits = logits_of(graph, mixture, columns(graph, mixture))
        expert = first_maximum(graph, logits, mixture.n_experts)
    if mixture.prediction == "hard" or mixture.n_experts == 1:
        leaf = walk(graph, flat.routing, graph.node("Gather", roots, expert), mixture.size.depth)
        votes = graph.node("Gather", value, graph.node("Squeeze", leaf, second_axis))
    else:
        everyone = graph.node("Expand", roots, graph.node("Shape", logits))
        opinions = graph.node("Gather", value, walk(graph, flat.routing, everyone, mixture.size.depth))
        shares = graph.node("Unsqueeze", graph.node("Softmax", logits, axis=1), graph.constant("third_axis", [2]))
        votes = graph.node("ReduceSum", graph.node("Mul", opinions, shares), second_axis, keepdims=0)
    answer = graph.node("ArgMax", votes, axis=1, keepdims=0)
    probabilities_of(graph, mixture, votes, answer)
    graph.node("Gather", graph.constant("classes", _labels(mixture)), answer, name="label")
    graph.node("Squeeze", expert, second_axis, name="expert")
    label_type = helper.np_dtype_to_tensor_dtype(mixture.classes.dtype)
    probabilities = rows_of("probabilities", TensorProto.DOUBLE, len(mixture.classes))
    return described(graph, mixture, [rows_of("label", label_type), probabilities])


def probabilities_of(graph: Graph, mixture: Mixture, votes: str, answer: str) -> None:
    """What the votes of every row stand for."""
    if mixture.sharpness is None:
        graph.node("Identity", votes, name="probabilities")
        return
    n_classes = len(mixture.classes)
    factor = graph.constant("sharpness", np.broadcast_to(mixture.sharpness, n_classes)[:, None])
    sharp = graph.node("Mul", votes, graph.node("Gather", factor, answer))
    if mixture.offset is not None:
        top = graph.node("ReduceMax", sharp, axes=[1], keepdims=1)
        lowered = graph.constant("offset", np.array(mixture.offset)[:, None])
        behind = graph.node("Sub", graph.node("Sub", sharp, top), graph.node("Gather", lowered, answer))
        below = graph.node("Min", behind, graph.constant("least_lead", [[-LEAST_LEAD]]))
        is_answer = graph.node("Gather", graph.constant("each_class", np.eye(n_classes, dtype=bool)), answer)
        sharp = graph.node("Where", is_answer, graph.constant("ahead", [[0.0]]), below)
    graph.node("Softmax", sharp, axis=1, name="probabilities")


def columns(graph: Graph, mixture: BaseMixture) -> list[str]:
    """Names of the columns of x, each (rows, 1)."""
    names = [f"x{k}" for k in range(mixture.n_features)]
    graph.nodes.append(helper.make_node("Split", ["x"], names, axis=1))
    return names


def logits_of(graph: Graph, mixture: BaseMixture, features: list[str]) -> str:
    """Logits of all experts, (rows, experts): from the bias on, one feature after another."""
    total = graph.constant("gate_bias", mixture.gate_bias[None, :])
    for column, weights in zip(features, mixture.gate_weights.T, strict=True):
        product = graph.node("Mul", column, graph.constant(f"gate_weight_{column}", weights[None, :]))
        total = graph.node("Add", total, product)
    return total


def first_maximum(graph: Graph, logits: str, n_experts: int) -> str:
    """Index of the first largest logit, (rows, 1).

    A logit that overflowed to NaN exceeds none and none exceeds it, as in a loop with ``>``: the first expert keeps
    its lead with it, no other one can win.
    """
    instead = np.full((1, n_experts), -np.inf)
    instead[0, 0] = np.inf
    comparable = graph.node("Where", graph.node("IsNaN", logits), graph.constant("instead_of_nan", instead), logits)
    return graph.node("ArgMax", comparable, axis=1, keepdims=1)


def zeros(graph: Graph) -> str:
    """One zero per row, (rows, 1)."""
    rows = graph.node("Shape", "x", end=1)
    shape = graph.node("Concat", rows, graph.constant("one", [1]), axis=0)
    return graph.node("ConstantOfShape", shape, value=helper.make_tensor("zero", TensorProto.INT64, [1], [0]))


def walk(graph: Graph, routing: Routing, node: str, depth: int) -> str:
    """Leaves reached from some nodes, (rows, any number); a leaf is its own child, so that all paths are as long."""
    if depth == 0:
        return node
    feature, left, right = (
        graph.constant(name, np.ascontiguousarray(column))
        for name, column in zip(("feature", "left", "right"), routing.nodes.T, strict=True)
    )
    threshold = graph.constant("threshold", routing.threshold)
    for _ in range(depth):
        tested = graph.node("GatherElements", "x", graph.node("Gather", feature, node), axis=1)
        passed = graph.node("LessOrEqual", tested, graph.node("Gather", threshold, node))
        node = graph.node("Where", passed, graph.node("Gather", left, node), graph.node("Gather", right, node))
    return node


def _labels(mixture: Mixture) -> NDArray[Any]:
    if mixture.classes.dtype.kind != "U":
        return mixture.classes
    for label in mixture.classes.tolist():
        try:
            label.encode("utf-8")
        except UnicodeEncodeError:
            raise ExportError(f"the class {label!r} is not Unicode text, which ONNX needs; rename it") from None
    return mixture.classes.astype(object)


def described(graph: Graph, mixture: Model, answers: list[ValueInfoProto], **facts: str) -> ModelProto:
    """The whole model, which gives the answers and the expert; ``facts`` go beside the digest and the features."""
    whole = helper.make_graph(
        graph.nodes,
        "moet",
        [rows_of("x", TensorProto.DOUBLE, mixture.n_features)],
        [*answers, rows_of("expert", TensorProto.INT64)],
        graph.constants,
        doc_string=summary(mixture),
    )
    model = helper.make_model(
        whole,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="moet",
        producer_version=moet.__version__,
    )
    names = json.dumps(mixture.feature_names)
    helper.set_model_props(model, {"model": digest(mixture), "feature_names": names, **facts})
    return model


def rows_of(name: str, kind: int, *columns: int) -> ValueInfoProto:
    """Type of an input or output with one row per state."""
    return helper.make_tensor_value_info(name, kind, ["rows", *columns])
