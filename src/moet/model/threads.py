"""Linear algebra on one thread: its results depend on how many there are, and a seed is to fix a model."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_libraries = cache(ThreadpoolController)  # finding those that are loaded takes some milliseconds


def one_thread() -> AbstractContextManager[Any]:
    """Run what is within on one thread."""
    return _libraries().limit(limits=1, user_api="blas")
