"""The first hour with an agent: from its file to a policy that is read, proved and exported, nothing chosen by hand.

python examples/first_hour.py CartPole-v1 agent.zip [FOLDER]

What the files say is all there is to say: the size of the policy, its digits and what is asked about it follow from
them. Statistics of a VecNormalize are taken if they stand beside the zip (agent.vecnormalize.pkl, vecnormalize.pkl).
Without a file the agent that is bundled for the environment is taken. Every step tells how long it took; compiled
code is cached, so a second run is faster by a minute.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from moet import export, save, teachers, verify
from moet.distill import Policy, Teacher, distill, evaluate
from moet.explain import rules, why, why_law
from moet.verify import systems

SECONDS = 60.0
"""Most CPU time that a question may take."""

SYSTEMS = {"CartPole-v1": systems.cartpole, "MountainCar-v0": systems.mountaincar, "Pendulum-v1": systems.pendulum}


@contextmanager
def timed(step: str) -> Iterator[None]:
    """Say what is done and, at the end, how long it took."""
    begin = time.perf_counter()
    print(f"\n== {step}", flush=True)
    yield
    print(f"   ({time.perf_counter() - begin:.1f} s)", flush=True)


def proved(policy: Policy, env_id: str) -> None:
    """Ask whether the policy reaches the goal of the environment if there is one, else whether it stays safe."""
    if policy.task.continuous:
        print(f"   outputs: {verify.range(policy, cpu_limit=SECONDS).claim}")
        return
    if env_id not in SYSTEMS:
        print(f"   no equations are known for {env_id}; docs/verification.md says how to write some")
        return
    system = SYSTEMS[env_id]()
    if env_id == "MountainCar-v0":
        tell("reaches the flag within 200 steps", verify.reaches(policy, system, within=200, cpu_limit=SECONDS))
        return
    for name, steps in {"safe for ever": None, "safe for 200 steps": 200}.items():
        verdict = verify.safe(policy, system, steps, cpu_limit=SECONDS)
        tell(name, verdict)
        if verdict:
            return


def statistics(agent: Path) -> Path | None:
    """What the agent's observations were normalised with, if that stands beside it."""
    beside = (agent.with_suffix(".vecnormalize.pkl"), agent.with_name("vecnormalize.pkl"))
    return next((path for path in beside if path.exists()), None)


def tell(question: str, verdict: verify.Verdict) -> None:
    """Print a verdict, and why there is none."""
    print(f"   {question}: {type(verdict).__name__} {getattr(verdict, 'reason', '')}")


def main(env_id: str, agent: Path | None, folder: Path) -> None:
    """Go from the agent to the files of a policy."""
    folder.mkdir(parents=True, exist_ok=True)
    with timed("reading the agent"):
        teacher = teachers.load(env_id) if agent is None else Teacher.from_sb3(agent, normalize=statistics(agent))
        print(f"   {teacher}")
    with timed("distilling it, in the smallest size that earns as much"):
        run = distill(teacher, env_id)
        for tried in run.front:
            print(f"   {tried.name}: {tried.leaves} leaves, reward {tried.score:.1f}, fidelity {tried.fidelity:.3f}")
        save(run.policy, folder / "policy.moet.json")
    with timed("measuring it on fresh episodes"):
        print(f"   {evaluate(run.policy, teacher=teacher)}")
    with timed("reading it"):
        print(rules(run.policy))
    policy = Policy.load(folder / "policy.moet.json")
    with timed("asking why it does what it does in the first state"):
        first, _ = policy.task.make().reset(seed=0)
        reasons = why_law if policy.task.continuous else why
        print(reasons(policy, policy.task.view(first[None])[0]))
        print(f"   env.step takes {policy.env_action(first)!r}")
    with timed("proving it"):
        proved(policy, env_id)
    with timed("exporting it"):
        (folder / "policy.h").write_text(export.c(policy))
        print(f"   {folder / 'policy.h'}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    begin = time.perf_counter()
    main(
        sys.argv[1],
        Path(sys.argv[2]) if len(sys.argv) > 2 else None,
        Path(sys.argv[3] if len(sys.argv) > 3 else "first_hour"),
    )
    print(f"\nall of it: {time.perf_counter() - begin:.0f} s")
