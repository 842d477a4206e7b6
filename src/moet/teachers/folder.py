"""Folders of the Hugging Face hub, as ``huggingface_sb3`` and RL Zoo lay them out."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from moet.errors import TeacherError
from moet.teachers.sb3 import read_sb3
from moet.teachers.sb3_normalize import statistics_beside
from moet.teachers.teacher import Teacher


def read_folder(path: str | os.PathLike[str]) -> Teacher:
    """Take the agent of a folder; see :meth:`Teacher.from_folder`."""
    folder = Path(path)
    if not folder.is_dir():
        raise TeacherError(f"cannot read {folder}: it is no folder")
    agents = [file for file in sorted(folder.glob("*.zip")) if _is_agent(file)]
    if not agents:
        held = ", ".join(sorted(file.name for file in folder.iterdir())[:8])
        raise TeacherError(f"cannot read {folder}: no zip of Stable-Baselines3 is in it; it holds {held or 'nothing'}")
    if len(agents) > 1:
        names = " or ".join(f"Teacher.from_sb3({os.fspath(file)!r})" for file in agents[:4])
        raise TeacherError(f"cannot read {folder}: {len(agents)} agents are in it; choose one with {names}")
    return read_sb3(agents[0], normalize=statistics_beside(agents[0]))


def _is_agent(file: Path) -> bool:
    """Whether a zip is an agent; others are recordings and metrics."""
    try:
        with open(file, "rb") as opened, zipfile.ZipFile(opened) as archive:
            return {"data", "policy.pth"} <= set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False
