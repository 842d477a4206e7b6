"""Makes the controllers of ``moet bench archcomp`` anew: ``python benchmarks/archcomp_controllers.py [INSTANCE ...]``.

Those distilled from published networks need the folder of these in ``$MOET_ARCHCOMP``. Everything is drawn from fixed
seeds.
"""

from __future__ import annotations

import sys
from pathlib import Path

from moet import save
from moet.study import archcomp
from moet.study.archcomp.simulate import attack
from moet.study.archcomp.teachers import RECIPES

FOLDER = Path(archcomp.__file__).parent / "controllers"
RUNS = 4_000


def main(names: list[str]) -> None:
    """Make, try and write the controllers of these instances, of all by default."""
    for name in names or list(RECIPES):
        instance = archcomp.find(name)
        controller = RECIPES[name].make(instance)
        margin = attack(instance, controller, RUNS)
        print(f"{name}: {controller.n_numbers} numbers, least margin of {RUNS:,} runs {margin:.6g}", flush=True)
        if margin < 0 and instance.holds:
            sys.exit(f"{name}: the controller breaks a demand, it is not kept")
        save(controller, FOLDER / f"{name}.moet.json")


if __name__ == "__main__":
    main(sys.argv[1:])
