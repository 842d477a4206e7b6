"""Tasks: environments with names for what they show and take, played many episodes at once."""

from moet.envs.catalog import resolve, tasks
from moet.envs.task import Batch, Step, Task

__all__ = ["Batch", "Step", "Task", "resolve", "tasks"]
