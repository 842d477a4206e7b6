"""Names of environments as people write them: an id with settings, or a function of a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from moet.errors import TaskError

_VERSION = re.compile(r".*-v\d+")


class NamedEnv(NamedTuple):
    """What a name stands for: a Gymnasium id, and what ``gymnasium.make`` is told besides."""

    id: str
    settings: dict[str, Any]


def parse_name(name: str) -> NamedEnv:
    """Take a name apart.

    Raises
    ------
    TaskError
        If the settings are not written as the arguments of a call, with plain values.

    Examples
    --------
    >>> parse_name("CartPole-v1")
    NamedEnv(id='CartPole-v1', settings={})
    >>> parse_name("FrozenLake-v1(is_slippery=False, map_name='8x8')")
    NamedEnv(id='FrozenLake-v1', settings={'is_slippery': False, 'map_name': '8x8'})
    """
    env_id, bracket, _ = name.partition("(")
    if not bracket:
        return NamedEnv(name, {})
    try:
        call = ast.parse("f" + name[len(env_id) :].strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError("not a call")
        # ** has no name, and is no plain value
        settings = {str(word.arg or ""): ast.literal_eval(word.value) for word in call.keywords}
        if "" in settings:
            raise ValueError("no name")
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise TaskError(
            f"cannot read the settings in {name!r}; write them as in 'FrozenLake-v1(is_slippery=False)': a name, an "
            "equals sign, and a number, a text in quotes, True, False or None"
        ) from None
    return NamedEnv(env_id.strip(), settings)


def is_function(name: str) -> bool:
    """Whether a name is ``module:function``; ``module:Id-v0`` is Gymnasium's way to import before it looks up an id.

    Examples
    --------
    >>> is_function("my_envs:make"), is_function("my_envs:Mine-v0"), is_function("CartPole-v1")
    (True, False, False)
    """
    return ":" in name and "(" not in name and not _VERSION.fullmatch(name)


def imported(name: str) -> Callable[..., Any]:
    """The function, or class, that ``module:function`` names. This imports the module: only for names a user typed.

    Raises
    ------
    TaskError
        If there is none.
    """
    module, _, attribute = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        told = "a function that makes an environment is named MODULE:FUNCTION"
        raise TaskError(f"cannot find {name!r}: {error}; {told}") from None
    if not callable(found):
        raise TaskError(f"{name!r} is a {type(found).__name__}, not a function that makes an environment")
    return found
