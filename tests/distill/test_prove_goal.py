"""Distillation that ends with a proof that the goal is reached: as it is, by another student, or behind a shield."""

import gymnasium
import numpy as np
import pytest

from moet import MoETClassifier
from moet.distill import Teacher, distill
from moet.errors import InputError
from moet.shield import GoalShield
from moet.verify import check, systems
from tests.verify.plants import cart

WITHIN = 16

pytestmark = pytest.mark.filterwarnings("ignore::moet.errors.MoetWarning")


class Walk(gymnasium.Env):
    """One step back or forth, until the place is two or time is up."""

    observation_space = gymnasium.spaces.Box(-10, 10, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = self.np_random.uniform(0, 0.5), 0
        return self.seen(), {}

    def step(self, action):
        self.place, self.steps = self.place + 0.25 * (2 * int(action) - 1), self.steps + 1
        return self.seen(), -1.0, self.place >= 2, self.steps >= 2 * WITHIN, {}

    def seen(self):
        return np.array([self.place], np.float32)


def walk(**changes):
    said = {
        "states": ["place"],
        "actions": ["back", "forth"],
        "inputs": {"pace": (-1, 1)},
        "step": {"place": "place + 0.25 * pace"},
        "initial": {"place": (0, "0.5")},
        "safe": ["place >= -9"],
        "goal": ["place >= 2"],
        "domain": {"place": (-10, 10)},
        "disturbance": {"place": "1/1000000000000"},
        "float32_observations": True,
    }
    return systems.NonlinearSystem("walk", **said | changes)


def plant():
    """The walk as a plant with a control, in which actions say what the pace is."""
    return walk(actions={"back": {"pace": -1}, "forth": {"pace": 1}}, inputs={})


def goes(x):
    return np.ones(len(x), int)


def turns_back(x):
    return (x[:, 0] < 1).astype(int)


def distilled(act, **asked):
    student = MoETClassifier(n_experts=2, max_depth=1, prediction="hard")
    teacher = Teacher.from_callable(act, n_actions=2)
    arguments = {"iterations": 2, "selection_episodes": 5, "prove": walk(), "within": WITHIN} | asked
    return distill(teacher, Walk, student, **arguments)


def test_an_agent_that_arrives_is_proved_as_it_is():
    run = distilled(goes)
    assert run.verdict.checked
    assert run.shield is None
    assert run.teacher_failure is None
    assert run.certificate.kind == "arrival"
    assert check(run.certificate, run.policy, walk())


def test_an_agent_in_a_plant_with_controls_is_proved_too():
    run = distilled(goes, prove=plant())
    assert run.certificate.kind == "flowpipe"
    assert run.shield is None
    assert check(run.certificate, run.policy, plant())


@pytest.mark.parametrize("system", [walk, plant])
def test_an_agent_that_never_arrives_is_told_with_the_run(system):
    run = distilled(turns_back, prove=system())
    assert run.certificate is None
    assert set(run.teacher_failure.actions) == {"back", "forth"}
    assert len(run.teacher_failure.actions) == WITHIN
    assert run.teacher_failure.states[:, 0].max() < 2
    assert {one.verdict for one in run.candidates} == {"refuted"}


def test_a_faithful_student_may_be_kept_behind_a_shield_that_gets_it_there_in_time():
    from moet.distill.judging import Loop, candidate_of, decided
    from moet.distill.prove_goal import _guard
    from moet.envs.catalog import resolve
    from moet.verify import reaches

    free, goer = distilled(turns_back), distilled(goes).policy.mixture
    loop = Loop(Teacher.from_callable(turns_back, n_actions=2), resolve(Walk), walk(), None, 0, WITHIN)
    found = candidate_of("other", 0.0, goer, reaches(goer, walk(), within=WITHIN), loop)
    run = decided(free, [free.candidates[0], found], _guard(found, loop), loop)
    assert isinstance(run.shield, GoalShield)
    assert 0 < run.overridden < 1
    assert run.certificate.kind == "goal_shield"


def test_a_goal_needs_a_system_that_has_one():
    with pytest.raises(InputError, match="goal"):
        distilled(goes, prove=walk(goal=()))


@pytest.mark.parametrize("asked", [{"steps": 5}, {"prove": None}])
def test_questions_that_make_no_sense_are_refused(asked):
    with pytest.raises(InputError, match="within"):
        distilled(goes, **asked)


def test_plants_with_actions_are_distilled_for_goals_only():
    with pytest.raises(InputError, match="give within"):
        distilled(goes, prove=plant(), within=None)


def test_goals_of_plants_with_controls_are_asked_about_elsewhere():
    from moet import MoETRegressor

    teacher = Teacher.from_callable(lambda x: np.clip(-x[:, :1] - 1.5 * x[:, 1:], -1, 1), low=[-1.0], high=[1.0])
    student = MoETRegressor(n_experts=1, max_depth=0, leaf="affine", prediction="hard")
    with pytest.raises(InputError, match="reaches"):
        distill(teacher, cart(), student, iterations=1, selection_episodes=2, prove=cart(), within=5)
