"""Plants of the ARCH competition's category for learned controllers (AINNCS), each with a small controller to prove.

An :class:`~moet.study.archcomp.instance.Instance` has the plant as its authors wrote it, what is demanded of it, the
published network where there is one, and a controller of a few numbers, kept as a model file.
"""

from moet.study.archcomp.catalog import INSTANCES, find
from moet.study.archcomp.instance import Demand, Instance

__all__ = ["INSTANCES", "Demand", "Instance", "find"]
