"""Teachers: agents to learn from, our own and anybody's.

>>> from moet import teachers
>>> teacher = teachers.load("cartpole")
"""

from moet.teachers.bundled import load, names
from moet.teachers.recorded import read_recording
from moet.teachers.teacher import Teacher

__all__ = ["Teacher", "load", "names", "read_recording"]
