"""How this package compiles its kernels."""

from typing import Any

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
"""Options of every ``numba.njit``: cached on disk, GIL released, C-like division. Never ``fastmath`` for predictions."""
