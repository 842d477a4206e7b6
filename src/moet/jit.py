"""How this package compiles its kernels."""

from __future__ import annotations

import sys
from typing import Any

from numba.core import event

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
"""Options of every kernel: cached on disk, GIL released, C-like division. Never ``fastmath`` for predictions."""


class _Announcer(event.Listener):
    """Says once per process that kernels are being compiled: the first use on a machine takes some seconds."""

    announced = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if not self.announced and module.startswith("moet."):
            self.announced = True
            print("moet: compiling kernels; this happens once and is cached ...", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())
