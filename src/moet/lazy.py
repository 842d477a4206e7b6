"""Names of a package that are loaded on first use, so that importing the package stays cheap."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # the first module of all: what it imports is imported before an interrupt is caught

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


def loader(package: str, homes: Mapping[str, str], parts: Iterable[str] = ()) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: ``homes`` says which of its modules holds a name, ``parts`` are modules."""

    def load(name: str) -> Any:
        if name in parts:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return load
