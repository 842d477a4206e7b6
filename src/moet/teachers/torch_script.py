"""TorchScript files, read without PyTorch and without executing anything in them.

Such a file is a zip of a pickle that describes the modules, the numbers of their parameters, and a program. The pickle
is read as records, the numbers as arrays; the program is left alone.
"""

from __future__ import annotations

import math
import os
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import TeacherError
from moet.teachers.activations import TORCH
from moet.teachers.arrays import MAX_BYTES
from moet.teachers.chain import Dense, Nonlinear, NotChainError, Step
from moet.teachers.inert_pickle import MAX_LENGTH, Record, read_records

_STORAGES = {"FloatStorage": "f4", "DoubleStorage": "f8", "HalfStorage": "f2", "LongStorage": "i8", "IntStorage": "i4"}
_SILENT = ("Flatten", "Identity", "Dropout")
_MAX_DEPTH = 16


class Script:
    """The modules of a TorchScript file, with their parameters."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
            if size > MAX_BYTES:
                raise TeacherError(f"it unpacks to {size} bytes, more than {MAX_BYTES}")
            (pickle,) = (name for name in archive.namelist() if name.count("/") == 1 and name.endswith("/data.pkl"))
            root = pickle.removesuffix("/data.pkl")
            members = {
                name.rpartition("/")[2]: archive.read(name)
                for name in archive.namelist()
                if name.startswith(f"{root}/data/")
            }
            order = archive.read(f"{root}/byteorder") if f"{root}/byteorder" in archive.namelist() else b"little"
            self._root = read_records(archive.read(pickle))
        self._storages = members
        self._order = ">" if order.strip() == b"big" else "<"

    def parameters(self) -> dict[str, NDArray[Any]]:
        """Parameters by name, as a state dict has them."""
        return dict(self._parameters(self._root, ""))

    def chain(self) -> list[Step]:
        """What the file computes, if its modules say so: a sequence of layers and activations.

        Raises
        ------
        NotChainError
            If a module of another kind is in it, whose program would have to be understood.
        """
        return self._chain(self._root, 0)

    def _parameters(self, module: Any, prefix: str) -> list[tuple[str, NDArray[Any]]]:
        found: list[tuple[str, NDArray[Any]]] = []
        if prefix.count(".") > _MAX_DEPTH:
            raise TeacherError(f"its modules are nested more than {_MAX_DEPTH} deep")
        for name, value in _state(module).items():
            if isinstance(value, Record) and value.name == "torch._utils._rebuild_tensor_v2":
                found.append((f"{prefix}{name}", self._tensor(value)))
            elif isinstance(value, Record):
                found += self._parameters(value, f"{prefix}{name}.")
        return found

    def _chain(self, module: Any, depth: int) -> list[Step]:
        kind = module.name.rpartition(".")[2] if isinstance(module, Record) else "value"
        if not isinstance(module, Record) or ".torch.nn.modules." not in module.name or depth > _MAX_DEPTH:
            raise NotChainError("it has a module whose program would have to be understood")
        state = _state(module)
        match kind:
            case "Sequential":
                children = [value for name, value in state.items() if str(name).isdecimal()]
                return [step for child in children for step in self._chain(child, depth + 1)]
            case "Linear":
                weight = self._tensor(state["weight"]).astype(np.float64)
                bias = state.get("bias")
                return [Dense(weight.T, np.zeros(len(weight)) if bias is None else self._tensor(bias).astype(float))]
            case "ReLU" | "Tanh" | "Sigmoid" | "SiLU" | "Mish" | "SELU":  # those without settings
                return [Nonlinear(TORCH[kind])]
            case _ if kind in _SILENT:
                return []
        raise NotChainError(f"it has a {kind}")

    def _tensor(self, record: Any) -> NDArray[Any]:
        match record.arguments if isinstance(record, Record) else ():
            case (
                Record(arguments=("storage", Record() as kind, str(key), _, _)),
                int(first),
                tuple(shape),
                strides,
                *_,
            ):
                pass
            case _:
                raise TeacherError("it holds a tensor that is not understood")
        code = _STORAGES.get(kind.name.rpartition(".")[2])
        if code is None or key not in self._storages or not all(_is_length(n) for n in (*shape, first)):
            raise TeacherError(f"it holds a tensor of {kind.name} that is not understood")
        expected = tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))
        if strides != expected:
            raise TeacherError("it holds a tensor that does not lie in one piece")
        dtype = np.dtype(f"{self._order}{code}")
        content = self._storages[key]
        if (first + math.prod(shape)) * dtype.itemsize > len(content):
            raise TeacherError(f"it holds a tensor of shape {shape[:4]}, but {len(content)} bytes for it")
        return np.frombuffer(content, dtype, math.prod(shape), first * dtype.itemsize).reshape(shape)


def _is_length(value: Any) -> bool:
    return type(value) is int and 0 <= value < MAX_LENGTH


def is_script(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one of TorchScript."""
    if not zipfile.is_zipfile(path):
        return False
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def _state(module: Any) -> dict[Any, Any]:
    return module.state if isinstance(module, Record) and isinstance(module.state, dict) else {}
