"""What MuJoCo's robots of Gymnasium show and take; positions in metres, angles in radians, per second their speeds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import NamedTuple

LEG = ("thigh", "leg", "foot")
LEGS = (*LEG, *(f"left_{joint}" for joint in LEG))
PAWS = tuple(f"{side}_{joint}" for side in ("back", "front") for joint in ("thigh", "shin", "foot"))


class Robot(NamedTuple):
    """Features with their units, numbers of an action, and the bound of each."""

    features: dict[str, str]
    actions: tuple[str, ...]
    bound: float = 1.0


def _walking(joints: tuple[str, ...]) -> Robot:
    """A body in a plane; how far it has come is not shown."""
    angles = ("angle", *(f"{joint}_angle" for joint in joints))
    return Robot(
        {"height": "m"}
        | dict.fromkeys(angles, "rad")
        | {"velocity_x": "m/s", "velocity_z": "m/s"}
        | {f"{angle}_speed": "rad/s" for angle in angles},
        joints,
    )


_SWIMMING = ("angle", "first_rotor_angle", "second_rotor_angle")

ROBOTS = {
    "InvertedPendulum-v5": Robot(
        {"position": "m", "angle": "rad", "velocity": "m/s", "angular_velocity": "rad/s"}, ("force",), 3.0
    ),
    "Swimmer-v5": Robot(
        dict.fromkeys(_SWIMMING, "rad")
        | {"velocity_x": "m/s", "velocity_y": "m/s"}
        | {f"{angle}_speed": "rad/s" for angle in _SWIMMING},
        ("first_rotor", "second_rotor"),
    ),
    "Hopper-v5": _walking(LEG),
    "Walker2d-v5": _walking(LEGS),
    "HalfCheetah-v5": _walking(PAWS),
}


@contextmanager
def quiet_mujoco(env_id: str) -> Iterator[None]:
    """While an environment is made, MuJoCo does not say that words in its description are out of date.

    Otherwise it says so on stderr and in a file in the current folder, for each of the hundreds that a run makes.
    """
    import gymnasium

    spec = gymnasium.registry.get(env_id)
    if spec is not None and "mujoco" in str(spec.entry_point):
        with suppress(ImportError):  # what is missing is told where the environment is made
            import_module("mujoco")
    library = sys.modules.get("mujoco")
    before = getattr(library, "get_mju_user_warning", lambda: None)()
    listen = getattr(library, "set_mju_user_warning", lambda heard: None)
    listen(lambda text: None if "deprecated" in text else print(text, file=sys.stderr))
    try:
        yield
    finally:
        listen(before)
