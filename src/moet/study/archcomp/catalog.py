"""All benchmarks by name."""

from __future__ import annotations

from moet.errors import InputError
from moet.study.archcomp.flight import FLIGHT
from moet.study.archcomp.instance import Instance
from moet.study.archcomp.pendulums import PENDULUMS
from moet.study.archcomp.vcas import VCAS
from moet.study.archcomp.vehicles import VEHICLES
from moet.study.archcomp.zhu import ZHU

INSTANCES: dict[str, Instance] = {instance.name: instance for instance in (*VEHICLES, *PENDULUMS, *FLIGHT, *VCAS, *ZHU)}


def find(name: str) -> Instance:
    """The instance of this name."""
    if name not in INSTANCES:
        raise InputError(f"there is no instance {name!r}; the names are {', '.join(INSTANCES)}")
    return INSTANCES[name]
