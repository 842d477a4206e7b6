import numpy as np
import pytest
from verify_horizon import upright_policy

from moet import Mixture, Tree
from moet.errors import InputError
from moet.verify import Proved, Refuted, Unknown, check, safe, systems
from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.sets import bounded
from moet.verify.loops.sets.bounded import REFINEMENTS, safe_for_steps
from moet.verify.loops.sets.post import leaves_of
from moet.verify.loops.sets.propagate import Block, proven_ranges
from moet.verify.loops.sets.refinement import refine
from moet.verify.loops.sets.template import slices
from moet.verify.loops.simulation import simulate

from .loops import balancer, follow, heater, leaky_tank, tank, thermostat, valve


@pytest.mark.parametrize(("mixture", "system"), [(valve(), tank()), (heater(), thermostat())])
@pytest.mark.parametrize("steps", [0, 1, 7, 40])
def test_proofs_hold_for_simulated_runs_and_are_checked(
    monkeypatch: pytest.MonkeyPatch, mixture: Mixture, system: systems.System, steps: int
) -> None:
    fine = tuple(setting for setting in REFINEMENTS if not setting.settles)  # the others are content with wider sets
    monkeypatch.setattr("moet.verify.loops.sets.bounded.REFINEMENTS", fine)
    verdict = safe_for_steps(mixture, system, steps, Deadline(None))
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, mixture, system)
    if steps == 0:
        return
    states = follow(mixture, system, steps).reshape(-1, system.n_states)
    for k, (low, high) in enumerate(proven_ranges(verdict.certificate, system).values()):
        assert low <= states[:, k].min()
        assert states[:, k].max() <= high
        # not much larger than what is seen: the disturbance is worst in theory only
        assert high - low < 3 * (states[:, k].max() - states[:, k].min()) + 0.1


def test_cartpole_for_some_steps() -> None:
    mixture, system = balancer(), systems.cartpole(angle="0.1")
    verdict = safe_for_steps(mixture, system, 20, Deadline(None))
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, mixture, system)
    low, high = proven_ranges(verdict.certificate, system)["angle"]
    assert -0.1 <= low < high <= 0.1


def test_the_pendulum_is_kept_upright() -> None:
    # the box of the cosine must grow without those of sine and speed
    mixture, system = upright_policy(), systems.pendulum()
    verdict = safe_for_steps(mixture, system, 30, Deadline(None))
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, mixture, system)
    assert max(map(abs, proven_ranges(verdict.certificate, system)["sin_angle"])) <= 0.11


@pytest.mark.parametrize(
    ("mixture", "system", "steps"),
    [
        (valve(opened_below=False), tank(), 200),
        (valve(), leaky_tank(), 100),
        (balancer(-1.0), systems.cartpole(), 50),
        (balancer(-1.0), systems.cartpole_linear(), 50),
    ],
)
def test_unsafe_loops_are_refuted_by_a_run(mixture: Mixture, system: systems.System, steps: int) -> None:
    verdict = safe_for_steps(mixture, system, steps, Deadline(None))
    assert isinstance(verdict, Refuted)
    assert verdict.trace is not None
    states, labels = verdict.trace.states, verdict.trace.actions
    assert len(states) == len(labels) + 1 <= steps + 1
    number = dict(zip(mixture.classes.tolist(), system.actions_of(mixture), strict=True))
    following = system.successor(states[:-1], np.array([number[label] for label in labels]))
    np.testing.assert_allclose(following, states[1:], atol=1e-9)
    excess = [[float(np.dot(np.array(h.coefficients, float), x)) - float(h.bound) for h in system.safe] for x in states]
    assert max(excess[-1]) > 0
    assert all(max(row) <= 1e-9 for row in excess[:-1])


def test_unsafe_first_states_are_refuted() -> None:
    verdict = safe_for_steps(valve(), tank(initial={"level": (0.4, 1.1)}), 10, Deadline(None))
    assert isinstance(verdict, Refuted)
    assert verdict.trace.states.tolist() == [[0.4]]


def test_no_time_is_no_proof() -> None:
    verdict = safe_for_steps(valve(), tank(), 10, Deadline(0))
    assert isinstance(verdict, Unknown)
    assert "time limit" in verdict.reason


def test_leaving_the_domain_is_no_proof_and_no_counterexample() -> None:
    narrow = tank(domain={"level": (0.95, 1.2)}, initial={"level": (0.96, 1.1)})
    verdict = safe_for_steps(valve(), narrow, 100, Deadline(30))
    assert isinstance(verdict, Unknown)


def test_models_and_systems_must_fit() -> None:
    with pytest.raises(InputError, match="features"):
        safe_for_steps(balancer(), tank(), 1, Deadline(None))


def test_leaves_go_from_left_to_right_and_merge_what_agrees() -> None:
    tree = Tree(
        feature=[0, 1, -1, -1, 1, -1, -1],
        threshold=[0.0, 1.0, 0, 0, 2.0, 0, 0],
        left=[1, 2, -1, -1, 5, -1, -1],
        right=[4, 3, -1, -1, 6, -1, -1],
        value=np.eye(2)[[0, 0, 1, 1, 0, 0, 1]],
    )
    mixture = Mixture(np.zeros((1, 2)), [0.0], [tree], classes=[0, 1])
    leaves = leaves_of(mixture, (0, 1))
    assert [(leaf.action, leaf.tests) for leaf in leaves] == [
        (1, ((0, 1, 0.0),)),
        (0, ((0, -1, -0.0), (1, 1, 2.0))),
        (1, ((0, -1, -0.0), (1, -1, -2.0))),
    ]


def test_the_slice_is_where_the_policy_changes_its_mind() -> None:
    mixture, system = balancer(), systems.cartpole()
    runs = simulate(mixture, system, 50)
    states = runs.states.reshape(-1, 4)
    direction, edges = slices(mixture, states, runs.actions.ravel(), 4)
    gain = mixture.gate_weights[1]
    assert abs(direction @ gain) == pytest.approx(np.linalg.norm(gain))
    assert abs(edges).min() < 1e-3
    assert len(edges) == 3


def test_a_block_may_have_more_steps_than_python_has_frames(monkeypatch):
    monkeypatch.setattr(bounded, "REFINEMENTS", [bounded.REFINEMENTS[0]._replace(n_steps=1500)])
    tree = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [0, 1], [1, 0]])
    model = Mixture([[0.0]], [0.0], [tree], classes=["left", "right"], feature_names=["x"])
    system = systems.AffineSystem(
        "settling",
        states=["x"],
        actions=["left", "right"],
        matrix=[["0.9"]],
        offsets=[[0], ["0.05"]],
        initial={"x": (0, 1)},
        safe=["-1 <= x <= 2"],
    )
    verdict = safe(model, system, 1500)
    assert isinstance(verdict, Proved)
    assert [block["steps"] for block in verdict.certificate.claim["blocks"]] == [1500]


def test_when_time_is_up_what_stopped_coarser_sets_is_told() -> None:
    deadline, tried = Deadline(), []

    def attempt(propagation: object, runs: object, setting: object, report: object) -> list[Block]:
        tried.append(setting)
        if len(tried) < 3:
            raise Stopped(f"set {len(tried)} outgrew its limit")
        deadline.cpu_limit = 0.0
        raise Stopped(deadline.reason)

    verdict = refine(valve(1.0), tank(), 30, 10, REFINEMENTS, attempt, deadline)
    assert len(tried) == 3
    assert verdict.reason.startswith("the limit of 0 s of CPU time was reached")
    assert verdict.reason.endswith("; with coarser sets: set 2 outgrew its limit")
