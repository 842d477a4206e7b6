"""Agents of Stable-Baselines3: alive, in files, and in files that should not be trusted."""

import base64
import contextlib
import io
import json
import os
import pickle
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet.errors import TeacherError
from moet.teachers import Teacher, sb3_zip
from moet.teachers.network import NetworkTeacher
from moet.teachers.sb3 import LivePolicy

torch = pytest.importorskip("torch")
stable_baselines3 = pytest.importorskip("stable_baselines3")

from stable_baselines3 import A2C, DQN, PPO  # noqa: E402
from stable_baselines3.common.policies import ActorCriticPolicy  # noqa: E402
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor  # noqa: E402

OBSERVATIONS = np.random.default_rng(0).normal(scale=[1.0, 1.0, 0.2, 1.0], size=(3000, 4)).astype(np.float32)
SHORT_RUNS = {
    DQN: {"learning_starts": 20, "buffer_size": 500},
    PPO: {"n_steps": 64, "batch_size": 32, "n_epochs": 2},
    A2C: {},
}


def train(algorithm, env="CartPole-v1", steps=200, **policy):
    options = SHORT_RUNS.get(algorithm, {})
    model = algorithm("MlpPolicy", env, seed=0, device="cpu", policy_kwargs=policy or None, **options)
    return model.learn(steps)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def models():
    """One trained agent per algorithm and activation."""
    return {
        "dqn": train(DQN),
        "dqn tanh": train(DQN, activation_fn=torch.nn.Tanh, net_arch=[12, 8, 8]),
        "ppo": train(PPO),
        "ppo elu": train(PPO, activation_fn=torch.nn.ELU, net_arch={"pi": [16, 8], "vf": [5]}),
        "ppo linear": train(PPO, net_arch=[]),
        "a2c relu": train(A2C, activation_fn=torch.nn.ReLU, ortho_init=False),
    }


NAMES = ["dqn", "dqn tanh", "ppo", "ppo elu", "ppo linear", "a2c relu"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "agent.zip"


def saved(model, path):
    model.save(path)
    return path


def scores_of_sb3(model, observations):
    """Q values or clipped log-probabilities, asked of Stable-Baselines3 itself."""
    with torch.no_grad():
        inputs = torch.as_tensor(observations)
        if isinstance(model, DQN):
            return model.q_net(inputs).numpy()
        return np.log(model.policy.get_distribution(inputs).distribution.probs.double().numpy() + 1e-10)


def assert_answers_alike(teacher, model, raw=OBSERVATIONS, seen=None):
    """Both agree on the scores up to single precision, and on every action that does not hang on the last digits."""
    seen = raw if seen is None else seen
    scores = teacher.scores(raw)
    np.testing.assert_allclose(scores, scores_of_sb3(model, seen), rtol=2e-4, atol=2e-5)
    actions, _ = model.predict(seen, deterministic=True)
    top = np.sort(scores, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-4
    assert clear.mean() > 0.95
    assert np.array_equal(teacher.act(raw)[clear], actions[clear])


@pytest.mark.parametrize("name", NAMES)
def test_alive_and_in_a_file_an_agent_answers_as_in_stable_baselines(models, path, name):
    model = models[name]
    teacher = Teacher.from_sb3(saved(model, path))
    assert isinstance(teacher, NetworkTeacher)
    assert (teacher.n_features, teacher.n_actions) == (4, 2)
    assert_answers_alike(teacher, model)
    assert Teacher.from_sb3(model).digest == teacher.digest
    assert Teacher.from_sb3(str(path), trust=True).digest == teacher.digest


def test_a_teacher_does_not_learn_on_with_its_model():
    model = train(DQN, steps=30)
    teacher = Teacher.from_sb3(model)
    before = teacher.scores(OBSERVATIONS)
    model.learn(100)
    assert np.array_equal(teacher.scores(OBSERVATIONS), before)
    assert Teacher.from_sb3(model).digest != teacher.digest


# What is in a file


def rewrite(path, edit=lambda data: None, state=lambda state: state, **members):
    """Change the JSON of a saved agent, its parameters, or whole members."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    data = json.loads(contents["data"])
    edit(data)
    contents["data"] = json.dumps(data).encode()
    contents["policy.pth"] = as_pth(state(torch.load(io.BytesIO(contents["policy.pth"]), weights_only=True)))
    contents |= members
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            if content is not None:
                archive.writestr(name, content)
    return path


def as_pth(thing):
    file = io.BytesIO()
    torch.save(thing, file)
    return file.getvalue()


def to_gym(data):
    """Make the spaces of a saved agent those of an early gym."""
    for name in ("observation_space", "action_space"):
        kind = data[name][":type:"]
        module, _, space = kind.removeprefix("<class 'gymnasium").removesuffix("'>").rpartition(".")
        data[name][":type:"] = kind.replace("gymnasium", "gym")
        data[name]["shape"] = data[name].pop("_shape")
        data[name][":serialized:"] = base64.b64encode(f"cgym{module}\n{space}\n.".encode()).decode()
    data["action_space"]["n"] = int(data["action_space"]["n"])


@pytest.mark.parametrize("name", ["dqn", "ppo elu"])
def test_files_from_the_days_of_gym_are_read_without_stable_baselines(models, path, name, monkeypatch):
    rewrite(saved(models[name], path), to_gym)
    with pytest.raises(TeacherError, match="cannot load it: No module named 'gym'"):
        Teacher.from_sb3(path, trust=True)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "stable_baselines3", None)
        teacher = Teacher.from_sb3(path)
    assert teacher.digest == Teacher.from_sb3(models[name]).digest


class Touch:
    """An object whose unpickling makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_nothing_in_a_file_is_executed_unless_it_is_trusted(models, path, tmp_path):
    mark = tmp_path / "executed"
    bait = {":type:": "<class 'dict'>", ":serialized:": base64.b64encode(pickle.dumps(Touch(mark))).decode()}
    rewrite(saved(models["dqn"], path), lambda data: data.update(policy_kwargs=bait, lr_schedule=bait))
    assert Teacher.from_sb3(path).digest == Teacher.from_sb3(models["dqn"]).digest
    assert not mark.exists()
    with pytest.raises(TeacherError, match="Stable-Baselines3 cannot load it"):
        Teacher.from_sb3(path, trust=True)
    assert mark.exists()  # so the bait was a real one


def test_parameters_that_would_execute_something_are_refused(models, path, tmp_path):
    mark = tmp_path / "executed"
    bait = as_pth({"q_net.q_net.0.weight": Touch(mark)})
    rewrite(saved(models["dqn"], path), **{"policy.pth": bait, "policy.optimizer.pth": bait})
    with pytest.raises(TeacherError, match=r"policy\.pth holds anything but tensors, or is damaged"):
        Teacher.from_sb3(path)
    assert not mark.exists()
    torch.load(io.BytesIO(bait), weights_only=False)
    assert mark.exists()  # so the bait was a real one


def test_a_file_that_unpacks_to_too_much_is_refused(models, path, monkeypatch):
    saved(models["dqn"], path)
    huge = {"q_net.q_net.0.weight": torch.zeros(1).expand(2**20, 2**20)}  # four bytes that claim to be 4 TiB
    rewrite(path, **{"policy.pth": as_pth(huge)})
    with pytest.raises(TeacherError, match=r"policy\.pth unpacks to 4398046511104 bytes, more than 268435456"):
        Teacher.from_sb3(path)
    monkeypatch.setattr(sb3_zip, "MAX_BYTES", 2**20)
    monkeypatch.setattr(sb3_zip, "MAX_TEXT", 2**20)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", bytes(2**21))
    for name, content in (("data", b" " * 2**21), ("policy.pth", bytes(2**21)), ("policy.pth", packed.getvalue())):
        rewrite(saved(models["dqn"], path), **{name: content})
        assert path.stat().st_size < 2**20
        with pytest.raises(TeacherError, match=rf"{name} unpacks to 2097152 bytes, more than 1048576"):
            Teacher.from_sb3(path)


def renamed(old, new):
    return lambda state: {name.replace(old, new): tensor for name, tensor in state.items()}


def test_layers_shared_with_the_value_as_before_version_1_8(models, path):
    rewrite(saved(models["ppo elu"], path), state=renamed("policy_net.0", "shared_net.0"))
    rewrite(path, state=renamed("policy_net.2", "policy_net.0"))
    assert Teacher.from_sb3(path).digest == Teacher.from_sb3(models["ppo elu"]).digest


def test_quantiles_of_qr_dqn_are_averaged(models, path):
    quantiles = torch.nn.Sequential(torch.nn.Linear(4, 7), torch.nn.ReLU(), torch.nn.Linear(7, 5 * 2))

    def to_qr_dqn(data):
        data["policy_class"]["__module__"] = "sb3_contrib.qrdqn.policies"
        data["policy_kwargs"] = {"n_quantiles": 5}

    def state(_):
        return {f"quantile_net.quantile_net.{name}": tensor for name, tensor in quantiles.state_dict().items()}

    rewrite(saved(models["dqn"], path), to_qr_dqn, state)
    teacher = Teacher.from_sb3(path)
    with torch.no_grad():
        expected = quantiles(torch.as_tensor(OBSERVATIONS)).view(-1, 5, 2).mean(dim=1)
    np.testing.assert_allclose(teacher.scores(OBSERVATIONS), expected.numpy(), rtol=1e-4, atol=1e-5)
    rewrite(path, lambda data: data["policy_kwargs"].update(n_quantiles=4))
    with pytest.raises(TeacherError, match="it has 10 outputs, not 4 for each of 2 actions"):
        Teacher.from_sb3(path)


def edited(*keys, value):
    def edit(data):
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value

    return {"edit": edit}


def with_setting(name, value):
    return edited("policy_kwargs", value={name: value})


def with_tensor(name, *shape):
    return {"state": lambda state: state | {name: torch.ones(shape)}}


def without(name):
    return {"state": lambda state: {key: tensor for key, tensor in state.items() if key != name}}


LEAKY = "<class 'torch.nn.modules.activation.Softsign'>"
MULTI = "<class 'gymnasium.spaces.multi_discrete.MultiDiscrete'>"
DICT = "<class 'gymnasium.spaces.dict.Dict'>"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edited("policy_class", "__module__", value="__main__"), "its policy is defined in __main__, .* trust=True"),
        (
            with_setting("attention_heads", 2),
            "made with attention_heads, which .* trust=True",
        ),
        (
            with_setting("activation_fn", LEAKY),
            r"activation is torch.*\.Softsign; known .*trust=True",
        ),
        (
            with_setting("activation_fn", "<class '__main__.ReLU'>"),
            "its activation is __main__.ReLU",
        ),
        (
            with_setting("activation_fn", "functools.partial(ELU)"),
            "its activation is functools.partial",
        ),
        (
            with_setting("features_extractor_class", "<class 'my.Net'>"),
            "features extractor is my.Net",
        ),
        (edited("policy_kwargs", value=None), "its member data says nothing about policy_kwargs"),
        (
            edited("action_space", ":type:", value=MULTI),
            "its actions are a MultiDiscrete; a teacher chooses",
        ),
        (
            edited("action_space", ":type:", value="<class 'my.Space'>"),
            r"its actions are a Space; .*Teacher\.from_callable",
        ),
        (edited("action_space", "n", value="many"), "its actions are a Discrete"),
        (edited("action_space", "n", value="3"), "its spaces say 3 actions, its network is for 2 actions"),
        (edited("observation_space", ":type:", value=DICT), "says that it sees a Dict, and that it sees a gym"),
        (edited("observation_space", ":type:", value=MULTI), r"it sees a MultiDiscrete .*Teacher\.from_callable"),
        (edited("observation_space", "_shape", value=[84, 84, 4]), "say observations of 28224 numbers, its network is"),
        (edited("observation_space", "_shape", value=[]), r"it sees a Box of shape \(\); .*Teacher\.from_callable"),
        (edited("observation_space", "_shape", value="[4]"), "does not say how long an observation is"),
        (edited("observation_space", "_shape", value=[6]), "say observations of 6 numbers, its network is for .* of 4"),
        (with_tensor("q_net.features_extractor.linear.0.weight", 4, 4), "parameters beyond those of fully connected"),
        (with_tensor("q_net.q_net.1.weight", 64), r"parameters beyond .*: q_net\.q_net\.1\.weight"),
        (with_tensor("action_net.weight", 2, 4), "it is no policy of DQN, QR-DQN, PPO, A2C, TRPO"),
        (without("q_net.q_net.0.weight"), "it is no policy of DQN"),
        (without("q_net.q_net.2.weight"), r"parameters beyond .* q_net\.q_net\.2\.bias, q_net\.q_net\.4\.weight"),
        (with_tensor("q_net.q_net.2.weight", 64, 64, 3, 3), r"no fully connected layer: .* \(64, 64, 3, 3\)"),
        (with_tensor("q_net.q_net.2.weight", 64, 63), "layer 1 gives 64 numbers, layer 2 takes 63"),
        ({"state": lambda state: list(state.values())}, r"policy\.pth holds anything but tensors"),
        ({"state": lambda state: {**state, "q_net.q_net.0.bias": 3}}, r"policy\.pth holds anything but tensors"),
        ({"data": None}, "it has no member data"),
        ({"policy.pth": None}, r"it has no member policy\.pth"),
        ({"data": b"[1]"}, "its member data is no JSON object"),
        ({"data": b"\xff{"}, "it is no zip file of Stable-Baselines3, or damaged"),
        ({"policy.pth": b"damaged"}, r"policy\.pth holds anything but tensors, or is damaged"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_reason(models, path, change, message):
    rewrite(saved(models["dqn"], path), **change)
    with pytest.raises(TeacherError, match=message) as failure:
        Teacher.from_sb3(path)
    assert str(failure.value).startswith(f"cannot read {path}: ")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_told_or_harmless(models, path, data):
    content = bytearray(saved(models["ppo elu"], path).read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with contextlib.suppress(TeacherError):  # and nothing else
        assert np.isfinite(Teacher.from_sb3(path).scores(OBSERVATIONS)).all()


def test_settings_that_change_nothing_are_accepted(models, path):
    flatten = "<class 'stable_baselines3.common.torch_layers.FlattenExtractor'>"
    harmless = {"features_extractor_class": flatten, "net_arch": [64, 64], "normalize_images": True}
    rewrite(saved(models["dqn"], path), **edited("policy_kwargs", value=harmless))
    assert Teacher.from_sb3(path).digest == Teacher.from_sb3(models["dqn"]).digest


def test_other_things_are_refused():
    with pytest.raises(TeacherError, match=r"expected a model of Stable-Baselines3 or the path of its zip file, got 3"):
        Teacher.from_sb3(3)


@pytest.mark.parametrize("trust", [False, True])
def test_files_that_are_not_there_or_no_archives(tmp_path, trust):
    with pytest.raises(TeacherError, match="No such file"):
        Teacher.from_sb3(tmp_path / "missing.zip", trust=trust)
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(TeacherError, match="it is no zip file of Stable-Baselines3, or damaged"):
        Teacher.from_sb3(tmp_path / "text.zip", trust=trust)


@pytest.mark.parametrize(
    ("missing", "trust", "message"),
    [
        ("torch", False, r"PyTorch: pip install 'moet\[teachers\]'"),
        ("stable_baselines3", True, "needs Stable-Baselines3: pip"),
    ],
)
def test_what_is_not_installed_is_told(models, path, monkeypatch, missing, trust, message):
    saved(models["dqn"], path)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(TeacherError, match=message):
        Teacher.from_sb3(path, trust=trust)


# Agents that are more than a network


class Doubled(BaseFeaturesExtractor):
    """A features extractor without parameters, which a state dict does not show."""

    def __init__(self, observation_space):
        super().__init__(observation_space, features_dim=4)

    def forward(self, observations):
        return 2 * observations


@pytest.mark.parametrize("algorithm", [DQN, PPO])
@pytest.mark.parametrize(
    "policy",
    [{"activation_fn": torch.nn.Softsign}, {"features_extractor_class": Doubled}],
    ids=["activation", "extractor"],
)
def test_agents_that_are_no_plain_network_teach_alive_or_trusted(path, algorithm, policy):
    model = train(algorithm, steps=64, **policy)
    teacher = Teacher.from_sb3(model)
    assert isinstance(teacher, LivePolicy)
    assert_answers_alike(teacher, model)
    with pytest.raises(TeacherError, match="if you trust its author, load it with trust=True"):
        Teacher.from_sb3(saved(model, path))
    assert_answers_alike(Teacher.from_sb3(path, trust=True), model)


class Negated(torch.nn.Linear):
    def forward(self, inputs):
        return -super().forward(inputs)


class Mirrored(ActorCriticPolicy):
    """A policy that looks into a mirror before it asks its network."""

    def predict(self, observation, *args, **options):
        return super().predict(-observation, *args, **options)


def with_a_layer_of_its_own(model):
    own = Negated(*reversed(model.policy.action_net.weight.shape))
    own.load_state_dict(model.policy.action_net.state_dict())
    model.policy.action_net = own
    return model


@pytest.mark.parametrize(
    "make",
    [
        lambda: with_a_layer_of_its_own(train(PPO, steps=64)),
        lambda: with_a_layer_of_its_own(train(PPO, "Pendulum-v1", steps=64)),
        lambda: PPO(Mirrored, "CartPole-v1", seed=0, device="cpu"),
    ],
    ids=["layer", "layer of numbers", "policy"],
)
def test_an_agent_that_acts_otherwise_than_its_network_is_refused(make):
    with pytest.raises(TeacherError, match=r"predict answers otherwise.*Teacher\.from_callable"):
        Teacher.from_sb3(make())
