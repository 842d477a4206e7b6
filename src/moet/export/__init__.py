"""A mixture in other languages, with the same answers to the bit."""

from moet.export.c_source import c
from moet.export.dot_graph import dot
from moet.export.onnx_model import onnx
from moet.export.python_source import python
from moet.export.smt2_text import smt2

__all__ = ["c", "dot", "onnx", "python", "smt2"]
