"""Networks of PyTorch: alive, as parameters by name, and in files of which nothing is executed."""

import sys
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet.errors import TeacherError
from moet.teachers import Teacher
from moet.teachers.continuous import ContinuousTeacher
from moet.teachers.network import NetworkTeacher

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from moet.teachers.torch_file import LiveModule  # noqa: E402

from .test_sb3 import Touch  # noqa: E402

ROWS = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)


def sequence(activation=nn.Tanh, outputs=2):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), activation(), nn.Linear(8, 6), activation(), nn.Linear(6, outputs))


def outputs(module, rows=ROWS):
    with torch.no_grad():
        return module(torch.as_tensor(rows)).numpy()


def assert_answers_alike(teacher, module):
    expected = outputs(module)
    np.testing.assert_allclose(teacher.network.outputs(ROWS.astype(np.float64)), expected, rtol=1e-4, atol=1e-5)
    assert (teacher.act(ROWS) == expected.argmax(axis=1)).mean() > 0.98


class Agent(nn.Module):
    """As CleanRL's agents are: several networks, and nothing that could be called."""

    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


class Actor(nn.Module):
    """CleanRL's TD3."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.fc1, self.fc2, self.fc_mu = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 2)
        self.register_buffer("action_scale", torch.tensor([2.0, 0.5]))
        self.register_buffer("action_bias", torch.tensor([0.0, 1.0]))

    def forward(self, x):
        x = torch.relu(self.fc2(torch.relu(self.fc1(x))))
        return torch.tanh(self.fc_mu(x)) * self.action_scale + self.action_bias


# Alive


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU, nn.ELU])
def test_a_live_sequence_is_a_plain_network(activation):
    module = sequence(activation)
    teacher = Teacher.from_torch(module)
    assert isinstance(teacher, NetworkTeacher)
    assert_answers_alike(teacher, module)
    before = teacher.act(ROWS)
    with torch.no_grad():
        module[0].weight.zero_()
    assert np.array_equal(teacher.act(ROWS), before)  # it does not learn on with its module


def test_other_live_modules_are_asked_as_they_are():
    class Doubled(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.drop = sequence(), nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(2 * self.net(x))

    module = Doubled().train()
    teacher = Teacher.from_torch(module, meaning="q_values")
    assert isinstance(teacher, LiveModule)
    assert (teacher.n_features, teacher.n_actions) == (4, 2)
    module.eval()
    np.testing.assert_allclose(teacher.scores(ROWS), outputs(module), rtol=1e-5)
    module.train()
    assert np.array_equal(teacher.act(ROWS), teacher.scores(ROWS).argmax(axis=1))
    assert module.training
    numbers = Teacher.from_torch(Actor(), continuous=True)
    np.testing.assert_allclose(numbers.act(ROWS), outputs(Actor()), rtol=1e-5)
    with pytest.raises(TeacherError, match="no scores"):
        numbers.scores(ROWS)


class Turned(nn.Linear):
    def forward(self, x):
        return -super().forward(x)


class TurnedSequence(nn.Sequential):
    def forward(self, x):
        return -super().forward(x)


def hooked(register, hook):
    module = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    getattr(module[2], register)(hook)
    return module


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Linear(4, 8), nn.Tanh(), Turned(8, 3)),
        TurnedSequence(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)),
        hooked("register_forward_hook", lambda layer, seen, answer: -answer),
        hooked("register_forward_pre_hook", lambda layer, seen: (-seen[0],)),
    ],
    ids=["layer", "sequence", "hook after", "hook before"],
)
def test_a_module_that_does_something_of_its_own_is_asked_instead_of_copied(module):
    teacher = Teacher.from_torch(module)
    assert isinstance(teacher, LiveModule)
    assert np.array_equal(teacher.act(ROWS), outputs(module).argmax(axis=1))


def test_modules_that_cannot_be_asked_are_told_what_to_give():
    with pytest.raises(TeacherError, match=r"cannot be asked .*give the part of it that acts, such as agent\.actor"):
        Teacher.from_torch(Agent(actor=sequence(), critic=sequence()))
    with pytest.raises(TeacherError, match=r"no fully connected layer; wrap it: Teacher\.from_callable"):
        Teacher.from_torch(nn.Conv2d(3, 4, 2))
    with pytest.raises(TeacherError, match=r"expected a torch\.nn\.Module, its state dict or the path .*, got 3"):
        Teacher.from_torch(3)


# Parameters by name


def test_a_state_dict_with_its_activation_is_the_network():
    teacher = Teacher.from_torch(sequence().state_dict(), activation="tanh")
    assert teacher.digest == Teacher.from_torch(sequence()).digest
    arrays = {name: tensor.numpy() for name, tensor in sequence().state_dict().items()}
    assert Teacher.from_torch(arrays, activation="tanh").digest == teacher.digest
    with pytest.raises(TeacherError, match=r"does not say what stands between its layers; .*\(moet: --activation\)"):
        Teacher.from_torch(arrays)
    with pytest.raises(TeacherError, match=r"activation must be one of relu, elu, tanh, .*, got 'glu'"):
        Teacher.from_torch(arrays, activation="glu")


def cleanrl_files():
    agent = Agent(critic=sequence(outputs=1), actor=sequence())
    continuous = Agent(critic=sequence(outputs=1), actor_mean=sequence())
    continuous.actor_logstd = nn.Parameter(torch.zeros(1, 2))
    dqn = Agent(network=sequence(nn.ReLU))
    td3 = (Actor().state_dict(), Agent(qf1=sequence()).state_dict())
    return {
        "ppo": (agent.state_dict(), "tanh", sequence()),
        "ppo continuous": (continuous.state_dict(), "tanh", sequence()),
        "dqn": (dqn.state_dict(), "relu", sequence(nn.ReLU)),
        "td3": (td3, "relu", Actor()),
        "checkpoint": ({"model_state_dict": dqn.state_dict(), "step": 7}, "relu", sequence(nn.ReLU)),
        "actor and critic": (
            {"actor": sequence().state_dict(), "critic": sequence(outputs=1).state_dict(), "optimizer": {"lr": 0.1}},
            "tanh",
            sequence(),
        ),
    }


@pytest.mark.parametrize("name", cleanrl_files())
def test_files_as_cleanrl_writes_them(tmp_path, name):
    content, activation, module = cleanrl_files()[name]
    torch.save(content, tmp_path / "agent.cleanrl_model")
    teacher = Teacher.from_torch(tmp_path / "agent.cleanrl_model", activation=activation)
    if name in ("td3", "ppo continuous"):
        assert isinstance(teacher, ContinuousTeacher)
        np.testing.assert_allclose(teacher.act(ROWS), outputs(module), rtol=1e-4, atol=1e-5)
        bounds = ([-2.0, 0.5], [2.0, 1.5]) if name == "td3" else ([-np.inf] * 2, [np.inf] * 2)
        assert (teacher.low.tolist(), teacher.high.tolist()) == bounds
    else:
        assert_answers_alike(teacher, module)


def test_a_file_of_several_networks_asks_for_the_one_that_acts(tmp_path):
    both = {"one": sequence().state_dict(), "two": sequence(nn.ReLU).state_dict()}
    torch.save(both, tmp_path / "agent.pt")
    with pytest.raises(TeacherError, match=r"several networks; name the one that acts: part='one' or 'two'"):
        Teacher.from_torch(tmp_path / "agent.pt", activation="tanh")
    chosen = Teacher.from_torch(tmp_path / "agent.pt", activation="tanh", part="one")
    assert chosen.digest == Teacher.from_torch(sequence()).digest
    flat = Agent(left=sequence(), right=sequence()).state_dict()
    with pytest.raises(TeacherError, match=r"do not follow one another; .*part='left' or 'right'"):
        Teacher.from_torch(flat, activation="tanh")
    assert Teacher.from_torch(flat, activation="tanh", part="right.").digest == chosen.digest


def test_layers_that_are_not_fully_connected_are_refused():
    module = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))
    with pytest.raises(TeacherError, match=r"beyond those of fully connected layers: 1\.weight.*torch\.onnx\.export"):
        Teacher.from_torch(module.state_dict(), activation="tanh")
    assert isinstance(Teacher.from_torch(module), LiveModule)
    with pytest.raises(TeacherError, match="parameters must be tensors by name"):
        Teacher.from_torch({"0.weight": "text"}, activation="tanh")


# Files that should not be trusted


def test_nothing_in_a_file_is_executed(tmp_path):
    mark = tmp_path / "executed"
    for content in ({"0.weight": Touch(mark)}, Touch(mark), sequence()):
        torch.save(content, tmp_path / "agent.pt")
        with pytest.raises(TeacherError, match=r"cannot read .*agent\.pt: it holds more than numbers.*state_dict\(\)"):
            Teacher.from_torch(tmp_path / "agent.pt", activation="tanh")
        assert not mark.exists()
    torch.save(Touch(mark), tmp_path / "agent.pt")
    torch.load(tmp_path / "agent.pt", weights_only=False)
    assert mark.exists()  # so the bait was a real one


def test_tensors_that_claim_too_much_are_refused(tmp_path):
    torch.save({"0.weight": torch.zeros(1).expand(2**20, 2**20)}, tmp_path / "agent.pt")
    with pytest.raises(TeacherError, match="its parameters unpack to 8796093022208 bytes"):
        Teacher.from_torch(tmp_path / "agent.pt", activation="tanh")
    torch.save({"0.weight": torch.zeros(1).expand(2**31, 2**31)}, tmp_path / "agent.pt")  # 2**64 bytes and more
    with pytest.raises(TeacherError, match="cannot read"):
        Teacher.from_torch(tmp_path / "agent.pt", activation="tanh")


def test_files_that_are_no_networks_are_refused(tmp_path, monkeypatch):
    with pytest.raises(TeacherError, match=r"cannot read .*missing\.pt: No such file"):
        Teacher.from_torch(tmp_path / "missing.pt")
    (tmp_path / "text.pt").write_text("no network")
    with pytest.raises(TeacherError, match=r"it holds more than numbers.* or is damaged"):
        Teacher.from_torch(tmp_path / "text.pt")
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(TeacherError, match="it holds no parameters by name"):
        Teacher.from_torch(tmp_path / "list.pt")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(TeacherError, match=r"needs PyTorch: pip install 'moet\[teachers\]'"):
        Teacher.from_torch(tmp_path / "text.pt")


# TorchScript


@pytest.fixture
def script(tmp_path):
    def save(module, name="script.pt"):
        traced = torch.jit.trace(module, torch.zeros(1, 4))
        torch.jit.save(traced, tmp_path / name)
        return tmp_path / name

    return save


pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
def test_torchscript_of_a_sequence_is_read_without_pytorch(script, activation, monkeypatch):
    module = sequence(activation)
    expected = Teacher.from_torch(module).digest
    path = script(module)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert Teacher.from_torch(path).digest == expected


def test_torchscript_of_another_module_needs_its_activation(script):
    path = script(Actor())
    with pytest.raises(TeacherError, match="does not say what stands between its layers"):
        Teacher.from_torch(path)
    teacher = Teacher.from_torch(path, activation="relu")
    assert isinstance(teacher, ContinuousTeacher)
    np.testing.assert_allclose(teacher.act(ROWS), outputs(Actor()), rtol=1e-4, atol=1e-5)


def rewritten(path, target, **members):
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    root = next(iter(contents)).partition("/")[0]
    contents |= {f"{root}/{name}": content for name, content in members.items()}
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return target


def test_nothing_in_torchscript_is_executed(script, tmp_path):
    import pickle

    mark = tmp_path / "executed"
    bait = rewritten(script(sequence()), tmp_path / "bait.pt", **{"data.pkl": pickle.dumps(Touch(mark))})
    with pytest.raises(TeacherError, match=r"it names .*mkdir, .*nothing was executed"):
        Teacher.from_torch(bait)
    assert not mark.exists()
    short = rewritten(script(sequence()), tmp_path / "short.pt", **{"data/0": b"1234"})
    with pytest.raises(TeacherError, match=r"it holds a tensor of shape \(8, 4\), but 4 bytes for it"):
        Teacher.from_torch(short)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    file = tmp_path_factory.mktemp("script") / "script.pt"
    torch.jit.save(torch.jit.trace(sequence(), torch.zeros(1, 4)), file)
    return file.read_bytes()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_told_or_harmless(whole, tmp_path, data):
    content = bytearray(whole)
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    (tmp_path / "damaged.pt").write_bytes(content)
    try:
        teacher = Teacher.from_torch(tmp_path / "damaged.pt", activation="tanh")
    except TeacherError:  # and nothing else
        return
    assert teacher.act(ROWS).shape == (200,)


def test_modules_without_bias_and_with_softmax():
    module = nn.Sequential(OrderedDict(a=nn.Linear(4, 3, bias=False), b=nn.Softmax(dim=-1)))
    teacher = Teacher.from_torch(module)
    np.testing.assert_allclose(np.exp(teacher.scores(ROWS)), outputs(module), rtol=1e-4, atol=1e-6)
