"""Scripts written as modules, bundled into one that loads nothing.

A module imports by name from files beside or above it, ``import { html } from "./dom.js";``, and exports what it
declares, ``export function html``. In the bundle every module is a function that returns its exports, so what it does
not export stays its own. Modules that import each other in a circle are refused.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import NamedTuple

from moet.errors import InputError

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.M)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.M)


class Module(NamedTuple):
    """What a script takes from others, what it gives, and its text without either."""

    imports: dict[str, list[str]]
    exports: list[str]
    text: str


def parsed(source: str, path: str) -> Module:
    """Read a script; its imports are named by their paths from the same folder as ``path`` is."""
    imports = {
        _beside(path, target): [n.strip() for n in names.split(",")] for names, target in _IMPORT.findall(source)
    }
    text = _EXPORT.sub(r"\1", _IMPORT.sub("", source))
    if left := re.search(r"^(?:import|export) .*", text, re.M):
        raise InputError(f"{path}: {left[0]!r} is no import or export that can be bundled; write names in braces")
    return Module(imports, [name for _, name in _EXPORT.findall(source)], text)


def _beside(path: str, target: str) -> str:
    """Path of what a module calls ``target``."""
    parts: list[str] = []
    for part in (*PurePosixPath(path).parent.parts, *PurePosixPath(target).parts):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def in_order(modules: dict[str, Module], main: str) -> list[str]:
    """Paths of all that ``main`` needs, each after what it imports, itself last."""
    order: list[str] = []

    def visit(path: str, way: tuple[str, ...]) -> None:
        if path in way:
            raise InputError(f"modules import each other: {' → '.join((*way, path))}")
        if path in order:
            return
        for target, names in modules[path].imports.items():
            if target not in modules:
                raise InputError(f"{path} imports {target}, which does not exist")
            if unknown := set(names) - set(modules[target].exports):
                raise InputError(f"{path} imports {', '.join(sorted(unknown))}, which {target} does not export")
            visit(target, (*way, path))
        order.append(path)

    visit(main, ())
    return order


def bundled(sources: dict[str, str], main: str) -> str:
    """One script that does what the module ``main`` does; ``sources`` are texts by path."""
    modules = {path: parsed(source, path) for path, source in sources.items()}
    order = in_order(modules, main)
    place = {path: f"module{k}" for k, path in enumerate(order)}
    parts = []
    for path in order:
        module = modules[path]
        taken = "".join(f"const {{ {', '.join(names)} }} = {place[t]};\n" for t, names in module.imports.items())
        given = f"return {{ {', '.join(module.exports)} }};\n"
        parts.append(f"// {path}\nconst {place[path]} = (() => {{\n{taken}{module.text}{given}}})();\n")
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"
