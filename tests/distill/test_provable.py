"""What is refused before a distillation that is to end with a proof, and what is not."""

import gymnasium
import numpy as np
import pytest

from moet import MoETClassifier, MoETRegressor, teachers
from moet.distill import Teacher, distill
from moet.distill.provable import check_provable
from moet.envs import resolve
from moet.errors import InputError
from moet.verify import systems

GAINS = np.array([3.27, 6.89, 100.0, 23.71])


def teacher():
    return Teacher.from_callable(lambda x: (x @ GAINS > 0).astype(int), n_actions=2)


def student():
    return MoETClassifier(n_experts=2, max_depth=0, prediction="hard")


class Rounded(gymnasium.ObservationWrapper):
    """A cart-pole whose sensor rounds to some type, and announces that."""

    def __init__(self, kind, space=None):
        env = gymnasium.make("CartPole-v1")
        super().__init__(env)
        self.kind, self.played = kind, 0
        self.observation_space = space or gymnasium.spaces.Box(-100, 100, (4,), kind)

    def observation(self, seen):
        self.played += 1
        return seen.astype(self.kind)


def proved_of(make, system=None, fitted=None, **options):
    few = {"iterations": 1, "rollouts_per_iteration": 2, "selection_episodes": 2, **options}
    return distill(teacher(), make, fitted or student(), prove=system or systems.cartpole(), **few)


@pytest.mark.parametrize("kind", [np.float16, np.int64, np.int8])
def test_a_sensor_that_rounds_more_than_was_said_is_refused_before_anything_is_played(kind):
    made = []

    def make():
        made.append(Rounded(kind))
        return made[-1]

    with pytest.raises(InputError, match=f"shows {np.dtype(kind)}, which rounds more than 'cartpole' says"):
        proved_of(make)
    assert all(env.played == 0 for env in made)


@pytest.mark.parametrize("parts", ["dict", "tuple"])
def test_parts_of_what_is_shown_are_looked_at_too(parts):
    coarse, fine = (gymnasium.spaces.Box(-100, 100, (2,), kind) for kind in (np.float16, np.float64))
    space = gymnasium.spaces.Dict(a=fine, b=coarse) if parts == "dict" else gymnasium.spaces.Tuple([fine, coarse])
    with pytest.raises(InputError, match="shows float16"):
        proved_of(lambda: Rounded(np.float16, space))


def noisy(error):
    """The cart-pole with the same noise in every sensor."""
    pole = systems.cartpole()
    return type(pole)(
        "noisy",
        states=pole.states,
        actions=pole.actions,
        inputs={"force": (-10, 10)},
        let={"temp": "0"},
        step=dict.fromkeys(pole.states, "temp + 0 * force"),
        initial=dict(zip(pole.states, pole.initial, strict=True)),
        safe=["-2.4 <= position <= 2.4"],
        domain=dict(zip(pole.states, pole.domain, strict=True)),
        observation_error=dict.fromkeys(pole.states, error),
    )


def test_noise_must_be_as_large_as_the_rounding():
    largest = max(float(max(map(abs, side))) for side in noisy("1").domain)
    enough = 1.1 * largest * float(np.finfo(np.float16).eps)
    with pytest.raises(InputError, match="rounds more than 'noisy' says"):
        proved_of(lambda: Rounded(np.float16), noisy("0.0001"))
    check_provable(resolve(lambda: Rounded(np.float16)), noisy(enough), student(), "hard", None)


def three_actions():
    env = Rounded(np.float32)
    env.action_space = gymnasium.spaces.Discrete(3)
    return env


def test_a_task_of_other_sizes_is_refused_before_anything_is_played():
    with pytest.raises(InputError, match=r"shows 2 \(position, velocity\), and the system 'cartpole' has 4"):
        distill(teachers.load("mountaincar"), "MountainCar-v0", student(), prove=systems.cartpole())
    with pytest.raises(InputError, match=r"takes 3 .* 'cartpole' has 2"):
        distill(Teacher.from_callable(lambda x: x[:, 0] > 0), three_actions, student(), prove=systems.cartpole())
    with pytest.raises(InputError, match="takes controls, and the system 'cartpole' has actions"):
        distill(teachers.load("Pendulum-v1"), "Pendulum-v1", MoETRegressor(), prove=systems.cartpole())


def test_soft_mixtures_and_goals_that_are_not_there_are_refused_at_once():
    soft = MoETClassifier(n_experts=2, max_depth=0)
    with pytest.raises(InputError, match="prediction='hard'"):
        proved_of("CartPole-v1", fitted=soft)
    with pytest.raises(InputError, match="has no goal"):
        proved_of("CartPole-v1", within=10)
