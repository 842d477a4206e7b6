"""What a study is: everything that a worker must know, kept in the study itself."""

from __future__ import annotations

import base64
import json
import platform
import zlib
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

from moet import __version__
from moet.envs.catalog import resolve
from moet.errors import InputError, StudyError
from moet.study.configuration import grid
from moet.study.presets import Plan, plan_for
from moet.teachers import load
from moet.teachers.teacher import Teacher

FORMAT = 1

Sampler = Literal["grid", "nsga2", "tpe"]
"""``"grid"``: every configuration of the plan. ``"nsga2"``, ``"tpe"``: search between its limits."""


@dataclass(frozen=True)
class Definition:
    """A study before its first trial.

    Attributes
    ----------
    task, preset : str
        What is tried, and the name of the plan.
    plan : Plan
        The grid, or for a search its limits.
    sampler : {"grid", "nsga2", "tpe"}
        Who chooses configurations.
    trials : int
        How many there will be.
    teacher : str
        Digest of the teacher.
    network : str or None
        The teacher itself, packed; None for the one that comes with the task.
    """

    task: str
    preset: str
    plan: Plan
    sampler: Sampler
    trials: int
    teacher: str
    network: str | None

    @classmethod
    def of(
        cls,
        task: str,
        preset: str,
        plan: Plan | None = None,
        *,
        sampler: Sampler = "grid",
        trials: int | None = None,
        teacher: Teacher | None = None,
    ) -> Definition:
        """Define a study; what is wrong with it is found here, before anything is run."""
        if sampler not in get_args(Sampler):
            raise InputError(f"sampler must be one of {', '.join(get_args(Sampler))}, got {sampler!r}")
        if (sampler == "grid") != (trials is None):
            raise InputError("a search with nsga2 or tpe needs a number of trials, and a grid has its own")
        if trials is not None and trials < 1:
            raise InputError(f"the number of trials must be at least 1, got {trials}")
        chosen = resolve(task)
        if chosen.continuous:
            raise InputError(
                f"a sweep compares students that answer with labels, {chosen.name} takes numbers; find a size for it "
                f"with `moet distill {chosen.name} -o policy.moet.json`"
            )
        plan = plan or plan_for(preset, chosen)
        _check_plan(plan)
        return cls(
            task=chosen.name,
            preset=preset,
            plan=plan,
            sampler=sampler,
            trials=trials or len(grid(plan)),
            teacher=(load(chosen.name) if teacher is None else teacher).digest,
            network=None if teacher is None else _packed_network(teacher),
        )

    def load_teacher(self) -> Teacher:
        """The teacher, from the package or from the study."""
        if self.network is not None:
            return _unpacked_network(self.network)
        teacher = load(self.task)
        if teacher.digest != self.teacher:
            raise StudyError(f"the teacher of {self.task} that comes with this moet is not the one of the study")
        return teacher

    def document(self) -> dict[str, Any]:
        """As JSON values, with the version that defines it."""
        document = {"format": FORMAT, "moet": __version__} | asdict(self)
        return json.loads(json.dumps(document))  # as it will be read back: no tuples

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Definition:
        """Read back what :meth:`document` gave."""
        try:
            if document["format"] != FORMAT:
                raise ValueError(f"it has format {document['format']}, which is not {FORMAT}")
            fields = {name: document[name] for name in cls.__dataclass_fields__}
            plan = dict(fields.pop("plan"))
            plan["tree_depths"] = tuple(plan["tree_depths"])
            for part in ("mixtures", "boosted"):
                plan[part] = tuple((experts, depth) for experts, depth in plan[part])
            return cls(plan=Plan(**plan), **fields)
        except (KeyError, TypeError, ValueError) as error:
            raise StudyError(
                f"this moet, {__version__}, cannot read a study made by moet {document.get('moet')}: {error}"
            ) from None


def _check_plan(plan: Plan) -> None:
    """Complain about a plan of one's own before workers do."""
    if not plan.gates or min(plan.tree_depths, default=1) < 1:
        raise InputError(f"a plan needs a named training in gates, and trees of depth 1 at least; got {plan}")
    configurations = grid(plan)
    if not configurations or len(set(configurations)) < len(configurations):
        raise InputError(f"a plan needs something to try, and everything once; got {plan}")
    try:
        for configuration in {c.gate: c for c in configurations if c.experts > 1}.values():
            configuration.student(plan)
    except TypeError as error:
        raise InputError(f"the plan trains mixtures with what MoETClassifier does not know: {error}") from None


def check_same(stored: dict[str, Any], wanted: dict[str, Any], name: str) -> None:
    """Complain if a study that exists is not the one that is wanted."""
    if stored["moet"] != wanted["moet"]:
        raise StudyError(
            f"the study {name} was begun by moet {stored['moet']}, this is {wanted['moet']}: results of different "
            "versions do not belong into one study. Use that version, another folder (-o) or another name (--study)"
        )
    pairs = [(key, stored["plan"].get(key), value) for key, value in wanted["plan"].items()]
    pairs += [(key, stored.get(key), value) for key, value in wanted.items() if key != "plan"]
    for key, theirs, ours in pairs:
        if theirs != ours:
            raise StudyError(
                f"there is another study {name}: its {key} is {_short(theirs)}, not {_short(ours)}. "
                "Choose another folder (-o) or study name (--study)"
            )


def versions() -> dict[str, str]:
    """Versions of this package and those it computes with."""
    packages = ("gymnasium", "numba", "numpy", "optuna", "scikit-learn", "scipy")
    return {"moet": __version__, "python": platform.python_version()} | {name: version(name) for name in packages}


def packed(content: bytes) -> str:
    """Bytes as text that a database holds, compressed."""
    return base64.b64encode(zlib.compress(content, level=9)).decode("ascii")


def unpacked(text: str) -> bytes:
    """What was packed; ValueError if it is damaged."""
    try:
        return zlib.decompress(base64.b64decode(text))
    except zlib.error as error:
        raise ValueError(str(error)) from None


def _packed_network(teacher: Teacher) -> str:
    from moet.teachers.arrays import write_network
    from moet.teachers.network import NetworkTeacher

    if not isinstance(teacher, NetworkTeacher):
        raise InputError(
            f"a {type(teacher).__name__} cannot travel to the workers of a sweep; only networks can (--arrays, --sb3)"
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "teacher.npz"
        write_network(teacher.network, path)
        return packed(path.read_bytes())


def _unpacked_network(text: str) -> Teacher:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "teacher.npz"
        path.write_bytes(unpacked(text))
        return Teacher.from_arrays(path)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
