"""Pickles read as records: what they would build is written down, and nothing is imported, called or built.

A pickle is a program for a small stack machine. Python's own machine imports any name and calls it with anything. This
one knows the same instructions, but a name stays a name, and a call becomes a :class:`Record` of what would have been
called with what. Numbers and arrays are taken out of the records by code of our own; see :func:`as_number` and
:func:`as_array`.
"""

from __future__ import annotations

import math
import pickletools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import TeacherError

MAX_INSTRUCTIONS = 1_000_000
"""Longer programs are refused; the statistics of an environment take a few hundred instructions."""

MAX_LENGTH = 2**40
"""No array is as long in any direction; to print a number of a million digits would take for ever."""

_PACKAGES = {"stable_baselines3", "sb3_contrib", "gym", "gymnasium", "numpy", "torch", "__torch__", "collections"}
"""Packages whose names may occur in files that agents come in."""

_NAMES = {
    *("_codecs.encode", "copyreg._reconstructor", "copy_reg._reconstructor"),
    *(f"{module}.{name}" for module in ("builtins", "__builtin__") for name in ("object", "set", "bytearray")),
}
"""Other names that may, as Python 3 and Python 2 have them."""


@dataclass(eq=False)
class Record:
    """A name, or a call that was not made.

    Attributes
    ----------
    name : str
        Full name of the class or function.
    arguments : tuple
        What it would have been called with; empty for a name.
    state : object
        What the result would have been given as its state; None if nothing.
    items : dict
        What would have been put into it by key.
    """

    name: str
    arguments: tuple[Any, ...] = ()
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Record({self.name})"


def read_records(content: bytes) -> Any:
    """What a pickle holds: plain values, lists, tuples and dictionaries of them, and records.

    Raises
    ------
    TeacherError
        If it is damaged, too long, or names anything that has no place in the file of an agent.
    """
    try:
        return _Machine().run(content)
    except TeacherError:
        raise
    except Exception as error:  # whatever a damaged program makes its reader raise
        raise TeacherError(f"it is no pickle, or damaged: {error or type(error).__name__}") from None


def as_array(value: Any) -> NDArray[Any] | None:
    """The array of numbers that a record stands for; None if it is something else."""
    if not isinstance(value, Record):
        return None
    match value.name.rpartition(".")[2], value.arguments, value.state:
        case "_reconstruct", _, (int(), tuple(shape), Record() as kind, bool(fortran), data):
            return _array(shape, kind, data, "F" if fortran else "C")
        case "_frombuffer", (data, Record() as kind, tuple(shape), str(order)), _:
            return _array(shape, kind, data, order)
        case "scalar", (Record() as kind, data), _:
            return _array((), kind, data, "C")
    return None


def as_number(value: Any) -> float | None:
    """A number of Python's or of NumPy's; None if it is something else."""
    array = as_array(value)
    if array is not None and array.shape == ():
        return float(array)
    if isinstance(value, int) and abs(value) > MAX_LENGTH:
        return None
    return float(value) if isinstance(value, int | float) else None


def _array(shape: tuple[Any, ...], kind: Record, data: Any, order: str) -> NDArray[Any]:
    if isinstance(data, Record):  # how older protocols write bytes
        match data.name, data.arguments:
            case ("_codecs.encode", (str(text), "latin1")):
                data = text.encode("latin1")
            case (("builtins.bytearray" | "__builtin__.bytearray"), (bytes(inner),)):
                data = inner
    dtype = _dtype(kind)
    lengths = all(type(length) is int and 0 <= length < MAX_LENGTH for length in shape)
    if not isinstance(data, bytes | bytearray) or not lengths or order not in ("C", "F"):
        raise TeacherError("it holds an array that is not understood")
    if math.prod(shape) * dtype.itemsize != len(data):  # before anything is allocated
        raise TeacherError(f"it holds an array of shape {shape[:4]} and {dtype}, but {len(data)} bytes for it")
    return np.frombuffer(bytes(data), dtype).reshape(shape, order=order)  # type: ignore[call-overload]


def _dtype(kind: Record) -> np.dtype[Any]:
    code = kind.arguments[0] if kind.arguments else None
    byte_order = kind.state[1] if isinstance(kind.state, tuple) and len(kind.state) > 1 else "="
    known = isinstance(code, str) and re.fullmatch(r"b1|[iu][1248]|f[248]", code)
    if kind.name != "numpy.dtype" or not known or byte_order not in tuple("<>=|"):
        raise TeacherError("it holds an array of something else than numbers")
    return np.dtype(f"{byte_order}{code}")


class _Machine:
    """The stack machine, with every instruction that builds values and none that acts."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self, content: bytes) -> Any:
        for count, (instruction, argument, _) in enumerate(pickletools.genops(content)):
            if count >= MAX_INSTRUCTIONS:
                raise TeacherError(f"it has more than {MAX_INSTRUCTIONS} instructions")
            if instruction.name == "STOP":
                break
            self._step(instruction.name, argument)
        return self.stack.pop()

    def _step(self, name: str, argument: Any) -> None:
        if name in _VALUES:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self.memo[len(self.memo) if argument is None else int(argument)] = self.stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[int(argument)])
        elif name not in ("PROTO", "FRAME"):
            method: Callable[[Any], None] | None = getattr(self, f"do_{name.lower()}", None)
            if method is None:
                raise TeacherError(f"it holds {name}, which no file of an agent needs")
            method(argument)

    def _take(self, count: int) -> tuple[Any, ...]:
        if count > len(self.stack):
            raise TeacherError("it is damaged: it takes more from its stack than there is")
        taken = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        return taken

    def _take_marked(self) -> tuple[Any, ...]:
        return self._take(max(0, len(self.stack) - self.marks.pop()))

    def do_mark(self, _: Any) -> None:
        self.marks.append(len(self.stack))

    def do_pop(self, _: Any) -> None:
        self._take(1)

    def do_pop_mark(self, _: Any) -> None:
        self._take_marked()

    def do_dup(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def do_tuple(self, _: Any) -> None:
        self.stack.append(self._take_marked())

    def do_tuple1(self, _: Any) -> None:
        self.stack.append(self._take(1))

    def do_tuple2(self, _: Any) -> None:
        self.stack.append(self._take(2))

    def do_tuple3(self, _: Any) -> None:
        self.stack.append(self._take(3))

    def do_list(self, _: Any) -> None:
        self.stack.append(list(self._take_marked()))

    def do_append(self, _: Any) -> None:
        self._extend(self._take(1))

    def do_appends(self, _: Any) -> None:
        self._extend(self._take_marked())

    def do_additems(self, _: Any) -> None:
        self._take_marked()  # what is in a set is never asked for

    def _extend(self, values: tuple[Any, ...]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(values)

    def do_dict(self, _: Any) -> None:
        values = self._take_marked()
        self.stack.append({})
        self._put(values)

    def do_setitem(self, _: Any) -> None:
        self._put(self._take(2))

    def do_setitems(self, _: Any) -> None:
        self._put(self._take_marked())

    def _put(self, values: tuple[Any, ...]) -> None:
        top = self.stack[-1]
        held = top.items if isinstance(top, Record) else top
        for key, value in zip(values[::2], values[1::2], strict=True):
            if not isinstance(key, str | int | float):  # to hash a tuple of tuples of ... may take for ever
                raise TeacherError("it holds a dictionary whose keys are neither text nor numbers")
            held[key] = value

    def do_global(self, argument: Any) -> None:
        self._name(*str(argument).split(" ", 1))

    def do_stack_global(self, _: Any) -> None:
        self._name(*self._take(2))

    def _name(self, module: Any, name: Any) -> None:
        full = f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else "something without a name"
        if full not in _NAMES and full.partition(".")[0] not in _PACKAGES:
            raise TeacherError(f"it names {full[:80]}, which the file of an agent has no use for; nothing was executed")
        self.stack.append(Record(full))

    def do_reduce(self, _: Any) -> None:
        self._call(*self._take(2))

    def do_newobj(self, _: Any) -> None:
        self._call(*self._take(2))

    def do_newobj_ex(self, _: Any) -> None:
        self._call(*self._take(3)[:2])

    def _call(self, called: Any, arguments: Any) -> None:
        if not isinstance(called, Record) or not isinstance(arguments, tuple):
            raise TeacherError("it is damaged: it calls what cannot be called")
        if called.name.endswith("._reconstructor") and arguments and isinstance(arguments[0], Record):
            called, arguments = arguments[0], ()  # how the oldest protocols make an object
        self.stack.append(Record(called.name, arguments))

    def do_build(self, _: Any) -> None:
        (state,) = self._take(1)
        if not isinstance(self.stack[-1], Record):
            raise TeacherError("it is damaged: it gives a state to what has none")
        self.stack[-1].state = state

    def do_binpersid(self, _: Any) -> None:
        (where,) = self._take(1)
        self.stack.append(Record("persistent", where if isinstance(where, tuple) else (where,)))


_VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": list,
}
