"""``moet distill --data``: recorded episodes in, a small policy out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moet.cli.output import print_json, print_report, size_in_words


def distill_recorded(data: Path, output: Path, env: str | None, student: Any, seed: int, as_json: bool) -> None:
    """Train a student on recorded episodes, and judge it on those that it did not see."""
    from moet import save
    from moet.distill.recorded import imitate
    from moet.envs.catalog import resolve
    from moet.teachers.recorded import read_recording

    recording = read_recording(data)
    found = imitate(recording, student, task=None if env is None else resolve(env), seed=seed)
    save(found.policy, output)
    size = found.policy.mixture.size
    if as_json:
        names = ("fidelity", "fidelity_interval", "fidelity_training", "episodes", "held_out", "rows")
        figures = {name: getattr(found, name) for name in names}
        print_json({"model": str(output), "data": str(data)} | figures | {"size": size._asdict()})
        return
    low, high = found.fidelity_interval
    print_report(
        {
            "fidelity": f"{found.fidelity:.4f} on {found.held_out} held-out episodes (95 %: {low:.4f} to {high:.4f})",
            "in training": f"{found.fidelity_training:.4f} on {found.episodes} episodes",
            "size": size_in_words(size),
            "saved to": str(output),
        }
    )
