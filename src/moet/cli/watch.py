"""``moet watch``: one episode, step by step or as a film."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from moet.cli.choices import Env, Seed
from moet.cli.output import AsJson, check_writable, print_json, print_report
from moet.errors import InputError

if TYPE_CHECKING:
    from moet.envs.task import Floats, Task

FRAMES_PER_SECOND = 30


def watch(
    policy: Annotated[Path, typer.Argument(help="Model file of the policy.")],
    env: Env = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Film to write, a .gif; by default the steps are printed.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Watch a policy play one episode: what it sees, which expert answers, what it does."""
    if output is not None:
        check_writable(output)
        if output.suffix.lower() != ".gif":
            raise InputError(f"a film is written as .gif, not {output.suffix or output}")
    from moet.distill.policy import Policy
    from moet.envs.rollout import play
    from moet.envs.seeds import Purpose, episode_seeds

    player = Policy.load(policy, env)
    task = player.task
    episode_seed = episode_seeds(seed, Purpose.REPORT, 1)[0]
    episode = play(player.act, task, [episode_seed])
    features = task.view(episode.observations)
    experts = player.mixture.expert(features)
    if output is not None:
        _film(task, episode_seed, episode.actions, output)
    if as_json:
        print_json(
            {
                "task": task.name,
                "reward": float(episode.returns[0]),
                "film": None if output is None else str(output),
                "steps": [
                    {"features": dict(zip(task.feature_names, map(float, row), strict=True))}
                    | {"expert": int(expert), "action": _action(task, action), "reward": float(reward)}
                    for row, expert, action, reward in zip(
                        features, experts, episode.actions, episode.rewards, strict=True
                    )
                ],
            }
        )
        return
    if output is None:
        _print_steps(task, features, experts, episode.actions)
    print_report(
        {"reward": f"{episode.returns[0]:.2f} in {episode.lengths[0]} steps"}
        | ({} if output is None else {"film": str(output)})
    )


def _action(task: Task, action: Any) -> str | dict[str, float]:
    """The name of an action; where it is a row of numbers, these with their names."""
    if task.box is None:
        return task.action_names[action]
    return dict(zip(task.action_names, map(float, action), strict=True))


class Column(NamedTuple):
    """What one thing was in each step, ready to print."""

    name: str
    cells: list[str]

    def lines(self) -> list[str]:
        """Its name and its cells, all of one width."""
        width = max(len(cell) for cell in (self.name, *self.cells))
        return [f"{cell:>{width}}" for cell in (self.name, *self.cells)]


def _print_steps(task: Task, features: Floats, experts: Any, actions: Any) -> None:
    done = (
        [Column("action", [task.action_names[action] for action in actions])]
        if task.box is None
        else _numbers(task.action_names, actions)
    )
    steps = Column("step", [str(step) for step in range(len(features))])
    seen = seen_columns(task.feature_names, features)
    for line in zip(
        *(column.lines() for column in (steps, *seen, Column("expert", [str(k) for k in experts]), *done)), strict=True
    ):
        typer.echo("  ".join(line).rstrip())


def seen_columns(names: Sequence[str], features: Floats) -> list[Column]:
    """What was seen in each step: a number, or which of several things it was.

    Features that are called ``name=value`` and of which one is 1 and the others are 0 are one thing, as they were
    before they were flattened.

    Examples
    --------
    >>> import numpy as np
    >>> for column in seen_columns(["far=no", "far=yes", "x"], np.array([[0, 1, 2.5], [1, 0, 0.5]])):
    ...     print(*column)
    far ['yes', 'no']
    x ['2.5', '0.5']
    """
    columns: list[Column] = []
    for thing, group in groupby(range(len(names)), key=lambda k: names[k].rpartition("=")[0] or k):
        places = list(group)
        shown = features[:, places]
        if isinstance(thing, str) and ((shown == 0) | (shown == 1)).all() and (shown.sum(axis=1) == 1).all():
            values = [names[k].rpartition("=")[2] for k in places]
            columns.append(Column(thing, [values[k] for k in shown.argmax(axis=1)]))
        else:
            columns += _numbers([names[k] for k in places], shown)
    return columns


def _numbers(names: Sequence[str], rows: Floats) -> list[Column]:
    return [Column(name, [f"{value:.4g}" for value in column]) for name, column in zip(names, rows.T, strict=True)]


def _film(task: Task, seed: int, actions: Any, path: Path) -> None:
    from PIL import Image

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pictures are wanted, not a window
    env = task.make(render_mode="rgb_array")
    try:
        env.reset(seed=seed)
        frames = [env.render()]
        for action in actions:
            env.step(task.env_action(action))
            frames.append(env.render())
    finally:
        env.close()
    images = [Image.fromarray(frame) for frame in frames]  # type: ignore[arg-type]
    images[0].save(path, save_all=True, append_images=images[1:], duration=1000 // FRAMES_PER_SECOND, loop=0)
