"""Size and speed of policies exported to C, beside ``Mixture.act`` on the same states in the same process.

    python benchmarks/export.py MODEL [MODEL ...] [--task cartpole] [--compiler gcc] [--json rows.json]

A model is the file of a policy for the task; the states are those of its own play. Sizes are code and
constants in bytes, compiled with -Os: of the object file, and for a Cortex-M4 (where arm-none-eabi-gcc is installed)
also of the linked program with the arithmetic that the compiler adds. Speed is that of a loop compiled with -O2; ticks
are those of the x86 time stamp counter.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from harness import Results, Row, console, machine, show, single_threaded
from numpy.typing import NDArray

from moet import Mixture, export, load
from moet.distill import Policy
from moet.envs.catalog import resolve
from moet.envs.rollout import play
from moet.envs.seeds import Purpose, episode_seeds

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-ffp-contract=off"]
CORTEX_M4 = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
TYPES = {"float64": "double", "float32": "float", "float32-approximate": "float"}
DECISIONS = 20_000
"""Per round of C: long enough that calling it from Python does not count, short enough to run undisturbed."""

ACT = """
#include "policy.h"
int act(const TYPE *x);
int act(const TYPE *x) { return policy_predict(x); }
"""

PROGRAM = """
int act(const TYPE *x);
void _start(void);
volatile TYPE sensors[POLICY_FEATURES];
volatile int action;
void _start(void)
{
    TYPE x[POLICY_FEATURES];
    for (int k = 0; k < POLICY_FEATURES; k++) x[k] = sensors[k];
    for (;;) action = act(x);
}
"""

LOOP = """
#include "policy.h"
void run(const TYPE *x, long n, int *answers);
unsigned long long ticks(void);
void run(const TYPE *x, long n, int *answers)
{
    for (long i = 0; i < n; i++) answers[i] = policy_predict(x + i * POLICY_FEATURES);
}
#if defined(__x86_64__)
unsigned long long ticks(void) { return __builtin_ia32_rdtsc(); }
#else
unsigned long long ticks(void) { return 0; }
#endif
"""


def states_of_play(mixture: Mixture, task_name: str) -> NDArray[np.float64]:
    """States that the policy meets in its task."""
    task = resolve(task_name)
    episodes = play(Policy.of(mixture, task).act, task, episode_seeds(0, Purpose.REPORT, 100))
    return np.resize(task.view(episodes.observations), (DECISIONS, mixture.n_features)).astype(np.float32).astype(float)


def fewest(measure: Callable[[], Any], rounds: int) -> Any:
    """The smallest of several measurements: what disturbs them only adds."""
    return min(measure() for _ in range(rounds))


def compiled(folder: Path, name: str, code: str, command: list[str]) -> Path:
    """Compile code into a file; a warning is an error."""
    source = folder / f"{name}.c"
    source.write_text(code)
    output = folder / name
    subprocess.run([*command, str(source), "-o", str(output)], check=True)
    return output


def code_bytes(file: Path, size: str = "size") -> int:
    """Code and constants of a compiled file."""
    table = subprocess.run([size, str(file)], capture_output=True, text=True, check=True).stdout
    return int(table.splitlines()[1].split()[0])


def sizes(folder: Path, kind: str, n_features: int, compiler: str) -> Row:
    """Bytes of the model in ``policy.h``."""
    act = ACT.replace("TYPE", kind)
    row: Row = {"bytes": code_bytes(compiled(folder, "act.o", act, [compiler, *STRICT, "-Os", "-c"]))}
    if shutil.which(arm := "arm-none-eabi-gcc"):
        cross = [arm, *STRICT, *CORTEX_M4, "-Os"]
        object_file = compiled(folder, "arm.o", act, [*cross, "-c"])
        main = PROGRAM.replace("TYPE", kind).replace("POLICY_FEATURES", str(n_features))
        program = compiled(folder, "arm.elf", main, [*cross, "-nostartfiles", str(object_file)])
        row["arm"] = code_bytes(object_file, "arm-none-eabi-size")
        row["linked"] = code_bytes(program, "arm-none-eabi-size")
    return row


def c_speed(folder: Path, kind: str, mixture: Mixture, X: NDArray[np.float64], compiler: str) -> Row:
    """Seconds and ticks of one decision, and how many answers differ from the model's."""
    loop = LOOP.replace("TYPE", kind)
    path = compiled(folder, "loop.so", loop, [compiler, *STRICT, "-O2", "-shared", "-fPIC"])
    library = ctypes.CDLL(str(path))
    library.ticks.restype = ctypes.c_ulonglong
    states = np.ascontiguousarray(X, dtype=np.float64 if kind == "double" else np.float32)
    answers = np.empty(len(X), np.intc)
    arguments = [ctypes.c_void_p(states.ctypes.data), ctypes.c_long(len(X)), ctypes.c_void_p(answers.ctypes.data)]

    def one_round() -> tuple[float, int]:
        start, first = time.perf_counter(), library.ticks()
        library.run(*arguments)
        return time.perf_counter() - start, library.ticks() - first

    seconds, ticks = fewest(one_round, 200)
    differences = np.count_nonzero(mixture.classes[answers] != mixture.predict_hard(X))
    return {"c": seconds / len(X), "ticks": ticks / len(X), "differences": int(differences)}


def decided_by_python(model: str, task: str) -> Row:
    """Seconds of one decision by ``Mixture.act``."""
    mixture = load(model)
    states = list(states_of_play(mixture, task)[:1_000])
    mixture.act(states[0])

    def one_round() -> float:
        start = time.perf_counter()
        for state in states:
            mixture.act(state)
        return time.perf_counter() - start

    return {"act": fewest(one_round, 200) / len(states)}


def decided_by_c(model: str, task: str, style: str, precision: str, compiler: str) -> Row:
    """Measure one header."""
    mixture, kind = load(model), TYPES[precision]
    X = states_of_play(mixture, task)
    with TemporaryDirectory() as folder:
        (Path(folder) / "policy.h").write_text(export.c(mixture, name="policy", style=style, precision=precision))
        row = sizes(Path(folder), kind, mixture.n_features, compiler)
        return row | c_speed(Path(folder), kind, mixture, X, compiler)


def main() -> None:
    """Print one table per model."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", help="model files")
    parser.add_argument("--task", default="cartpole")
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--json", type=Path, help="keep the rows in this file; rows found there are not measured again")
    options = parser.parse_args()
    single_threaded()
    results = Results(options.json)
    console.print(machine())
    for model in options.models:
        policy = {"model": model, "task": options.task}
        act = results.measure(decided_by_python, **policy)["act"]
        rows = [
            results.measure(decided_by_c, **policy, style=style, precision=precision, compiler=options.compiler)
            for style in ("tables", "ifs")
            for precision in TYPES
        ]
        show(
            f"{model}: {load(model)!r}; Mixture.act takes {1e9 * act:.0f} ns",
            ["style", "precision", "bytes", "Cortex-M4", "linked", "ns", "ticks", "act / C", "differences"],
            [
                (
                    *(row.get(name, "-") for name in ("style", "precision", "bytes", "arm", "linked")),
                    *(1e9 * row["c"], row["ticks"], act / row["c"], row["differences"]),
                )
                for row in rows
            ],
        )


if __name__ == "__main__":
    main()
