"""How each bundled teacher is trained."""

from __future__ import annotations

from moet.errors import TeacherError
from moet.teachers.train.dqn import DQNRecipe
from moet.teachers.train.evolve import EvolutionRecipe
from moet.teachers.train.explore import Decay, Ladder
from moet.teachers.train.learner import Recipe, Trial
from moet.teachers.train.reinforce import ReinforceRecipe

CARTPOLE = ReinforceRecipe(
    task="cartpole-500",
    steps=3_000_000,
    stop=500.0,
    trials=(Trial("cartpole-500", 250, 500.0), Trial("cartpole", 250, 200.0)),
    hidden=(8,),
    # small inputs keep tanh nearly linear: balancing needs no more, and is simple to imitate
    scale=(4.0, 4.0, 1.0, 4.0),
    learning_rate=0.03,
)

MOUNTAINCAR = DQNRecipe(
    task="mountaincar",
    steps=400_000,
    stop=-98.4,
    trials=(Trial("mountaincar", 250, -102.0),),
    hidden=(15, 15, 15),
    scale=(0.5, 0.035),
    exploration=Decay(share=0.3, end=0.01, start=0.2),
    hold=20,
    learning_rate=(1e-3, 1e-4),
    average=0.005,
    n_steps=(10,),
)

ACROBOT = DQNRecipe(
    task="acrobot",
    steps=600_000,
    stop=-68.0,
    trials=(Trial("acrobot", 250, -70.0),),
    hidden=(50, 50),
    streams=(50,),
    activation="elu",
    scale=(1.0,) * 6,
    leg=10_000,
    exploration=Decay(share=0.1, end=0.03),
    learning_rate=(1e-3, 5e-5),
    target_every=250,
    average=0.001,
    n_steps=(5, 3, 3),
    reward_scale=0.1,
)

PENDULUM = DQNRecipe(
    task="pendulum",
    steps=300_000,
    stop=-140.0,
    trials=(Trial("pendulum", 1000, -150.0),),
    hidden=(50, 50, 50),
    scale=(1.0, 1.0, 4.0),
    exploration=Decay(share=0.2, end=0.02),
    learning_rate=(1e-3, 1e-4),
    average=0.005,
    n_steps=(3,),
    reward_scale=0.1,
)

LUNARLANDER = DQNRecipe(
    task="lunarlander",
    steps=500_000,
    stop=272.0,
    trials=(Trial("lunarlander", 250, 250.0),),
    selection_episodes=100,
    hidden=(50, 50, 50),
    scale=(1.0,) * 8,
    slots=8,
    leg=24_000,
    exploration=Decay(share=0.1, end=0.02),
    learning_rate=(1e-3, 1e-4),
    average=0.002,
    reward_scale=0.1,
    huber=5.0,
)

PONG = DQNRecipe(
    task="pong-18",
    steps=1_600_000,
    stop=21.0,
    trials=(Trial("pong", 30, 21.0), Trial("pong-noisy", 30, 19.0), Trial("pong-sticky", 30, 17.0)),
    selection_episodes=6,  # consecutive waiting times, which hold all four that matter: a step is four frames
    selection_consecutive=True,
    selection_patience=2_000,
    hidden=(128, 128),
    scale=(1.0,) * 18,
    features="pong",
    leg=60_000,
    exploration=Ladder(high=0.3, ratio=0.3**5, low=0.002),
    hold=4,
    warmup=5_000,
    memory=256_000,
    updates=4,
    learning_rate=(5e-4, 4e-5),
    average=0.001,
    n_steps=(10, 5, 5),
    step_cost=0.003,
    reward_ends=True,
    patience=400,
)

CONTINUOUS_PENDULUM = EvolutionRecipe(
    task="Pendulum-v1",
    steps=60_000_000,
    stop=-147.0,
    trials=(Trial("Pendulum-v1", 1000, -150.0),),
    hidden=(12,),
    scale=(1.0, 1.0, 4.0),
    population=32,
    episodes=32,
)

CONTINUOUS_CAR = EvolutionRecipe(
    task="MountainCarContinuous-v0",
    steps=10_000_000,
    stop=97.0,
    trials=(Trial("MountainCarContinuous-v0", 250, 95.0),),
    selection_episodes=250,
    hidden=(),
    scale=(0.5, 0.035),
    episodes=64,
    generations=4,
)

CONTINUOUS_LANDER = EvolutionRecipe(
    task="LunarLanderContinuous-v3",
    steps=6_000_000,
    stop=275.0,
    trials=(Trial("LunarLanderContinuous-v3", 250, 270.0),),
    selection_episodes=100,
    hidden=(),
    scale=(0.5, 0.5, 0.5, 0.5, 0.3, 0.5, 1.0, 1.0),
    episodes=8,
)

INVERTED_PENDULUM = EvolutionRecipe(
    task="InvertedPendulum-v5",
    steps=3_000_000,
    stop=1000.0,
    trials=(Trial("InvertedPendulum-v5", 100, 1000.0),),
    selection_episodes=30,
    hidden=(),
    scale=(1.0, 0.1, 1.0, 0.3),
    episodes=6,
    generations=5,
)

SWIMMER = EvolutionRecipe(
    task="Swimmer-v5",
    steps=2_500_000,
    stop=345.0,
    trials=(Trial("Swimmer-v5", 100, 335.0),),
    selection_episodes=5,
    hidden=(),
    scale=(1.0, 1.0, 1.0, 0.5, 0.5, 2.0, 2.0, 2.0),
    episodes=1,
)

RECIPES: dict[str, Recipe] = {
    "cartpole": CARTPOLE,
    "acrobot": ACROBOT,
    "mountaincar": MOUNTAINCAR,
    "lunarlander": LUNARLANDER,
    "pendulum": PENDULUM,
    "pong": PONG,
    **{
        recipe.task: recipe
        for recipe in (CONTINUOUS_PENDULUM, CONTINUOUS_CAR, CONTINUOUS_LANDER, INVERTED_PENDULUM, SWIMMER)
    },
}


def find_recipe(name: str) -> Recipe:
    """The recipe of a bundled teacher."""
    if name == "gridworld":
        raise TeacherError("gridworld needs no training: its teacher is the optimal rule")
    if name not in RECIPES:
        raise TeacherError(f"there is no recipe to train a teacher of {name!r}; known are {', '.join(RECIPES)}")
    return RECIPES[name]
