"""Networks in ONNX files. A file holds a graph of operations and numbers, and nothing that could be executed.

A plain multi-layer perceptron is taken out of the graph and computed as every other network here. Anything else is
asked through onnxruntime.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import TeacherError
from moet.teachers.arrays import MAX_BYTES
from moet.teachers.chain import Clip, Dense, Nonlinear, NotChainError, Scale, Step, as_row, teacher_of_chain
from moet.teachers.checks import as_actions, as_continuous, as_observations, as_scores
from moet.teachers.network import Meaning, as_worth, scaled
from moet.teachers.sb3_normalize import Normalization, read_normalization
from moet.teachers.teacher import CheckedTeacher, Floats, Teacher, first_best

_ACTIVATIONS = {"Relu": "relu", "Tanh": "tanh", "Elu": "elu"}
_ENDINGS = {"Softmax": "softmax", "LogSoftmax": "softmax", "ArgMax": "argmax"}
_NUMBERS = ("tensor(float)", "tensor(double)")
_NOTHING = ("Identity", "Flatten", "Cast", "Dropout")
"""Operations that do not change a row of numbers."""


def read_onnx(
    path: str | os.PathLike[str], *, continuous: bool = False, meaning: Meaning = "logits", normalize: Any = None
) -> Teacher:
    """Read a network from an ONNX file; see :meth:`Teacher.from_onnx`."""
    try:
        model = _load(path)
        try:
            steps = _chain(model)
            normalization = read_normalization(normalize, _input_length(steps))
            return teacher_of_chain(steps, meaning=meaning, continuous=continuous, normalization=normalization)
        except NotChainError:
            digest = hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()
            return _with_runtime(path, digest, continuous, meaning, normalize)
    except TeacherError as error:
        raise TeacherError(f"cannot read {os.fspath(path)}: {error}") from error.__cause__


def _chain(model: Any) -> list[Step]:
    try:
        return chain_of(model.graph)
    except TeacherError:
        raise
    except Exception as error:  # whatever a damaged graph makes its reader raise
        raise TeacherError(f"it is no ONNX file, or damaged: {error}") from None


def chain_of(graph: Any) -> list[Step]:
    """The operations of a graph, if they are a chain from its one input to its first output."""
    from onnx import numpy_helper

    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in constants]
    if len(inputs) != 1:
        raise NotChainError(f"it has {len(inputs)} inputs")
    here = inputs[0]
    steps: list[Step] = []
    for node in graph.node:
        if node.op_type == "Constant" or all(name in constants for name in node.input):
            constants[node.output[0]] = _constant(node, constants)
            continue
        if [name for name in node.input if name and name not in constants] != [here]:
            raise NotChainError("its operations are no chain")
        if node.op_type == "Cast" and not _keeps_numbers(_attributes(node)["to"], steps):
            raise NotChainError("it rounds its numbers")
        steps += _steps(node, here, constants)
        here = node.output[0]
    if here != graph.output[0].name:
        raise NotChainError("its operations are no chain")
    _check_covered(next(value for value in graph.input if value.name == inputs[0]), steps)
    return steps


def _check_covered(value: Any, steps: list[Step]) -> None:
    """Refuse a first layer that sees a window of its input: a convolution that slides is no dense layer."""
    sides = [side.dim_value for side in value.type.tensor_type.shape.dim][1:]
    if all(sides) and sides and int(np.prod(sides)) != _input_length(steps):
        raise NotChainError(f"its first layer sees {_input_length(steps)} of {int(np.prod(sides))} numbers at a time")


class RuntimeTeacher(CheckedTeacher):
    """A network that is asked through onnxruntime."""

    def __init__(
        self, session: Any, digest: str, continuous: bool, meaning: Meaning, normalization: Normalization
    ) -> None:
        self._session = session
        self._meaning = meaning
        self._normalization = normalization
        self._input = session.get_inputs()[0]
        self._kind = np.float64 if self._input.type == "tensor(double)" else np.float32
        self.digest = digest
        width = int(self._input.shape[1])
        self.n_features = width
        self.continuous = continuous
        self._one_by_one = self._input.shape[0] == 1 or self._mixes_rows(width)
        answer = self._ask(np.zeros((1, width)))
        self._chooses = answer.dtype.kind in "iub"
        self.has_scores = not continuous and not self._chooses
        if self.has_scores:
            self.n_actions = answer.shape[-1]
        if continuous:
            self.low, self.high = np.full(answer.shape[-1], -np.inf), np.full(answer.shape[-1], np.inf)

    def __getstate__(self) -> dict[str, Any]:
        raise TeacherError("a network that onnxruntime computes cannot travel to other processes; use workers=1")

    def scores(self, observations: Floats) -> Floats:
        """What the network gives: Q values, or logits as clipped log-probabilities."""
        return as_worth(self._outputs(observations), self._meaning)

    def act(self, observations: Floats) -> NDArray[Any]:
        """The action that the network gives, or the one of its largest output."""
        if self.has_scores:
            return first_best(self._outputs(observations))
        rows = as_observations(observations, self.n_features)
        answer = self._ask(rows)
        if self.low is not None:
            return as_continuous(answer, len(rows), len(self.low))
        chosen = answer.reshape(len(rows), -1)[:, 0] if answer.size == len(rows) else answer
        return as_actions(chosen, len(rows), self.n_actions)

    def act_and_score(self, observations: Floats) -> tuple[NDArray[Any], Floats]:
        """Both, of the same outputs."""
        outputs = self._outputs(observations)
        return first_best(outputs), as_worth(outputs, self._meaning)

    def _outputs(self, observations: Floats) -> Floats:
        if not self.has_scores:
            raise TeacherError("this network gives actions, not scores")
        rows = as_observations(observations, self.n_features)
        return as_scores(self._ask(rows), len(rows), self.n_actions)

    def _ask(self, rows: Floats) -> NDArray[Any]:
        inputs = scaled(rows, *self._normalization).astype(self._kind)
        try:
            parts = [self._run(part) for part in (np.split(inputs, len(inputs)) if self._one_by_one else [inputs])]
        except Exception as error:  # of onnxruntime's own kinds
            raise TeacherError(f"onnxruntime cannot compute it: {error}") from None
        return np.concatenate([np.atleast_1d(part) for part in parts])

    def _run(self, inputs: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._session.run([self._session.get_outputs()[0].name], {self._input.name: inputs})[0])

    def _mixes_rows(self, width: int) -> bool:
        """Whether the answer to a row depends on the rows beside it, or several rows cannot be asked at all."""
        rows = np.random.default_rng(0).normal(size=(4, width)).astype(self._kind)
        try:
            together, alone = self._run(rows), [self._run(row[None]) for row in rows]
            return not np.allclose(together, np.concatenate(alone), rtol=1e-3, atol=1e-5, equal_nan=True)
        except Exception:  # of onnxruntime's own kinds, or shapes that do not fit together
            return True


def _load(path: str | os.PathLike[str]) -> Any:
    try:
        import onnx
    except ImportError:
        raise TeacherError("reading it needs the package onnx: pip install 'moet[onnx]'") from None
    try:
        if (size := os.path.getsize(path)) > MAX_BYTES:
            raise TeacherError(f"it has {size} bytes, more than {MAX_BYTES}")
        model = onnx.load(path, load_external_data=False)
        _check_external(model, Path(path).parent)
        onnx.load_external_data_for_model(model, str(Path(path).parent))
    except TeacherError:
        raise
    except OSError as error:
        raise TeacherError(error.strerror or str(error)) from None
    except Exception as error:  # whatever a damaged file makes its reader raise
        raise TeacherError(f"it is no ONNX file, or damaged: {error}") from None
    if not model.graph.output or not model.graph.input:
        raise TeacherError("it is no ONNX file, or damaged: its graph has no input or no output")
    return model


def _check_external(model: Any, folder: Path) -> None:
    """Refuse weights in other files than those beside the model."""
    for tensor in model.graph.initializer:
        location = next((entry.value for entry in tensor.external_data if entry.key == "location"), None)
        if location is None:
            continue
        if PurePath(location).is_absolute() or len(PurePath(location).parts) != 1:
            raise TeacherError(f"it wants to read {location!r}, which is not beside it")
        if (folder / location).is_file() and (folder / location).stat().st_size > MAX_BYTES:
            raise TeacherError(f"its weights in {location} have more than {MAX_BYTES} bytes")


def _constant(node: Any, constants: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Value of an operation on numbers of the file alone."""
    from onnx import numpy_helper

    attributes = _attributes(node)
    match node.op_type, attributes:
        case "Constant", {"value": tensor}:
            return numpy_helper.to_array(tensor)
        case "Constant", {"value_float": number} | {"value_floats": number}:
            return np.asarray(number)
        case "Identity" | "Cast", _:
            return constants[node.input[0]]
        case "Transpose", _:
            return np.transpose(constants[node.input[0]], attributes.get("perm"))
    raise NotChainError(f"it computes {node.op_type} of its own numbers")


def _steps(node: Any, here: str, constants: dict[str, NDArray[Any]]) -> list[Step]:
    """What a node does to the row that comes from ``here``."""
    attributes = _attributes(node)
    others = [constants[name] for name in node.input if name and name != here]
    first = node.input[0] == here
    match node.op_type:
        case "Gemm" if first and not attributes.get("transA", 0):
            kernel = np.asarray(others[0], np.float64) * attributes.get("alpha", 1.0)
            kernel = kernel.T if attributes.get("transB", 0) else kernel
            bias = as_row(others[1]) * attributes.get("beta", 1.0) if len(others) > 1 else np.zeros(1)
            return [_dense(kernel, bias)]
        case "Conv" if first and _is_plain(attributes):
            kernel = np.asarray(others[0], np.float64)
            return [_dense(kernel.reshape(len(kernel), -1).T, as_row(others[1]) if len(others) > 1 else np.zeros(1))]
        case "Sigmoid":  # 1 / (1 + exp(-x)) = (tanh(x / 2) + 1) / 2
            half = np.array([0.5])
            return [Scale(half, np.zeros(1)), Nonlinear("tanh"), Scale(half, half)]
        case "MatMul" if first:
            return [_dense(np.asarray(others[0], np.float64), np.zeros(1))]
        case "Add":
            return [Scale(np.ones(1), as_row(others[0]))]
        case "Sub":
            return [Scale(np.array([1.0 if first else -1.0]), as_row(others[0]) * (-1.0 if first else 1.0))]
        case "Mul":
            return [Scale(as_row(others[0]), np.zeros(1))]
        case "Div" if first and np.all(others[0]):
            return [Scale(1.0 / as_row(others[0]), np.zeros(1))]
        case "Clip" if len(others) == 2 and float(others[0].item()) == -float(others[1].item()) < 0:
            return [Clip(float(others[1].item()))]
        case "Elu" if attributes.get("alpha", 1.0) != 1.0:
            raise NotChainError("its ELU has another alpha than 1")
        case "Flatten" if attributes.get("axis", 1) != 1:
            raise NotChainError("it flattens its batch")
        case "Dropout" if len(others) > 1 and bool(np.any(others[1])):
            raise TeacherError("it drops numbers at random, as in training; export it as it is used: module.eval()")
        case operation if operation in _NOTHING:
            return []
        case operation if operation in _ACTIVATIONS:
            return [Nonlinear(_ACTIVATIONS[operation])]  # type: ignore[arg-type]
        case operation if operation in _ENDINGS and attributes.get("axis", -1) in (-1, 1):
            if attributes.get("select_last_index", 0):
                raise NotChainError("it prefers the last among equals")
            return [Nonlinear(_ENDINGS[operation])]  # type: ignore[arg-type]
    raise NotChainError(f"it computes {node.op_type}")


def _keeps_numbers(kind: int, steps: list[Step]) -> bool:
    """Whether a cast changes nothing: to float or double, or, of the number of an action, to int64."""
    return kind in (1, 11) or (kind == 7 and steps[-1:] == [Nonlinear("argmax")])


def _is_plain(convolution: dict[str, Any]) -> bool:
    """Whether a convolution multiplies all that it sees, with nothing put around it."""
    return not any(convolution.get("pads", [])) and convolution.get("group", 1) == 1


def _dense(kernel: Floats, bias: Floats) -> Dense:
    if kernel.ndim != 2 or kernel.size == 0 or len(bias) not in (1, kernel.shape[1]):
        raise NotChainError(f"it multiplies by an array of shape {kernel.shape}")
    return Dense(kernel, np.broadcast_to(bias, kernel.shape[1]).astype(np.float64))


def _attributes(node: Any) -> dict[str, Any]:
    from onnx import helper

    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _input_length(steps: list[Step]) -> int:
    return next((len(step.kernel) for step in steps if isinstance(step, Dense)), 0)


def _with_runtime(
    path: str | os.PathLike[str], digest: str, continuous: bool, meaning: Meaning, normalize: Any
) -> Teacher:
    try:
        import onnxruntime
    except ImportError:
        raise TeacherError("it is no plain network; others need onnxruntime: pip install 'moet[onnx]'") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # for the same answer on every machine, and batches are small
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of onnxruntime's own kinds
        raise TeacherError(f"onnxruntime cannot load it: {error}") from None
    inputs = session.get_inputs()
    shape = inputs[0].shape
    if len(inputs) != 1 or inputs[0].type not in _NUMBERS or len(shape) != 2 or not isinstance(shape[1], int):
        shown = ", ".join(f"{one.name}: {one.type} {one.shape}" for one in inputs)
        raise TeacherError(
            f"it takes {shown}; a teacher takes one array of numbers, one row of known length per observation"
        )
    return RuntimeTeacher(session, digest, continuous, meaning, read_normalization(normalize, shape[1]))
