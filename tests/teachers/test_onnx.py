"""Networks in ONNX files."""

import contextlib
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet.errors import TeacherError
from moet.teachers import Teacher
from moet.teachers.continuous import ContinuousTeacher
from moet.teachers.network import NetworkTeacher

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from moet.teachers.onnx_file import RuntimeTeacher  # noqa: E402

ROWS = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
RNG = np.random.default_rng(1)
W1, B1 = RNG.normal(size=(4, 8)).astype(np.float32), RNG.normal(size=8).astype(np.float32)
W2, B2 = RNG.normal(size=(8, 3)).astype(np.float32), RNG.normal(size=3).astype(np.float32)
NUMBERS = {
    "W1": W1,
    "B1": B1,
    "W2": W2,
    "B2": B2,
    "W1t": W1.T.copy(),
    "W2t": W2.T.copy(),
    "mean": np.float32([1, 2, 3, 4]),
    "spread": np.float32([2, 1, 4, 0.5]),
    "two": np.float32(2.0),
    "low": np.float32(-1.5),
    "high": np.float32(1.5),
    "size": np.float32([[0.5, 2.0, 1.0]]),
    "one": np.float32([1]),
    "training": np.array(True),
    "ratio": np.float32(0.5),
    "window": W1.T.reshape(8, 1, 1, 4).copy(),
    "narrow": W1.T.reshape(16, 1, 1, 2).copy(),
    "wide": W2.T.reshape(3, 8, 1, 1).copy(),
}


def model(*nodes, output=TensorProto.FLOAT, batch="batch", width=(4,)):
    """A model of operations, each written as "result = Operation(arguments)"."""
    made = []
    for node in nodes:
        text, options = node if isinstance(node, tuple) else (node, {})
        result, call = text.split(" = ")
        operation, arguments = call.removesuffix(")").split("(")
        made.append(helper.make_node(operation, arguments.split(", "), [result], **options))
    used = {name for node in made for name in node.input}
    graph = helper.make_graph(
        made,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *width])],
        [helper.make_tensor_value_info(made[-1].output[0], output, None)],
        [numpy_helper.from_array(array, name) for name, array in NUMBERS.items() if name in used],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def written(tmp_path, *nodes, **options):
    onnx.save(model(*nodes, **options), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def runtime(path, rows=ROWS):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": rows})[0]


PLAIN = {
    "gemm": ("h = Gemm(x, W1, B1)", "a = Tanh(h)", "y = Gemm(a, W2, B2)"),
    "transposed": (("h = Gemm(x, W1t, B1)", {"transB": 1}), "a = Relu(h)", ("y = Gemm(a, W2t, B2)", {"transB": 1})),
    "matmul": ("m = MatMul(x, W1)", "h = Add(m, B1)", "a = Elu(h)", "n = MatMul(a, W2)", "y = Add(B2, n)"),
    "weights turned": (
        ("k = Transpose(W1t)", {"perm": [1, 0]}),
        "h = MatMul(x, k)",
        "a = Tanh(h)",
        "y = MatMul(a, W2)",
    ),
    "factors": (("h = Gemm(x, W1, B1)", {"alpha": 0.5, "beta": 2.0}), "a = Tanh(h)", "y = Gemm(a, W2)"),
    "scaled": ("s = Sub(x, mean)", "z = Div(s, spread)", "h = Gemm(z, W1, B1)", "a = Tanh(h)", "y = Gemm(a, W2, B2)"),
    "clipped": (
        *("s = Sub(x, mean)", "z = Div(s, spread)", "c = Clip(z, low, high)"),
        *("h = Gemm(c, W1, B1)", "a = Tanh(h)", "y = Gemm(a, W2, B2)"),
    ),
    "turned round": ("s = Sub(two, x)", "h = Gemm(s, W1, B1)", "a = Relu(h)", "n = Gemm(a, W2, B2)", "y = Mul(n, two)"),
    "sigmoid": ("h = Gemm(x, W1, B1)", "a = Sigmoid(h)", "y = Gemm(a, W2, B2)"),
    "linear": ("h = Gemm(x, W1, B1)", "y = Gemm(h, W2, B2)"),
    "silent": ("i = Identity(x)", ("f = Flatten(i)", {"axis": 1}), "h = Gemm(f, W1, B1)", "y = Identity(h)"),
    "softmax": ("h = Gemm(x, W1, B1)", "a = Tanh(h)", "n = Gemm(a, W2, B2)", ("y = Softmax(n)", {"axis": -1})),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_networks_are_computed_here_and_answer_as_onnxruntime_does(tmp_path, name, monkeypatch):
    path = written(tmp_path, *PLAIN[name])
    expected = runtime(path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    teacher = Teacher.from_onnx(path, meaning="q_values")
    assert isinstance(teacher, NetworkTeacher)
    top = np.sort(expected, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-4
    assert np.array_equal(teacher.act(ROWS)[clear], expected.argmax(axis=1)[clear])
    assert clear.mean() > 0.9
    scores = np.exp(teacher.scores(ROWS)) if name == "softmax" else teacher.scores(ROWS)
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-4)
    assert teacher.digest == Teacher.from_onnx(path, meaning="q_values").digest


def test_a_network_that_ends_with_the_chosen_action(tmp_path):
    ending = ("y = ArgMax(n)", {"axis": 1, "keepdims": 0})
    nodes = ("h = Gemm(x, W1, B1)", "a = Tanh(h)", "n = Gemm(a, W2, B2)", ending)
    path = written(tmp_path, *nodes, output=TensorProto.INT64)
    teacher = Teacher.from_onnx(path)
    assert isinstance(teacher, NetworkTeacher)
    assert (teacher.act(ROWS) == runtime(path)).mean() > 0.99
    with pytest.raises(TeacherError, match="ends with argmax, so it chooses one of a few; leave continuous out"):
        Teacher.from_onnx(path, continuous=True)


@pytest.mark.parametrize(
    ("ending", "low", "high"),
    [
        ((), [-np.inf] * 3, [np.inf] * 3),
        (("t = Tanh(n)",), [-1.0] * 3, [1.0] * 3),
        (("t = Sigmoid(n)",), [0.0] * 3, [1.0] * 3),
        (("t = Relu(n)", "y = Sub(t, one)"), [-np.inf] * 3, [np.inf] * 3),
        (("t = Tanh(n)", "m = Mul(t, size)", "y = Add(m, one)"), [0.5, -1.0, 0.0], [1.5, 3.0, 2.0]),
    ],
    ids=["as it is", "squashed", "squashed by a sigmoid", "cut off below", "between bounds"],
)
def test_continuous_actions_are_the_outputs_as_they_are(tmp_path, ending, low, high):
    path = written(tmp_path, "h = Gemm(x, W1, B1)", "a = Relu(h)", "n = Gemm(a, W2, B2)", *ending)
    teacher = Teacher.from_onnx(path, continuous=True)
    assert isinstance(teacher, ContinuousTeacher)
    assert teacher.low.tolist() == low
    assert teacher.high.tolist() == high
    np.testing.assert_allclose(teacher.act(ROWS), runtime(path), rtol=1e-4, atol=1e-5)


def test_layers_written_as_convolutions_that_see_everything_are_dense(tmp_path):
    nodes = ("h = Conv(x, window, B1)", "a = Relu(h)", "n = Conv(a, wide, B2)", ("y = Flatten(n)", {"axis": 1}))
    path = written(tmp_path, *nodes, batch=1, width=(1, 1, 4))
    teacher = Teacher.from_onnx(path, continuous=True)
    assert isinstance(teacher, ContinuousTeacher)
    expected = np.concatenate([runtime(path, row.reshape(1, 1, 1, 4)) for row in ROWS])
    np.testing.assert_allclose(teacher.act(ROWS), expected, rtol=1e-4, atol=1e-5)


def test_a_convolution_that_slides_is_no_dense_layer(tmp_path):
    path = written(tmp_path, "h = Conv(x, narrow)", ("y = Flatten(h)", {"axis": 1}), batch=1, width=(1, 1, 4))
    with pytest.raises(TeacherError, match="one row of known length per observation"):
        Teacher.from_onnx(path, continuous=True)


OTHER = {
    "activation": ("h = Gemm(x, W1, B1)", "a = Softsign(h)", "y = Gemm(a, W2, B2)"),
    "different activations": (
        *("h = Gemm(x, W1, B1)", "a = Tanh(h)", "n = Gemm(a, W2, B2)", "b = Relu(n)"),
        *("m = Mul(b, two)", "y = Add(m, n)"),
    ),
    "last activation": ("h = Gemm(x, W1, B1)", "a = Tanh(h)", "n = Gemm(a, W2, B2)", "y = Relu(n)"),
    "elu": ("h = Gemm(x, W1, B1)", ("a = Elu(h)", {"alpha": 0.5}), "y = Gemm(a, W2, B2)"),
    "activation first": ("t = Tanh(x)", "y = Gemm(t, W1, B1)"),
    "whole numbers first": (("i = Cast(x)", {"to": 7}), ("f = Cast(i)", {"to": 1}), "y = Gemm(f, W1, B1)"),
    "whole numbers last": ("h = Gemm(x, W1, B1)", ("i = Cast(h)", {"to": 7}), ("y = Cast(i)", {"to": 1})),
    "rows that are mixed": ("h = Gemm(x, W1, B1)", ("s = Softmax(h)", {"axis": 0}), "y = Add(s, h)"),
}


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.parametrize("batch", ["batch", 1])
def test_other_networks_are_asked_through_onnxruntime(tmp_path, name, batch):
    path = written(tmp_path, *OTHER[name], batch=batch)
    teacher = Teacher.from_onnx(path, meaning="q_values")
    assert isinstance(teacher, RuntimeTeacher)
    expected = np.concatenate([runtime(path, row[None]) for row in ROWS])
    np.testing.assert_allclose(teacher.scores(ROWS), expected, rtol=1e-4, atol=1e-5)
    assert np.array_equal(teacher.act(ROWS), expected.argmax(axis=1))
    assert teacher.n_features == 4
    numbers = Teacher.from_onnx(path, continuous=True)
    np.testing.assert_allclose(numbers.act(ROWS), expected, rtol=1e-4, atol=1e-5)
    assert numbers.continuous
    with pytest.raises(TeacherError, match="gives actions, not scores"):
        numbers.scores(ROWS)


def test_actions_chosen_in_a_network_that_onnxruntime_computes(tmp_path):
    ending = ("y = ArgMax(s)", {"axis": 1, "keepdims": 1})
    path = written(tmp_path, "h = Gemm(x, W1, B1)", "s = Sigmoid(h)", ending, output=TensorProto.INT64)
    teacher = Teacher.from_onnx(path)
    assert isinstance(teacher, RuntimeTeacher)
    assert np.array_equal(teacher.act(ROWS), runtime(path)[:, 0])
    assert not teacher.has_scores


def test_observations_are_normalised_before_the_network_sees_them(tmp_path):
    np.savez(tmp_path / "n.npz", mean=[1.0, 2, 3, 4], var=[4.0, 1, 16, 0.25], epsilon=0.0, clip=1.5)
    given = Teacher.from_onnx(written(tmp_path, *PLAIN["gemm"]), normalize=tmp_path / "n.npz")
    own = Teacher.from_onnx(written(tmp_path, *PLAIN["clipped"]))
    np.testing.assert_allclose(given.scores(ROWS), own.scores(ROWS), rtol=1e-9, atol=1e-12)
    other = Teacher.from_onnx(written(tmp_path, *OTHER["activation"]), normalize=tmp_path / "n.npz", meaning="q_values")
    seen = np.clip((ROWS - [1, 2, 3, 4]) / [2, 1, 4, 0.5], -1.5, 1.5).astype(np.float32)
    np.testing.assert_allclose(other.scores(ROWS), runtime(tmp_path / "net.onnx", seen), rtol=1e-4, atol=1e-5)
    with pytest.raises(TeacherError, match="scales and clips its inputs itself; leave normalize out"):
        Teacher.from_onnx(written(tmp_path, *PLAIN["clipped"]), normalize=tmp_path / "n.npz")


def test_exports_of_pytorch_are_plain_networks(tmp_path):
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *arguments, **options: None)  # those of the exporter
        torch.onnx.export(
            net, (torch.zeros(2, 4),), tmp_path / "net.onnx", dynamo=False, dynamic_axes={"x": [0]}, input_names=["x"]
        )
    teacher = Teacher.from_onnx(tmp_path / "net.onnx")
    assert isinstance(teacher, NetworkTeacher)
    with torch.no_grad():
        expected = net(torch.as_tensor(ROWS)).numpy()
    np.testing.assert_allclose(teacher.network.outputs(ROWS.astype(np.float64)), expected, rtol=1e-4, atol=1e-5)


def test_weights_beside_the_file_are_read_and_those_elsewhere_are_not(tmp_path):
    onnx.save(model(*PLAIN["gemm"]), tmp_path / "net.onnx")
    inside = Teacher.from_onnx(tmp_path / "net.onnx")
    made = model(*PLAIN["gemm"])
    onnx.save(made, tmp_path / "net.onnx", save_as_external_data=True, location="net.data", size_threshold=0)
    assert (tmp_path / "net.data").exists()
    assert Teacher.from_onnx(tmp_path / "net.onnx").digest == inside.digest
    stolen = onnx.load(tmp_path / "net.onnx", load_external_data=False)
    for location in ("../net.data", "/etc/passwd"):
        for tensor in stolen.graph.initializer:
            next(entry for entry in tensor.external_data if entry.key == "location").value = location
        (tmp_path / "stolen.onnx").write_bytes(stolen.SerializeToString())
        with pytest.raises(TeacherError, match=f"wants to read '{location}', which is not beside it"):
            Teacher.from_onnx(tmp_path / "stolen.onnx")


def test_files_that_are_no_networks_are_refused(tmp_path, monkeypatch):
    with pytest.raises(TeacherError, match=r"cannot read .*missing\.onnx: No such file"):
        Teacher.from_onnx(tmp_path / "missing.onnx")
    for content in (b"", b"no model", b"\xff" * 100):
        (tmp_path / "net.onnx").write_bytes(content)
        with pytest.raises(TeacherError, match=r"cannot read .*net\.onnx: it is no ONNX file, or damaged"):
            Teacher.from_onnx(tmp_path / "net.onnx")
    with pytest.raises(TeacherError, match="onnxruntime cannot load it"):
        Teacher.from_onnx(written(tmp_path, "y = NoSuchThing(x)"))
    with pytest.raises(TeacherError, match=r"it takes x: tensor\(float\) .*one row of known length"):
        Teacher.from_onnx(written(tmp_path, "y = Sigmoid(x)", width=("any",)))
    with pytest.raises(TeacherError, match=r"drops numbers at random.*module\.eval"):
        Teacher.from_onnx(written(tmp_path, "d = Dropout(x, ratio, training)", "y = Gemm(d, W1, B1)"))
    path = written(tmp_path, *OTHER["activation"])
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "onnxruntime", None)
        with pytest.raises(TeacherError, match=r"others need onnxruntime: pip install 'moet\[onnx\]'"):
            Teacher.from_onnx(path)
        patch.setitem(sys.modules, "onnx", None)
        with pytest.raises(TeacherError, match=r"needs the package onnx: pip install 'moet\[onnx\]'"):
            Teacher.from_onnx(path)
    monkeypatch.setattr("moet.teachers.onnx_file.MAX_BYTES", 10)
    with pytest.raises(TeacherError, match="bytes, more than 10"):
        Teacher.from_onnx(path)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_told_or_harmless(tmp_path, data):
    content = bytearray(model(*PLAIN["clipped"]).SerializeToString(deterministic=True))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "net.onnx").write_bytes(content)
    with contextlib.suppress(TeacherError):  # and nothing else
        assert len(Teacher.from_onnx(tmp_path / "net.onnx").act(ROWS[:, : W1.shape[0]])) == len(ROWS)
