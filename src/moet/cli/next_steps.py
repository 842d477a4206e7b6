"""What to try after a question about runs, as commands that exist."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FEW_STEPS = 200
_LONG = 1800
"""Steps, and CPU seconds, that are suggested where the question had no end, and where it was not decided."""


def next_steps(verdict: str, model: Path, provenance: Mapping[str, Any], system: str, steps: int | None) -> list[str]:
    """Commands that may get further than a question whether a policy stays safe, the cheapest first."""
    policy, plant = shlex.quote(str(model)), shlex.quote(system)
    if verdict == "proved":
        return [f"moet shield CERTIFICATE {policy} {plant} -o shield.cert"]
    ask = f"moet verify {policy} --system {plant}"
    lines = []
    if verdict == "unknown":
        fewer = _FEW_STEPS if steps is None else max(steps // 2, 1)
        lines = [f"{ask} --steps {fewer}", f"{ask}{_as_option(steps)} --cpu-limit {_LONG}"]
    task = provenance.get("task")
    task = shlex.quote(task) if isinstance(task, str) and _is_plain(task) else "TASK"
    return [
        *lines,
        f"moet distill {task}{_agent(provenance)} --experts 2 --depth 0 --prove {plant} -o proved.moet.json",
    ]


def _agent(provenance: Mapping[str, Any]) -> str:
    """The agent that was distilled, as it was named then; nothing if it came with the task, or a stranger says more."""
    match provenance.get("agent"):
        case [("--sb3" | "--arrays" | "--onnx" | "--torch") as option, str(file)] if _is_plain(file):
            return f" {option} {shlex.quote(file)}"
    return ""


def _is_plain(word: str) -> bool:
    """Whether a word of a model file can be printed as part of a command."""
    return word.isprintable() and not word.startswith("-")


def ask_why(model: Path, system: str, steps: int | None) -> str:
    """The command that says what kept a proof from being found."""
    return f"moet why-unknown {shlex.quote(str(model))} --system {shlex.quote(system)}{_as_option(steps)}"


def report(lines: list[str]) -> dict[str, str]:
    """Commands as a report lists them."""
    return {f"try {k}": line for k, line in enumerate(lines, start=1)}


def _as_option(steps: int | None) -> str:
    return "" if steps is None else f" --steps {steps}"
