"""A tiny task to learn: walk along a corridor to the exit at its right end."""

import numpy as np

from moet.envs.dynamics import Dynamics, DynamicsBatch
from moet.envs.task import Task
from moet.teachers.train.dqn import DQNRecipe
from moet.teachers.train.explore import Decay
from moet.teachers.train.learner import Trial
from moet.teachers.train.reinforce import ReinforceRecipe

LENGTH = 6
MAX_STEPS = 20
BEST = -(LENGTH - 1) / 2
"""Mean reward of who always walks right, over uniform starts."""


def _walk(state, actions):
    (place,) = state
    place = np.clip(place + 2 * actions - 1, 0, LENGTH)
    there = place == LENGTH
    return (place,), np.where(there, 0.0, -1.0), there


CORRIDOR = Dynamics(
    actions=2,
    begin=lambda generator: np.array([generator.integers(LENGTH)], dtype=np.float64),
    advance=_walk,
    observe=lambda state: state,
)


def corridor() -> Task:
    return Task(
        name="corridor",
        make=None,
        batch=lambda: DynamicsBatch(CORRIDOR, MAX_STEPS),
        observation_names=("place",),
        feature_names=("place",),
        feature_units=("",),
        action_names=("left", "right"),
        max_steps=MAX_STEPS,
    )


_COMMON = {
    "task": "corridor",
    "stop": 0.0,  # out of reach, so that a run takes all its steps
    "selection_episodes": 50,
    "trials": (Trial("corridor", 50, BEST - 0.5),),
    "hidden": (8,),
    "scale": (float(LENGTH),),
}
DQN_RECIPE = DQNRecipe(
    **_COMMON,
    steps=4_000,
    leg=1_000,
    slots=20,
    warmup=200,
    memory=2_000,
    batch=64,
    target_every=10,
    average=0.1,
    discount=0.9,
    n_steps=(3, 2),
    hold=2,
    learning_rate=(2e-2, 5e-3),
    exploration=Decay(share=0.5, end=0.1),
)
REINFORCE_RECIPE = ReinforceRecipe(**_COMMON, steps=10_000, episodes=20, updates=5, learning_rate=0.05, discount=0.95)
