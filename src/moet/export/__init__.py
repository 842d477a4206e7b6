"""A mixture in other languages, with the same answers to the bit."""

from moet.export.c import c
from moet.export.dot import dot
from moet.export.onnx import onnx
from moet.export.python import python
from moet.export.smt2 import smt2

__all__ = ["c", "dot", "onnx", "python", "smt2"]
