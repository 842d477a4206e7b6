"""``moet watch``: one episode, step by step or as a film."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.choices import Env, Seed
from moet.cli.output import AsJson, check_writable, print_json, print_report
from moet.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from moet.envs.task import Task

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
    from moet.envs.catalog import resolve
    from moet.envs.rollout import play
    from moet.envs.seeds import Purpose, episode_seeds
    from moet.model.file import as_mixture

    mixture = as_mixture(policy)
    name = env or mixture.provenance.get("task")
    if name is None:
        raise InputError(f"{policy} does not say which task it was made for; name one with --env")
    task = resolve(name)
    episode_seed = episode_seeds(seed, Purpose.REPORT, 1)[0]
    episode = play(Policy.of(mixture, task).act, task, [episode_seed])
    features = task.view(episode.observations)
    experts = mixture.expert(features)
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
                    | {"expert": int(expert), "action": task.action_names[action], "reward": float(reward)}
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


def _print_steps(task: Task, features: NDArray[np.float64], experts: Any, actions: Any) -> None:
    width = max(10, *(len(name) for name in task.feature_names))
    typer.echo("  ".join(["step", *(f"{name:>{width}}" for name in task.feature_names), "expert", "action"]))
    for step, (row, expert, action) in enumerate(zip(features, experts, actions, strict=True)):
        values = "  ".join(f"{value:>{width}.4g}" for value in row)
        typer.echo(f"{step:>4}  {values}  {expert:>6}  {task.action_names[action]}")


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
