"""The public names with their signatures, as text: ``python tests/public_names.py --write`` keeps what there is now."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

KEPT = Path(__file__).with_name("public_names.txt")
PUBLIC = [
    "moet",
    "moet.distill",
    "moet.envs",
    "moet.errors",
    "moet.explain",
    "moet.export",
    "moet.shield",
    "moet.study",
    "moet.study.report",
    "moet.teachers",
    "moet.verify",
    "moet.verify.smtlib",
    "moet.verify.systems",
]
"""Packages whose ``__all__`` is a promise; documents import from these alone."""


def public_names() -> str:
    """One line for every public name and for every public member of a public class."""
    return "".join(f"{line}\n" for module in PUBLIC for line in _lines_of(module))


def _lines_of(module: str) -> Iterator[str]:
    package = import_module(module)
    for name in sorted(package.__all__):
        yield from _described(f"{module}.{name}", getattr(package, name))


def _described(path: str, thing: Any) -> Iterator[str]:
    if isinstance(thing, ModuleType):
        yield path
    elif inspect.isclass(thing):
        yield f"class {path}{_parameters(thing)}"
        if thing.__module__.startswith("moet"):
            yield from (f"  {line}" for line in _members(thing))
    else:
        yield f"{path}{_parameters(thing)}" if callable(thing) else path


def _members(thing: type) -> list[str]:
    """Methods and properties that this class, or one of ours that it derives from, defines; fields of data classes.

    Scikit-learn puts ``set_fit_request`` and its like into our classes, differently in each version.
    """
    homes = [base for base in thing.__mro__ if base.__module__.startswith("moet")]
    found = {name for base in homes for name in (*vars(base), *inspect.get_annotations(base)) if name[0] != "_"}
    return [_member(thing, name) for name in sorted(found) if not re.fullmatch("set_[a-z]+_request", name)]


def _member(thing: type, name: str) -> str:
    value = inspect.getattr_static(thing, name, None)
    value = getattr(value, "__func__", value)
    return f".{name}{_parameters(value)}" if inspect.isfunction(value) else f".{name}"


def _parameters(thing: Any) -> str:
    """Names and defaults; annotations are not a part of what breaks a caller."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        KEPT.write_text(public_names(), encoding="utf-8")
    else:
        print(public_names(), end="")
