"""A mixture in other languages, with the same answers to the bit."""

from moet.export.c import c
from moet.export.dot import dot
from moet.export.python import python

__all__ = ["c", "dot", "python"]
