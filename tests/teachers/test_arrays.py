import contextlib
import os
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet.errors import TeacherError
from moet.teachers import Teacher, arrays
from moet.teachers.arrays import read_network, write_network
from moet.teachers.network import Network, NetworkTeacher

from .networks import a_network, networks, random_layers

ROWS = np.random.default_rng(0).normal(size=(20, 3))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "agent.npz"


def stored(network, path):
    """The arrays that ``network`` is stored as."""
    write_network(network, path)
    with np.load(path, allow_pickle=False) as members:
        return dict(members)


def refused(path, members, message):
    np.savez(path, **members)
    with pytest.raises(TeacherError, match=message) as failure:
        read_network(path)
    assert str(failure.value).startswith(f"cannot read {path}: ")


@settings(max_examples=60)
@given(network=networks())
def test_a_network_survives_its_file_to_the_bit(tmp_path_factory, network):
    path = tmp_path_factory.getbasetemp() / "survivor.npz"
    write_network(network, path)
    assert read_network(path).digest == network.digest
    first = path.read_bytes()
    write_network(read_network(path).network, path)
    assert path.read_bytes() == first


def test_names_of_features_survive_too(path):
    head = random_layers(np.random.default_rng(0), 18, 3)
    write_network(Network([], head, activation="relu", meaning="q_values", features="pong"), path)
    assert read_network(path).network.features == "pong"


def test_single_precision_stays_small(path):
    members = stored(a_network(dueling=True, scale=[0.1, 1, 1]), path)
    assert {array.dtype for name, array in members.items() if "/" in name} == {np.dtype(np.float32)}
    doubled = Network([], [(np.full((3, 2), 0.1), np.zeros(2))], activation="relu", meaning="logits")
    assert stored(doubled, path)["output/kernel"].dtype == np.float64


def test_the_stored_names_are_those_of_the_documentation(path):
    assert set(stored(a_network(), path)) == {
        *("moet_network", "activation", "meaning"),
        *("hidden_1/kernel", "hidden_1/bias", "hidden_2/kernel", "hidden_2/bias", "output/kernel", "output/bias"),
    }
    dueling = set(stored(a_network(dueling=True, offset=np.ones(3), scale=np.ones(3), clip=2.0), path))
    assert dueling >= {"advantage_1/kernel", "advantage_2/bias", "value_1/kernel", "value_2/bias"}
    assert dueling >= {"input_offset", "input_scale", "input_clip"}


@pytest.mark.parametrize("dueling", [False, True])
def test_weights_are_kernels_transposed(path, dueling):
    network = a_network(dueling=dueling)
    turned = {
        name.replace("kernel", "weight"): array.T if name.endswith("kernel") else array
        for name, array in stored(network, path).items()
    }
    np.savez(path, **turned)
    assert read_network(path).digest == network.digest


def published(network):
    """``network`` under the names of the published agents, which say nothing about activations."""
    if network.value:
        layers = {f"hidden_layer_{k}": layer for k, layer in enumerate(network.hidden, start=1)}
        layers |= {"advantage_fc": network.head[0], "advantages": network.head[1]}
        layers |= {"value_fc": network.value[0], "value": network.value[1]}
    else:
        layers = {f"hidden_{k}": layer for k, layer in enumerate(network.hidden, start=1)} | {"output": network.head[0]}
    return {f"{name}/{part}": array for name, layer in layers.items() for part, array in layer._asdict().items()}


@pytest.mark.parametrize(
    "network",
    [a_network(dueling=True, activation="elu", meaning="q_values"), a_network(activation="relu", meaning="logits")],
    ids=["dueling", "policy"],
)
def test_published_layouts_are_known_by_their_names(path, network):
    np.savez(path, **published(network))
    teacher = Teacher.from_arrays(path)
    assert teacher.digest == network.digest
    assert (teacher.n_features, teacher.n_actions) == (3, 4)
    assert np.array_equal(teacher.scores(ROWS), NetworkTeacher(network).scores(ROWS))


def test_a_file_may_say_what_the_layout_leaves_open(path):
    network = a_network(activation="tanh", meaning="q_values")
    np.savez(path, **published(network), activation="tanh", meaning="q_values")
    assert read_network(path).digest == network.digest


LAYER = {"kernel": np.ones((3, 2)), "bias": np.ones(2)}
PLAIN = {f"output/{part}": array for part, array in LAYER.items()}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "its layers make no network.* This file holds nothing"),
        (
            {"conv1/weight": np.ones((4, 4, 8, 8)), "conv1/bias": np.ones(4)},
            r"not understood: conv1 \(a network with conv",
        ),
        ({"fc/weight": np.ones((2, 3)), "fc/bias": np.ones(2)}, r"not understood: fc\. .* holds fc/weight \(2, 3\)"),
        (PLAIN | {"hidden_2/kernel": np.ones((3, 3)), "hidden_2/bias": np.ones(3)}, "not understood: hidden_2"),
        (PLAIN | {"value_1/kernel": np.ones((3, 1)), "value_1/bias": np.ones(1)}, "its layers make no network"),
        (PLAIN | {"dropout": np.ones(1)}, "not understood: dropout"),
        (PLAIN | {"output/weight": np.ones((2, 3))}, "layer output must have a bias and either a kernel or a weight"),
        ({"output/kernel": np.ones((3, 2))}, "layer output must have a bias and either a kernel or a weight"),
        (
            {f"{name}/{part}": array for name in ("hidden_1", "hidden_layer_1") for part, array in LAYER.items()},
            "the kernel of layer hidden_1 twice",
        ),
        (PLAIN | {"activation": "glu"}, "activation must be one of relu, elu, tanh, .*, got 'glu'"),
        (PLAIN | {"activation": ["relu", "tanh"]}, r"activation must be a single value, it has shape \(2,\)"),
        (PLAIN | {"features": "os.system"}, "features must be one of None, pong"),
        (PLAIN | {"input_clip": "abc"}, "clip must be an array of numbers"),
        (PLAIN | {"input_scale": np.zeros(3)}, "scale must not be zero"),
        (PLAIN | {"moet_network": 2, "novelty": 1}, "its format version is 2, this moet reads 1"),
        ({"output/kernel": np.full((3, 2), np.inf), "output/bias": np.ones(2)}, "must hold finite numbers"),
        ({"output/kernel": np.ones((3, 2)), "output/bias": np.ones(3)}, r"kernel of shape \(3, 2\) and 3 biases"),
        ({"output/kernel": np.array("abc"), "output/bias": np.ones(3)}, "must be an array of numbers"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_reason(path, members, message):
    refused(path, members, message)


class Touch:
    """An object whose unpickling makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_nothing_in_a_file_is_executed(path, tmp_path):
    mark = tmp_path / "executed"
    bait = PLAIN | {"activation": np.array([Touch(mark)], dtype=object)}
    refused(path, bait, r"no \.npz file of plain arrays, or damaged")
    assert not mark.exists()
    with np.load(path, allow_pickle=True) as members:
        members["activation"]
    assert mark.exists()  # so the bait was a real one
    path.write_bytes(pickle.dumps(Touch(tmp_path / "again")))
    with pytest.raises(TeacherError, match=r"no \.npz file of plain arrays"):
        read_network(path)
    assert not (tmp_path / "again").exists()


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(path, monkeypatch):
    monkeypatch.setattr(arrays, "MAX_BYTES", 100_000)
    np.savez_compressed(path, **{"output/kernel": np.zeros((200, 100)), "output/bias": np.zeros(100)})
    assert path.stat().st_size < 2000
    with pytest.raises(TeacherError, match=r"it unpacks to 161\d\d\d bytes, more than 100000"):
        read_network(path)


@settings(max_examples=150)
@given(st.data())
def test_damage_is_told_or_harmless(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    write_network(a_network(), path)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with contextlib.suppress(TeacherError):  # and nothing else
        assert np.isfinite(read_network(path).scores(ROWS)).all()


def test_files_that_are_not_there_or_no_archives(tmp_path):
    for name, message in (("missing.npz", "No such file"), ("", "Is a directory|Permission denied")):
        with pytest.raises(TeacherError, match=message):
            read_network(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("output/kernel.npy", "not an array")
    with pytest.raises(TeacherError, match=r"of plain arrays: output/kernel is something else"):
        read_network(tmp_path / "text.npz")


def test_a_write_that_fails_leaves_the_file_as_it_was(path, tmp_path, monkeypatch):
    write_network(a_network(0), path)
    before = path.read_bytes()

    def full_disk(file, **members):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(TeacherError, match=r"cannot write .*: No space left on device"):
        write_network(a_network(1), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["agent.npz"]


def test_there_must_be_a_folder_to_write_to(tmp_path):
    with pytest.raises(TeacherError, match=r"cannot write .*: No such file or directory"):
        write_network(a_network(), tmp_path / "nowhere" / "agent.npz")
    (tmp_path / "file").touch()
    with pytest.raises(TeacherError, match=r"cannot write .*: Not a directory"):
        write_network(a_network(), tmp_path / "file" / "agent.npz")
