"""Statistics of observations: alive, in arrays, and in pickles of which nothing is executed."""

import io
import os
import pickle
import pickletools
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet.errors import MoetWarning, TeacherError
from moet.teachers import Teacher, inert_pickle
from moet.teachers.inert_pickle import Record, as_array, as_number, read_records
from moet.teachers.sb3_normalize import read_normalization

pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from .test_sb3 import OBSERVATIONS, Touch, assert_answers_alike, train


@pytest.fixture(scope="module")
def normalised():
    env = VecNormalize(DummyVecEnv([lambda: gymnasium.make("CartPole-v1")]), clip_obs=1.5, epsilon=1e-3)
    return train(PPO, env), env


@pytest.fixture
def agent(normalised, tmp_path):
    normalised[0].save(tmp_path / "agent.zip")
    return tmp_path / "agent.zip"


def test_statistics_come_alive_from_arrays_and_from_pickles(normalised, agent, tmp_path):
    model, env = normalised
    env.save(tmp_path / "env.pkl")
    np.savez(tmp_path / "env.npz", mean=env.obs_rms.mean, var=env.obs_rms.var, epsilon=env.epsilon, clip=env.clip_obs)
    seen = env.normalize_obs(OBSERVATIONS)
    assert np.any(np.abs(seen) == 1.5)
    teacher = Teacher.from_sb3(model)  # which knows its environment
    assert_answers_alike(teacher, model, OBSERVATIONS, seen)
    for statistics in (env, tmp_path / "env.npz", str(tmp_path / "env.pkl")):
        assert Teacher.from_sb3(agent, normalize=statistics).digest == teacher.digest
    with pytest.warns(MoetWarning):
        assert Teacher.from_sb3(agent).digest != teacher.digest


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_is_read(normalised, tmp_path, protocol):
    _, env = normalised
    (tmp_path / "env.pkl").write_bytes(pickle.dumps(env, protocol))
    found = read_normalization(tmp_path / "env.pkl", 4)
    expected = read_normalization(env, 4)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_pickles_from_the_days_of_gym_are_read_without_it(normalised, tmp_path):
    _, env = normalised
    old = pickle.dumps(env, protocol=2).replace(b"cgymnasium.", b"cgym.").replace(b"numpy._core", b"numpy.core")
    with pytest.raises(ModuleNotFoundError):
        pickle.loads(old)
    (tmp_path / "vecnormalize.pkl").write_bytes(old)
    assert np.array_equal(read_normalization(tmp_path / "vecnormalize.pkl", 4).offset, env.obs_rms.mean)


def test_frames_stacked_after_they_were_normalised_need_the_statistics_of_the_stack(normalised, tmp_path):
    _, v = normalised
    model = train(PPO, VecFrameStack(v, k := 2), steps=64)
    with pytest.raises(TeacherError, match=r"shape \(4,\), the agent for \(8,\)\. If frames were stacked.*np\.tile"):
        Teacher.from_sb3(model)
    many = {"mean": np.tile(v.obs_rms.mean, k), "var": np.tile(v.obs_rms.var, k)}
    np.savez(tmp_path / "normalize.npz", **many, epsilon=v.epsilon, clip=v.clip_obs)
    frames = np.concatenate([OBSERVATIONS[:-1], OBSERVATIONS[1:]], axis=1)
    seen = np.concatenate([v.normalize_obs(OBSERVATIONS[:-1]), v.normalize_obs(OBSERVATIONS[1:])], axis=1)
    assert_answers_alike(Teacher.from_sb3(model, normalize=tmp_path / "normalize.npz"), model, frames, seen)


def test_an_environment_that_normalises_rewards_only_changes_nothing(tmp_path):
    env = VecNormalize(DummyVecEnv([lambda: gymnasium.make("CartPole-v1")]), norm_obs=False)
    env.save(tmp_path / "env.pkl")
    for source in (env, tmp_path / "env.pkl"):
        assert read_normalization(source, 4) == (None, None, None)


BOX = gymnasium.spaces.Box(-3, 3, (2,))
PARTS = {"speed": BOX, "gear": gymnasium.spaces.Discrete(3), "height": gymnasium.spaces.Box(-9, 9, (1,))}


class Shown(gymnasium.Env):
    """Shows samples of a space."""

    action_space = gymnasium.spaces.Box(-1, 1, (2,))

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, False, True, {}


@pytest.mark.parametrize(
    ("space", "options"),
    [
        (gymnasium.spaces.Box(-3, 3, (3, 2)), {}),
        (gymnasium.spaces.Dict({"b": BOX, "a": BOX}), {"clip_obs": 0.5}),
        (gymnasium.spaces.Dict(PARTS), {"norm_obs_keys": ["speed"]}),
        (gymnasium.spaces.Dict(PARTS), {"norm_obs_keys": ["speed", "height"], "clip_obs": 1.5}),
    ],
)
def test_statistics_of_arrays_and_of_dictionaries(space, options, tmp_path):
    env = VecNormalize(DummyVecEnv([lambda: Shown(space)]), **options)
    several = isinstance(space, gymnasium.spaces.Dict)
    model = PPO("MultiInputPolicy" if several else "MlpPolicy", env, n_steps=64, batch_size=64, device="cpu").learn(64)
    model.save(tmp_path / "agent.zip")
    env.save(tmp_path / "env.pkl")
    seen = [space.sample() for _ in range(100)]
    batch = {name: np.stack([one[name] for one in seen]) for name in space} if several else np.stack(seen)
    expected = model.predict(env.normalize_obs(batch), deterministic=True)[0]
    rows = np.stack([gymnasium.spaces.flatten(space, one) for one in seen]).astype(float)
    for statistics in (env, tmp_path / "env.pkl"):
        teacher = Teacher.from_sb3(tmp_path / "agent.zip", normalize=statistics)
        np.testing.assert_allclose(teacher.act(rows), expected, atol=1e-5)


def test_parts_that_are_not_normalised_may_not_be_cut_off(tmp_path):
    options = {"norm_obs_keys": ["speed"], "clip_obs": 5.0}
    env = VecNormalize(DummyVecEnv([lambda: Shown(gymnasium.spaces.Dict(PARTS))]), **options)
    env.save(tmp_path / "env.pkl")
    for statistics in (env, tmp_path / "env.pkl"):
        with pytest.raises(TeacherError, match="leaves numbers up to 9 alone and clips others at 5"):
            read_normalization(statistics, 6)


# Pickles that should not be trusted


class Call:
    """An object whose unpickling calls a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def hidden_in(env, bait):
    """A pickle of statistics that hides something in a part that nobody asks for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(env, "old_reward", bait)
        return pickle.dumps(env)


def memo_bomb():
    """A list of two lists of two lists of ...: 2**2000 of them if it were written out, used as a key besides."""
    content = b"\x80\x04)" + b"".join(b"\x94h" + bytes([k]) + b"\x86" for k in range(200))
    return b"\x80\x04}" + content[2:] + b"K\x01s."


def test_nothing_in_a_pickle_is_executed(normalised, tmp_path):
    mark = tmp_path / "executed"
    file = tmp_path / "env.pkl"
    for content in (
        pickle.dumps(Touch(mark)),
        pickle.dumps(Call(os.system, f"mkdir {mark}")),
        pickle.dumps(Call(eval, f"__import__('os').mkdir({str(mark)!r})")),
        hidden_in(normalised[1], Touch(mark)),
        b"ios\nmkdir\n(S'" + str(mark).encode() + b"'\n.",
        b"(S'" + str(mark).encode() + b"'\nios\nmkdir\n.",
        b"(cos\nmkdir\nS'" + str(mark).encode() + b"'\no.",
    ):
        file.write_bytes(content)
        with pytest.raises(TeacherError, match=r"cannot read .*env\.pkl: it .*np\.savez\('normalize\.npz'"):
            read_normalization(file, 4)
        assert not mark.exists()
    pickle.loads(hidden_in(normalised[1], Touch(mark)))
    assert mark.exists()  # so the bait was a real one


def test_the_name_of_what_was_refused_is_told(tmp_path):
    (tmp_path / "env.pkl").write_bytes(pickle.dumps(Call(os.system, "true")))
    with pytest.raises(TeacherError, match=r"it names posix\.system, .*nothing was executed"):
        read_normalization(tmp_path / "env.pkl", 4)


def test_bombs_take_neither_time_nor_memory(tmp_path, monkeypatch):
    file = tmp_path / "env.pkl"
    huge = pickle.dumps(np.zeros(2), protocol=4).replace(b"K\x02\x85", b"J\xff\xff\xff\x7f\x85")
    assert huge != pickle.dumps(np.zeros(2), protocol=4)
    many_marks = b"\x80\x04" + b"(" * 200_000 + b"1" * 200_000 + b"N."
    tracemalloc.start()
    for content in (memo_bomb(), huge, many_marks, b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f" + b"x.", b"L" + b"9" * 9999):
        file.write_bytes(content)
        with pytest.raises(TeacherError, match="cannot read"):
            read_normalization(file, 4)
    assert tracemalloc.get_traced_memory()[1] < 2**27
    tracemalloc.stop()
    monkeypatch.setattr(inert_pickle, "MAX_INSTRUCTIONS", 100)
    file.write_bytes(b"\x80\x04" + b"N" * 200 + b".")
    with pytest.raises(TeacherError, match="more than 100 instructions"):
        read_normalization(file, 4)


def test_an_array_that_claims_more_than_it_holds_is_refused():
    content = pickle.dumps(np.arange(3.0), protocol=4)
    assert as_array(read_records(content)).tolist() == [0.0, 1.0, 2.0]
    wrong = read_records(content.replace(b"K\x03\x85", b"J\xff\xff\xff\x7f\x85"))
    with pytest.raises(TeacherError, match=r"an array of shape \(2147483647,\) and float64, but 24 bytes for it"):
        as_array(wrong)
    objects = read_records(pickle.dumps(np.array([None, {}], dtype=object), protocol=4))
    with pytest.raises(TeacherError, match="something else than numbers"):
        as_array(objects)


def test_numbers_beyond_all_measure_are_told():
    digits = pickle.dumps(np.arange(3.0), protocol=4).replace(
        b"K\x03\x85", b"\x8b\x10\x27\x00\x00" + b"\x7f" * 10_000 + b"\x85"
    )
    with pytest.raises(TeacherError, match="an array that is not understood"):
        as_array(read_records(digits))
    assert as_number(10**400) is None
    for code in ("f1", "b2", "O8", 7, None):
        with pytest.raises(TeacherError, match="something else than numbers"):
            as_array(Record("numpy.core.multiarray.scalar", (Record("numpy.dtype", (code,)), b"12345678")))


@pytest.mark.parametrize(
    "array",
    [
        np.float32([[1, 2, 3], [4, 5, 6]]),
        np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]),
        np.int64(7),
        np.array(True),
    ],
    ids=["rows", "fortran", "scalar", "bool"],
)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_are_those_that_numpy_stored(array, protocol):
    found = as_array(read_records(pickle.dumps(array, protocol)))
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


def test_numbers_of_python_and_numpy():
    values = read_records(pickle.dumps({"a": 1, "b": 2.5, "c": np.float32(0.5), "d": "text", "e": np.zeros(2)}))
    assert [as_number(value) for value in values.values()] == [1.0, 2.5, 0.5, None, None]
    assert as_array(values["a"]) is None


def test_other_instructions_build_what_python_would_build():
    things = {
        "list": [1, [2, (3,)], (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        "text": "ä",
        "none": None,
        "flags": [True, False],
    }
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert read_records(pickle.dumps(things, protocol)) == things
    assert read_records(pickletools.optimize(pickle.dumps(things))) == things
    assert read_records(b"\x80\x02K\x01K\x0220\x86.") == (1, 2)  # dup, pop
    record = read_records(pickle.dumps(gymnasium.spaces.Dict(a=gymnasium.spaces.Discrete(3))))
    assert isinstance(record, Record)
    assert repr(record) == "Record(gymnasium.spaces.dict.Dict)"


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_told_or_harmless(normalised, tmp_path, data):
    content = bytearray(pickle.dumps(normalised[1], protocol=data.draw(st.sampled_from([2, 4]))))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    (tmp_path / "env.pkl").write_bytes(content)
    try:
        found = read_normalization(tmp_path / "env.pkl", 4)
    except TeacherError:  # and nothing else
        return
    assert found.offset is None or found.offset.shape == (4,)


@given(st.binary(max_size=200))
def test_any_bytes_are_told_or_harmless(content):
    try:
        read_records(content)
    except TeacherError:
        return


# Statistics that do not fit


@pytest.mark.parametrize(
    ("statistics", "message"),
    [
        ({"mean": np.zeros(4)}, r"env\.npz: it has no array 'var'; write it with np\.savez"),
        ({"mean": np.zeros(3), "var": np.ones(3), "epsilon": 0.1, "clip": 5}, r"of shape \(3,\), the agent for \(4,\)"),
        ({"mean": np.zeros(4), "var": -np.ones(4), "epsilon": 0.1, "clip": 5}, "positive variances and a positive"),
        ({"mean": np.zeros(4), "var": np.ones(4), "epsilon": 0.1, "clip": np.nan}, "positive variances and a positive"),
        ({"mean": np.full(4, np.nan), "var": np.ones(4), "epsilon": 0.1, "clip": 5}, "offset must hold finite numbers"),
        (
            {"mean": ["a"] * 4, "var": np.ones(4), "epsilon": 0.1, "clip": 5},
            "statistics of observations are no numbers",
        ),
    ],
)
def test_statistics_that_do_not_fit_are_refused(agent, tmp_path, statistics, message):
    np.savez(tmp_path / "env.npz", **statistics)
    with pytest.raises(TeacherError, match=message):
        Teacher.from_sb3(agent, normalize=tmp_path / "env.npz")


def test_other_things_are_no_statistics(tmp_path):
    with pytest.raises(TeacherError, match="normalize must be a VecNormalize"):
        read_normalization(3, 4)
    for name in ("missing.npz", "missing.pkl"):
        with pytest.raises(TeacherError, match=rf"cannot read .*{name}: No such file"):
            read_normalization(tmp_path / name, 4)
    env = VecNormalize(DummyVecEnv([lambda: Shown(gymnasium.spaces.Dict(a=BOX, b=BOX))]))
    for damaged in (None, {"a": env.obs_rms["a"], "b": None}):
        env.obs_rms = damaged
        env.save(tmp_path / "env.pkl")
        with pytest.raises(TeacherError, match="has no statistics of rows of numbers"):
            read_normalization(tmp_path / "env.pkl", 4)
    file = io.BytesIO()
    pickle.dump(gymnasium.spaces.Discrete(3), file)
    (tmp_path / "space.pkl").write_bytes(file.getvalue())
    with pytest.raises(TeacherError, match="it holds no VecNormalize; write its numbers with"):
        read_normalization(tmp_path / "space.pkl", 4)
