"""Ask about random plants and random specifications, and judge every verdict by simulated runs and by z3.

    python benchmarks/plant_questions.py --count 20000 --first 0

Plants are affine, equations or flows, with schedules, memory, several boxes or a polytope of first states, unknown
numbers, and policies of laws or of labels. A proof is wrong if a simulated run breaks the specification (signals jump
between their limits at every look, and runs of flows are looked at between samples); a refutation is wrong if its first
state is none or if no run from there does. For affine plants with one law z3 decides in exact arithmetic, too: a proof
is wrong if a violation by more than 1e-9 exists, a refutation if none by more than -1e-9 does. The simulation evaluates
the texts of the system's document with NumPy and shares no code with the library.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import z3

from moet import Mixture, RegressionMixture, RegressionTree, Tree
from moet.verify import Proved, Refuted, Unknown, meets, systems

RUNS, INNER = 200, 24
TOLERANCE = 1e-7
_NUMPY = {"sin": np.sin, "cos": np.cos, "abs": np.abs, "min": np.minimum, "max": np.maximum}

Floats = np.ndarray


def text(value: float) -> str:
    """A short decimal."""
    return str(round(float(value), 3))


def random_plant(rng: np.random.Generator) -> Any:
    """A small plant of any kind."""
    d = int(rng.integers(1, 3))
    names, w = ["x", "y"][:d], text(rng.uniform(0.02, 0.4))
    a, b, c = (text(v) for v in rng.uniform(0.05, 0.9, 3))
    box: dict[str, Any] = dict.fromkeys(names, ("-" + w, w))
    given: dict[str, Any] = {"controls": {"u": (-1, 1)}, "initial": box}
    if rng.random() < 0.25:
        other = {name: (text(0.5), text(0.5 + rng.uniform(0, 0.2))) for name in names}
        given["initial"] = [box, other]
    if rng.random() < 0.3:
        given["initial_where"] = [f"x + {a} * {names[-1]} <= {text(rng.uniform(0.0, 0.2))}"]
        given["initial"] = box
    plan = [text(v) for v in rng.uniform(-0.2, 0.2, 3)]
    if rng.random() < 0.5:
        plan[-1] = ("-0.05", "0.1")
    if rng.random() < 0.4:
        given["actions"] = {"down": {"u": ("-1", text(rng.uniform(-1, -0.5)))}, "up": {"u": text(rng.uniform(0.2, 1))}}
    kind = int(rng.integers(3))
    if kind == 0:
        if rng.random() < 0.4:
            given["disturbance"] = {"x": "0.02"}
        if rng.random() < 0.5:
            given["schedule"] = {"x": plan}
        matrix, gains = ([[a]], [[b]]) if d == 1 else ([[a, "0.1"], ["-" + c, b]], [["0.1"], [b]])
        return systems.AffineSystem("plant", states=names, matrix=matrix, input_matrix=gains, **given)
    push = "push" if rng.random() < 0.5 else "0"
    if push == "push":
        given["schedule"] = {"push": plan}
    if kind == 1:
        step = {"x": f"{a} * x + {b} * u - 0.1 * sin(x) + {push}"}
        if d == 2:
            step = {"x": f"x + 0.1 * y + 0.05 * max(x, y) + {push}", "y": f"{a} * y - {c} * sin(x) + {b} * u * cos(x)"}
        return systems.NonlinearSystem("plant", states=names, step=step, **given)
    flow = {"x": f"-{a} * x + {b} * u * (1 + 0.1 * x) + {push} + gust * k"}
    if d == 2:
        flow = {"x": f"y + {push}", "y": f"-sin(x) - {a} * y + {b} * u - 0.2 * x * y + gust * k"}
    if rng.random() < 0.4:
        given["memory"] = {"m": str(rng.choice(["u", "x", "0.5 * m + x * u"]))}
        boxes = given["initial"] if isinstance(given["initial"], list) else [given["initial"]]
        given["initial"] = [{**one, "m": 0} for one in boxes]
    gust, k = (("-0.1", "0.1"), ("0.9", "1.1")) if rng.random() < 0.4 else ((0, 0), (1, 1))
    period = str(rng.choice(["0.1", "0.25", "0.5"]))
    unknown = {"disturbance": {"gust": gust}, "parameters": {"k": k}}
    return systems.SampledSystem("plant", flow=flow, period=period, **unknown, **given)


def random_policy(plant: Any, rng: np.random.Generator) -> Any:
    """One to three laws, or labels behind tests."""
    n, count = plant.n_states, int(rng.integers(1, 4))
    if plant.effects:
        tree = Tree(
            [int(rng.integers(n)), -1, -1],
            [float(round(rng.normal() * 0.1, 3)), 0.0, 0.0],
            [1, -1, -1],
            [2, -1, -1],
            [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]],
        )
        return Mixture([[0.0] * n], [0.0], [tree], ["down", "up"], feature_names=list(plant.states))
    leaves = [
        RegressionTree.leaf([round(rng.normal() * 0.1, 3)], slope=[(-rng.uniform(0, 1.5, n)).round(3)])
        for _ in range(count)
    ]
    weights, bias = rng.normal(size=(count, n)).round(2), rng.normal(size=count).round(2)
    return RegressionMixture(weights, bias, leaves, ["u"], feature_names=list(plant.states))


class Judge:
    """Simulates a plant from its document."""

    def __init__(self, plant: Any, policy: Any, seed: int) -> None:
        self.document, self.policy = plant.document(), policy
        self.rng = np.random.default_rng(seed)
        self.states = self.document["states"]
        self.dynamics = self.document["dynamics"]
        self.flows = self.dynamics["kind"] == "flow"
        self.period = float(Fraction(self.dynamics.get("period", "1")))
        self.codes = {
            key: [compile(said, key, "eval") for said in self.dynamics.get(key, [])] for key in ("flow", "step")
        }
        self.memory = [(name, compile(said, "memory", "eval")) for name, said in self.dynamics.get("memory", [])]
        first = self.document.get("first", {"boxes": [self.document["initial"]], "where": []})
        self.boxes = np.array([[[float(Fraction(v)) for v in side] for side in box] for box in first["boxes"]])
        self.where = [
            (np.array([float(Fraction(v)) for v in half["coefficients"]]), float(Fraction(half["bound"])))
            for half in first["where"]
        ]

    def starts(self, n: int) -> Floats:
        """First states, many of them corners."""
        box = self.boxes[self.rng.integers(len(self.boxes), size=n)]
        share = self.rng.random(box.shape[:2])
        share = np.where(self.rng.random((n, 1)) < 0.4, share.round(), share)
        rows = box[..., 0] + share * (box[..., 1] - box[..., 0])
        return rows[self.begin(rows)]

    def begin(self, rows: Floats, slack: float = 0.0) -> Floats:
        """Whether rows are first states."""
        low, high = self.boxes[..., 0] - slack, self.boxes[..., 1] + slack
        inside = np.any(np.all((low <= rows[:, None]) & (rows[:, None] <= high), axis=2), axis=1)
        return inside & np.all([rows @ row <= bound + slack for row, bound in self.where] + [inside], axis=0)

    def drawn(self, side: Any, n: int) -> Floats:
        """Numbers at the ends of an interval, mostly."""
        low, high = (float(Fraction(end)) for end in side)
        share = self.rng.random(n)
        return low + np.where(self.rng.random(n) < 0.8, share.round(), share) * (high - low)

    def runs(self, rows: Floats, steps: int) -> tuple[Floats, Floats]:
        """Times, and states at them; of flows at points between the looks, too."""
        n, x = len(rows), rows
        times, found = [0.0], [x]
        fixed = {name: self.drawn(side, n) for name, side in self.dynamics.get("parameters", [])}
        for step in range(steps):
            known = fixed | self._controls(x) | self._planned(step, n)
            known |= {name: self.drawn(side, n) for name, side in self.dynamics.get("signals", [])}
            for part in range(INNER if self.flows else 1):
                before, x = x, self._moved(x, known)
                if part == 0:
                    first = before
                if self.flows and part % 4 == 3 and part < INNER - 1:
                    found.append(x)
                    times.append(self.period * (step + (part + 1) / INNER))
            x = self._remembered(first, x, known)
            found.append(x)
            times.append(self.period * (step + 1))
        return np.array(times), np.stack(found, axis=1)

    def _controls(self, x: Floats) -> dict[str, Floats]:
        answers = self.policy.predict(x)
        if "effects" not in self.document:
            return {"u": np.clip(answers[:, 0], -1, 1)}
        sides = {name: side[0] for name, side in self.document["effects"]}
        drawn = {name: self.drawn(side, len(x)) for name, side in sides.items()}
        return {"u": np.where(np.asarray(answers) == "up", drawn["up"], drawn["down"])}

    def _planned(self, step: int, n: int) -> dict[str, Floats]:
        plan = self.dynamics.get("schedule", [])
        return {name: self.drawn(sides[min(step, len(sides) - 1)], n) for name, sides in plan}

    def _moved(self, x: Floats, known: dict[str, Floats]) -> Floats:
        if self.dynamics["kind"] == "affine":
            matrix, gains = (
                np.array([[float(Fraction(v)) for v in row] for row in self.dynamics[key]])
                for key in ("matrix", "input_matrix")
            )
            added = [known.get(name, 0.0) + self.drawn(side, len(x)) for name, side in self._pushed()]
            return x @ matrix.T + known["u"][:, None] * gains.T + np.array(added).T
        if not self.flows:
            return self._values("step", x, known)
        h = self.period / INNER
        a = self._values("flow", x, known)
        b = self._values("flow", x + h / 2 * a, known)
        c = self._values("flow", x + h / 2 * b, known)
        return x + h / 6 * (a + 2 * b + 2 * c + self._values("flow", x + h * c, known))

    def _pushed(self) -> list[tuple[str, Any]]:
        return list(zip(self.states, self.document["disturbance"], strict=True))

    def _values(self, key: str, x: Floats, known: dict[str, Floats]) -> Floats:
        names = {**_NUMPY, **known, **dict(zip(self.states, x.T, strict=True))}
        return np.stack([np.zeros(len(x)) + eval(code, {"__builtins__": {}}, names) for code in self.codes[key]], 1)

    def _remembered(self, first: Floats, x: Floats, known: dict[str, Floats]) -> Floats:
        if not self.memory:
            return x
        names, x = {**_NUMPY, **known, **dict(zip(self.states, first.T, strict=True))}, x.copy()
        for name, code in self.memory:
            x[:, self.states.index(name)] = eval(code, {"__builtins__": {}}, names)
        return x


def random_question(plant: Any, judge: Judge, rng: np.random.Generator) -> tuple[str, Any]:
    """A specification near what runs do, and by how much runs miss it (at most 0: they do not)."""
    steps = int(rng.integers(1, 5))
    runs = judge.starts(RUNS)
    times, states = judge.runs(runs, steps)
    k, sign = int(rng.integers(plant.n_states)), float(rng.choice([-1.0, 1.0]))
    name, end = plant.states[k], text(steps * judge.period)
    values = sign * states[..., k]
    near = rng.normal() * 0.1 * (np.ptp(values) + 0.01)
    kind = str(rng.choice(["hold", "hold", "never", "reach", "late"]))
    looks = np.isclose(times / judge.period % 1.0, 0.0) | np.isclose(times / judge.period % 1.0, 1.0)
    if kind == "reach":
        bound = text(values.max(axis=1).min() * 0 + values[:, looks].min(axis=1).max() + near)
        said = f"reach {sign:g} * {name} <= {bound} within {end}"
        return said, lambda v, t: v[..., looks, k].__mul__(sign).min(axis=1) - float(bound)
    start = 0.0 if kind != "late" else judge.period * int(rng.integers(1, steps + 1))
    active = times >= start - 1e-9
    bound = text(values[:, active].max() + near)
    body = f"{sign:g} * {name} <= {bound}"
    if kind == "never":
        return (
            f"never {sign:g} * {name} >= {bound} until {end}",
            lambda v, t: (sign * v[..., k]).max(axis=1) - float(bound),
        )
    when = f"from {text(start)} to {end}" if kind == "late" else f"until {end}"
    return f"{body} {when}", lambda v, t: (sign * v[:, active, k]).max(axis=1) - float(bound)


def by_z3(plant: Any, policy: Any, spec: Any, slack: Fraction) -> bool | None:
    """Whether a run of an affine plant with one law misses a specification by more than ``slack``; None if unsure."""
    solver = z3.Solver()
    solver.set("timeout", 2000)

    def number(value: Any) -> Any:
        value = Fraction(value)
        return z3.Q(value.numerator, value.denominator)

    document = plant.document()
    first = document.get("first", {"boxes": [document["initial"]], "where": []})
    d, plan = plant.n_states, dict(document["dynamics"].get("schedule", []))
    x = [z3.Real(f"x{i}") for i in range(d)]
    solver.add(
        z3.Or(
            [
                z3.And([z3.And(number(a) <= v, v <= number(b)) for v, (a, b) in zip(x, box, strict=True)])
                for box in first["boxes"]
            ]
        )
    )
    for half in first["where"]:
        solver.add(sum(number(a) * v for a, v in zip(half["coefficients"], x, strict=True)) <= number(half["bound"]))
    leaf = policy.trees[0]
    slopes, value = leaf.slope[0][0].tolist(), float(leaf.value[0][0])
    (part,) = spec.requirements
    states = [x]
    for step in range(int(part.end)):
        wanted = sum((number(a) * v for a, v in zip(slopes, states[-1], strict=True)), number(value))
        u = z3.If(wanted < -1, z3.RealVal(-1), z3.If(wanted > 1, z3.RealVal(1), wanted))
        following = []
        for i, name in enumerate(plant.states):
            w = z3.Real(f"w{step}_{i}")
            low, high = plant.disturbance[i]
            more = plan.get(name, [["0", "0"]])
            a, b = more[min(step, len(more) - 1)]
            solver.add(number(low) + number(a) <= w, w <= number(high) + number(b))
            row, gain = plant.matrix[i], plant.input_matrix[i][0]
            following.append(sum((number(a) * v for a, v in zip(row, states[-1], strict=True)), number(gain) * u) + w)
        states.append(following)
    over = [
        [
            sum(number(a) * v for a, v in zip(c.coefficients, state, strict=True)) - number(c.bound)
            for c in part.conditions
        ]
        for state in states[int(part.start) :]
    ]
    gap = number(slack)
    if part.kind == "reach":
        solver.add(z3.And([z3.Or([v > gap for v in values]) for values in over]))
    elif part.kind == "avoid":
        solver.add(z3.Or([z3.And([v < -gap for v in values]) for values in over]))
    else:
        solver.add(z3.Or([v > gap for values in over for v in values]))
    answer = solver.check()
    return None if answer == z3.unknown else answer == z3.sat


def ask(seed: int) -> tuple[str, str, int]:
    """One question: its verdict, what is wrong with it if anything is, and whether z3 was asked."""
    from moet.verify import Spec

    rng = np.random.default_rng(seed)
    plant = random_plant(rng)
    policy = random_policy(plant, rng)
    judge = Judge(plant, policy, seed)
    if not len(judge.starts(RUNS)):
        return "skipped", "", 0
    said, missed = random_question(plant, judge, rng)
    verdict = meets(policy, plant, said, cpu_limit=1.0, seed=seed)
    kind = type(verdict).__name__
    end = float(Spec.read(said, plant.states).requirements[0].end)
    steps = round(end / judge.period)
    wrong = ""
    if isinstance(verdict, Proved):
        times, states = judge.runs(judge.starts(4 * RUNS), steps)
        worst = float(missed(states, times).max())
        wrong = f"a run misses it by {worst}" if worst > TOLERANCE else ""
    if isinstance(verdict, Refuted):
        start = np.array([[float(v) for v in verdict.trace.start]])
        times, states = judge.runs(np.repeat(start, 4000, axis=0), steps)
        worst = float(missed(states, times).max())
        if not judge.begin(start, 1e-12)[0]:
            wrong = "it begins elsewhere"
        elif worst < -0.02:  # unknown numbers at random come near the worst, not to it
            wrong = f"no run comes nearer than {-worst}"
    if "does not accept" in (getattr(verdict, "reason", None) or ""):
        wrong = verdict.reason
    asked = 0
    single = isinstance(plant, systems.AffineSystem) and not plant.effects and len(policy.trees) == 1
    if single and not wrong and not isinstance(verdict, Unknown):
        spec = Spec.read(said, plant.states)
        answer = by_z3(plant, policy, spec, Fraction("1e-9") * (1 if isinstance(verdict, Proved) else -1))
        asked = int(answer is not None)
        if answer is not None and answer == isinstance(verdict, Proved):
            wrong = "z3 says otherwise"
    return kind, f"seed {seed}: {said}: {kind}, {wrong}" if wrong else "", asked


def main() -> None:
    """Print a line per thousand questions, and whatever is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--every", type=int, default=1000, help="questions per line")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    for number in range(arguments.count):
        kind, wrong, asked = ask(arguments.first + number)
        counts[kind] += 1
        counts["wrong"] += bool(wrong)
        counts["by z3"] += asked
        if wrong:
            print("WRONG", wrong, flush=True)
        if (number + 1) % arguments.every == 0 or number + 1 == arguments.count:
            told = ", ".join(f"{count} {kind.lower()}" for kind, count in sorted(counts.items()))
            print(f"{number + 1} questions: {told}; {time.process_time():.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
