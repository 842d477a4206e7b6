"""What commands about one model share: an input named on the command line, the model's task, its units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moet.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from moet.envs.task import Task
    from moet.model.base import BaseMixture

At = Annotated[
    str,
    typer.Option(help='The input: its numbers, separated by commas, or by name, such as "theta=0.1, theta_dot=0".'),
]


def read_input(text: str, mixture: BaseMixture, default: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Read an input: all its numbers in order, or by name; what is not named is as in ``default`` if there is one."""
    from moet.explain.text import feature_index
    from moet.verify.arguments import state

    parts = [part.strip() for part in text.split(",") if part.strip()]
    if "=" not in text:
        return state([_number(part) for part in parts], mixture)
    values: dict[int, float] = {}
    for part in parts:
        name, _, value = part.rpartition("=")  # the last one: names of encoded text columns contain another
        values[feature_index(name.strip(), mixture.feature_names)] = _number(value)
    names = mixture.feature_names
    if default is None and (missing := [name for k, name in enumerate(names) if k not in values]):
        raise InputError(f"--at must name every feature; {', '.join(missing)} is missing")
    return state([values[k] if default is None or k in values else default[k] for k in range(len(names))], mixture)


def known_task(mixture: BaseMixture) -> Task | None:
    """The task of the catalogue that a model was made for."""
    name = mixture.provenance.get("task")
    if not isinstance(name, str):
        return None
    from moet.envs.catalog import known

    return known(name)


def units_of(mixture: BaseMixture, task: Task | None) -> dict[str, str]:
    """Units by feature name, where the task that a model was made for knows them."""
    if task is None or task.feature_names != mixture.feature_names:
        return {}
    return dict(zip(task.feature_names, task.feature_units, strict=True))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--at must be numbers separated by commas, or name=number; {text!r} is neither") from None
