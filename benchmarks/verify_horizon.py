"""How far ahead, on which cart-pole, and for which policies safety is proved; every proof is checked exactly.

The published policy is read from ``paper_cartpole_e2_d0.json`` in the folder that MOET_DATA names. Run it with
``python benchmarks/verify_horizon.py``; ``--quick`` leaves out what takes minutes.
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import cpu_seconds, machine, show, single_threaded
from policies import published_policy

from moet import Mixture, MoETClassifier, Tree
from moet.verify import Proved, Refuted, check, safe, systems
from moet.verify.limits import Deadline
from moet.verify.loops import blocks
from moet.verify.loops.chain import proven_ranges

GAIN = np.array([5.778, 11.041, 96.362, 25.0])
"""A well-damped linear policy: push right iff GAIN·x > 0."""


def damped_policy() -> Mixture:
    """Two experts and a linear gate."""
    return Mixture([GAIN * 0, GAIN], [0.0, 0.0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], classes=[0, 1])


def distilled_policy(n_experts: int = 4, max_depth: int = 1) -> Mixture:
    """A mixture fitted to a teacher like LQR but stiffer far from the centre, which takes four experts."""

    def teacher(states: np.ndarray) -> np.ndarray:
        far = states[:, 0] - np.clip(states[:, 0], -0.25, 0.25)
        return (states @ GAIN + 8 * far > 0).astype(int)

    random = np.random.default_rng(0)
    system = systems.cartpole()
    wide = np.array([0.6, 0.5, 0.08, 0.5])
    states = random.uniform(-0.05, 0.05, (400, 4))
    seen = []
    for _ in range(60):
        seen.append(states)
        actions = np.where(random.random(400) < 0.2, 1 - teacher(states), teacher(states))
        states = system.successor(states, actions)
        lost = (np.abs(states[:, 2]) > 0.2) | (np.abs(states[:, 0]) > 1) | (random.random(400) < 0.02)
        states = np.where(lost[:, None], random.uniform(-wide, wide, (400, 4)), states)
    X = np.concatenate(seen)
    return MoETClassifier(n_experts=n_experts, max_depth=max_depth, random_state=0).fit(X, teacher(X)).mixture_


def slack(mixture: Mixture, system: systems.System) -> float:
    """Smallest slack of a gate comparison that the observation error gives rise to."""
    error = np.array([float(e) for e in system.observation_error])
    weights = mixture.gate_weights
    return min(np.abs(weights[i] - weights[j]) @ error for i in range(len(weights)) for j in range(i))


def row(policy: str, mixture: Mixture, system: systems.System, steps: int | None, in_blocks: bool) -> list[object]:
    """One question, decided and checked."""

    def decide() -> object:
        if in_blocks:
            return blocks.safe_in_blocks(mixture, system, steps, Deadline(1000))
        return safe(mixture, system, steps, timeout=1000)

    verdict, seconds = cpu_seconds(decide)
    checked: object = "-"
    angle = position = "-"
    if isinstance(verdict, Proved):
        _, checked = cpu_seconds(lambda: check(verdict.certificate, mixture, system))
        if verdict.certificate.kind in ("blocks", "invariant"):
            ranges = proven_ranges(verdict.certificate, system)
            angle, position = (f"{max(map(abs, ranges[name])):.4f}" for name in ("angle", "position"))
    elif not isinstance(verdict, Refuted):
        angle = verdict.reason
    nodes = int(verdict.effort.get("nodes", 0))
    horizon = "ever" if steps is None else steps
    return [policy, system.name, horizon, type(verdict).__name__, angle, position, nodes, seconds, checked]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out T = 200 and the distilled mixture")
    quick = parser.parse_args().quick
    single_threaded()
    published, damped = published_policy(), damped_policy()
    noisy = systems.cartpole(sensor_noise=1e-5)
    damped_name = f"two experts, slack {slack(damped, noisy):.0e}"
    safe(damped, systems.cartpole_published(), steps=2)  # compile
    blocks.safe_in_blocks(damped, systems.cartpole_linear(), 2, Deadline(None))
    questions = [("published", published, systems.cartpole_published(), steps, False) for steps in (10, 20, 50)]
    questions += [("published", published, systems.cartpole_linear(), steps, False) for steps in (10, 20, 50)]
    questions += [("published", published, systems.cartpole_linear(), 200, True)]
    questions += [("published", published, systems.cartpole(angle="0.1"), 50, True)]
    questions += [("published", published, systems.cartpole(), 100, True)]
    questions += [(damped_name, damped, noisy, None, False)]
    if not quick:
        distilled = distilled_policy()
        size = distilled.size
        name = f"E={size.experts} D={size.depth}, slack {slack(distilled, noisy):.0e}"
        questions += [(name, distilled, noisy, None, False)]
        questions += [("published", published, systems.cartpole(), 200, True)]
        questions += [("published", published, systems.cartpole_linear(), None, False)]
    columns = ["policy", "system", "T", "verdict", "|angle|", "|position|", "nodes", "decide s", "check s"]
    show(f"Safety of closed loops; {machine()}", columns, (row(*question) for question in questions))


if __name__ == "__main__":
    main()
