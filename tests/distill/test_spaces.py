"""Distillation in environments whose observations are a dictionary and whose actions are several choices."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from sklearn.tree import DecisionTreeClassifier

from moet import load, save
from moet.distill import Teacher, distill, evaluate

QUICK = {"iterations": 2, "rollouts_per_iteration": 4, "selection_episodes": 4}


class Desk(gymnasium.Env):
    """Shows a lamp's brightness and a drawer; pays for switching on when dark, and for opening drawer 2."""

    observation_space = Dict(light=Box(0, 1, (1,)), drawer=Discrete(3))
    action_space = MultiDiscrete([2, 2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._look(), {}

    def step(self, action):
        dark, second = self.seen["light"][0] < 0.5, self.seen["drawer"] == 2
        reward = float(action[0] == dark) + float(action[1] == second)
        self.steps += 1
        return self._look(), reward, self.steps == 20, False, {}

    def _look(self):
        light = self.np_random.uniform(size=1).astype(np.float32)
        self.seen = {"light": light, "drawer": int(self.np_random.integers(3))}
        return self.seen


def act(rows):
    """What is best, by the flattened observation: the drawer as three columns, and the light."""
    light, second = rows[:, COLUMNS.index("light")], rows[:, COLUMNS.index("drawer=2")]
    return 2 * (light < 0.5) + (second == 1)


COLUMNS = ("light", "drawer=0", "drawer=1", "drawer=2")


@pytest.mark.parametrize("with_features", [False, True])
def test_a_dictionary_and_two_choices_are_learned(with_features, tmp_path):
    features = (lambda seen: np.column_stack([seen["light"], seen["drawer"]])) if with_features else None
    run = distill(Teacher.from_callable(act), Desk, DecisionTreeClassifier(), features=features, **QUICK)
    assert run.policy.task.observation_names == COLUMNS
    assert len(run.policy.mixture.feature_names) == (2 if with_features else 4)
    found = evaluate(run.policy, episodes=5, seed=1, teacher=Teacher.from_callable(act))
    assert found.reward > 38
    assert found.fidelity > 0.95
    save(run.policy, tmp_path / "p.moet.json")
    assert load(tmp_path / "p.moet.json").classes.tolist() == ["0,0", "0,1", "1,0", "1,1"]
