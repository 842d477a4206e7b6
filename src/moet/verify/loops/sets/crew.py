"""Work on several things at once, with the same results as one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from moet.errors import InputError
from moet.verify.limits import Deadline

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(work: Callable[[Item], Result], items: Sequence[Item], workers: int, deadline: Deadline) -> list[Result]:
    """Results of work on every item, in the order of the items, by some threads.

    The work must not depend on what is done with other items. If some of it fails, the first of the items that failed
    is told, as if they had been taken one after the other.
    """
    if workers == 1 or len(items) < 2:
        return [work(item) for item in items]

    def counted(item: Item) -> Result:
        with deadline.counting():
            return work(item)

    # NumPy's error state is part of the context, which a thread does not inherit
    contexts = [copy_context() for _ in items]
    with ThreadPoolExecutor(min(workers, len(items))) as pool:
        try:
            return list(pool.map(lambda context, item: context.run(counted, item), contexts, items))
        except KeyboardInterrupt:
            deadline.flag.fill(True)  # compiled code does not hear of it otherwise
            pool.shutdown(cancel_futures=True)
            raise


def number_of(workers: Any) -> int:
    """Number of threads that a caller wants; one per core by default."""
    if workers is None:
        return os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers must be an integer, at least 1, or None for one per core, got {workers!r}")
    return workers
