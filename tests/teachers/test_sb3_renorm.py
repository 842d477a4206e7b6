"""Agents of CrossQ, whose networks normalise what they are given."""

import gymnasium
import numpy as np
import pytest

from moet.errors import TeacherError
from moet.teachers.sb3_renorm import without_norms


def norm(n, **changed):
    rng = np.random.default_rng(n)
    parts = {
        "scale": rng.normal(size=n),
        "bias": rng.normal(size=n),
        "ra_mean": rng.normal(size=n),
        "ra_var": rng.uniform(0.1, 2, n),
        "steps": np.array(7),
    }
    return parts | changed


def named(net, place, parts):
    return {f"{net}.{place}.{what}": array for what, array in parts.items()}


def test_a_normalisation_is_part_of_the_layer_behind_it():
    rng = np.random.default_rng(0)
    first, last, weight = norm(3), norm(2), rng.normal(size=(2, 3))
    state = named("actor.latent_pi", 0, first) | named("actor.latent_pi", 1, {"weight": weight, "bias": np.ones(2)})
    state |= named("actor.latent_pi", 3, last) | {"actor.mu.weight": np.ones((1, 2)), "actor.mu.bias": np.zeros(1)}
    plain = without_norms(state, 0.5)
    assert set(plain) == {
        f"actor.{part}" for part in ("latent_pi.0.weight", "latent_pi.0.bias", "mu.weight", "mu.bias")
    }
    x = rng.normal(size=3)

    def normalised(parts, values):
        return parts["scale"] * (values - parts["ra_mean"]) / np.sqrt(parts["ra_var"] + 0.5) + parts["bias"]

    hidden = weight @ normalised(first, x) + 1
    np.testing.assert_allclose(plain["actor.latent_pi.0.weight"] @ x + plain["actor.latent_pi.0.bias"], hidden)
    wanted = np.ones((1, 2)) @ normalised(last, hidden)
    np.testing.assert_allclose(plain["actor.mu.weight"] @ hidden + plain["actor.mu.bias"], wanted)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (named("critic.qf0", 0, norm(3)), "ends with a normalisation"),
        (named("actor.latent_pi", 0, norm(3)), "ends with a normalisation"),
        (named("actor.latent_pi", 0, norm(3, scale=np.ones(2))), "is no batch renormalisation"),
        (named("actor.latent_pi", 0, {"ra_mean": np.ones(2)}), "is no batch renormalisation: it has ra_mean"),
        (named("actor.latent_pi", 0, {"bias": np.ones(2)}), "is no fully connected layer: it has bias"),
        (
            named("net", 0, norm(3)) | named("net", 1, {"weight": np.ones((2, 4)), "bias": np.ones(2)}),
            r"of 3 numbers stands before a layer of \(2, 4\)",
        ),
    ],
)
def test_what_is_no_network_of_crossq_is_refused(state, message):
    with pytest.raises(TeacherError, match=message):
        without_norms(state, 0.001)


@pytest.mark.parametrize("options", [{}, {"use_sde": True}, {"policy_kwargs": {"batch_norm_eps": 0.1}}])
def test_an_agent_of_crossq_acts_and_judges_as_stable_baselines_says(options, tmp_path):
    torch, sb3_contrib = pytest.importorskip("torch"), pytest.importorskip("sb3_contrib")
    from moet.teachers import Teacher

    layers = {"net_arch": {"pi": [8, 8], "qf": [8]}} | options.get("policy_kwargs", {})
    chosen = options | {"policy_kwargs": layers, "learning_starts": 20, "buffer_size": 100, "seed": 0, "device": "cpu"}
    model = sb3_contrib.CrossQ("MlpPolicy", gymnasium.make("Pendulum-v1"), **chosen).learn(40)
    model.save(tmp_path / "agent.zip")
    states = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    wanted = model.predict(states, deterministic=True)[0]
    for teacher in (Teacher.from_sb3(tmp_path / "agent.zip"), Teacher.from_sb3(model)):
        np.testing.assert_allclose(teacher.act(states.astype(float)), wanted, atol=2e-5)
    model.critic.set_training_mode(False)
    actions = np.linspace(-2, 2, 40)[:, None]
    with torch.no_grad():
        scores = model.critic(torch.as_tensor(states), torch.as_tensor(actions / 2, dtype=torch.float32))
    least = torch.stack(scores).min(dim=0).values.numpy()[:, 0]
    np.testing.assert_allclose(teacher.critic.scores(states.astype(float), actions), least, atol=1e-4)
