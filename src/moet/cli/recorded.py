"""``moet distill --data``: recorded episodes in, a small policy out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from moet.cli.output import print_json, print_report, size_in_words


def distill_recorded(
    data: Path, output: Path, env: str | None, student_for: Callable[[bool], Any], seed: int, as_json: bool
) -> None:
    """Train a student on recorded episodes, and judge it on those that it did not see.

    ``student_for`` makes one, given whether actions are rows of numbers.
    """
    from moet import save
    from moet.distill.recorded import imitate
    from moet.envs.catalog import resolve
    from moet.teachers.recorded import read_recording

    recording = read_recording(data)
    task = None if env is None else resolve(env)
    found = imitate(recording, student_for(recording.continuous), task=task, seed=seed)
    save(found.policy, output)
    size = found.policy.mixture.size
    if as_json:
        names: tuple[str, ...] = ("fidelity", "fidelity_interval", "fidelity_training", "episodes", "held_out", "rows")
        if recording.continuous:
            names += ("action_error", "r2")
        figures = {name: getattr(found, name) for name in names}
        print_json({"model": str(output), "data": str(data)} | figures | {"size": size._asdict()})
        return
    low, high = found.fidelity_interval
    numbers = {}
    if found.action_error is not None:
        r2 = "" if found.r2 is None else f"; R² {found.r2:.4f}"
        numbers["difference"] = f"{found.action_error:.4g} of the range on held-out episodes, mean{r2}"
    print_report(
        {
            "fidelity": f"{found.fidelity:.4f} on {found.held_out} held-out episodes (95 %: {low:.4f} to {high:.4f})",
            **numbers,
            "in training": f"{found.fidelity_training:.4f} on {found.episodes} episodes",
            "size": size_in_words(size),
            "saved to": str(output),
        }
    )
