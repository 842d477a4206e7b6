import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from moet import Mixture, RegressionMixture, RegressionTree, Tree
from moet.distill import Policy, evaluate, tune
from moet.distill.numbers import Numbers
from moet.envs import resolve
from moet.envs.rollout import play
from moet.envs.seeds import Purpose
from moet.errors import CheckpointError, InputError, TaskError

CAR = "MountainCarContinuous-v0"
QUICK = {"episodes": 1_000, "selection_episodes": 20}


def weak_car() -> RegressionMixture:
    """Pushes with the motion, but not enough to get up the hill."""
    law = RegressionTree.leaf([0.0], slope=[[0.0, 3.0]])
    features = ["position", "velocity"]
    return RegressionMixture([[0.0, 0.0]], [0.0], [law], ["force"], [-1], [1], features, provenance={"made_by": "hand"})


def two_laws() -> RegressionMixture:
    split = RegressionTree(
        [0, -1, -1], [0.25, 0, 0], [1, -1, -1], [2, -1, -1], [[0], [0.1], [0.2]], np.arange(9.0).reshape(3, 1, 3)
    )
    law = RegressionTree.leaf([0.5], slope=[[1.0, -2.0, 0.5]])
    return RegressionMixture([[0, 0.5, 0.1], [1, 2, 3]], [0.5, -0.5], [split, law], ["torque"], [-2], [2])


def tilted() -> Mixture:
    """Balances the pole for a while."""
    tree = Tree([2, -1, -1], [0.02, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    return Mixture([[0, 0, 0, 0], [0, 0, 1, 0]], [0.0, -0.1], [tree, Tree.leaf([0.1, 0.9])], ["left", "right"])


@pytest.mark.parametrize("name", ["hard", "soft"])
def test_numbers_of_laws_there_and_back(name):
    model = two_laws()
    model = RegressionMixture(model.gate_weights, model.gate_bias, model.trees, ["torque"], [-2], [2], prediction=name)
    states = np.random.default_rng(0).normal([1, 0, 3], [1, 2, 0.1], (500, 3))
    numbers = Numbers(model, states, resolve("Pendulum-v1").box)
    # the gate relative to expert 0, one threshold, three laws of four numbers
    assert len(numbers.start) == 4 + 1 + 12 == model.n_numbers - 1  # the feature of the test stays
    again = numbers.model(numbers.start)
    np.testing.assert_allclose(again.predict(states), model.predict(states), atol=1e-12)
    assert np.array_equal(again.expert(states), model.expert(states))


def test_numbers_of_labels_there_and_back():
    states = np.random.default_rng(0).normal(0, 0.1, (500, 4))
    numbers = Numbers(tilted(), states, None)
    again = numbers.model(numbers.start)
    assert np.array_equal(again.predict(states), tilted().predict(states))
    moved = numbers.model(numbers.start + 1.0)  # probabilities whatever the numbers are
    assert all(np.allclose(tree.value.sum(axis=1), 1) for tree in moved.trees)
    assert all(np.all(tree.value >= 0) for tree in numbers.model(numbers.start - 5.0).trees)


def test_a_law_learns_to_climb_the_hill_and_keeps_its_provenance():
    better = tune(weak_car(), CAR, **QUICK)
    record = better.provenance["tuned"]
    assert better.provenance["made_by"] == "hand"
    assert record["start"]["reward"] < 10 < 80 < record["kept"]["reward"]
    assert evaluate(better, episodes=50).reward > 80


def test_labels_gate_and_thresholds_are_tuned_too():
    start = Policy.of(tilted(), resolve("cartpole"))
    better = tune(start, episodes=6_000, selection_episodes=20)
    record = better.provenance["tuned"]
    assert record["kept"]["reward"] > record["start"]["reward"] + 20
    assert record["step"] == 0.3  # small ones change nothing that matters there
    assert better.mixture.classes.tolist() == ["left", "right"]
    before, after = (evaluate(policy, episodes=50).reward for policy in (start, better))
    assert after > before + 20


def test_the_result_is_never_worse_than_the_start_on_the_episodes_for_selection():
    """Also if the search goes astray: a policy that cannot be better comes back as it was, to the bit."""
    law = RegressionTree.leaf([0.0], slope=[[0.0, 30.0]])
    start = Policy.of(RegressionMixture([[0, 0]], [0], [law], ["force"], [-1], [1]), resolve(CAR))
    for seed in range(3):
        better = tune(start, episodes=120, selection_episodes=10, seed=seed)
        record = better.provenance["tuned"]
        assert record["kept"]["reward"] >= record["start"]["reward"]
        assert record["kept"]["careful"] >= record["start"]["careful"]
        if record["kept"] == record["start"]:
            assert better.model == start.model


@pytest.mark.parametrize("at", [90, 150], ids=["first half", "second half"])
def test_a_tuning_that_is_stopped_ends_like_one_that_was_not(at, tmp_path, monkeypatch):
    whole = tune(weak_car(), CAR, **QUICK)

    class Stop(BaseException):
        pass

    from moet.distill import tuning

    played = []

    def stopping(act, task, seeds, workers=1):
        played.append(len(seeds))
        if len(played) == at:
            raise Stop
        return play(act, task, seeds, workers)

    with monkeypatch.context() as patch:
        patch.setattr(tuning, "play", stopping)
        with pytest.raises(Stop):
            tune(weak_car(), CAR, **QUICK, checkpoint=tmp_path)
    told = json.loads((tmp_path / "tuning.json").read_text())["told"]
    generations = whole.provenance["tuned"]["generations"]
    assert 0 < len(told) < generations
    assert (len(told) > generations / 2) == (at == 150)
    resumed = tune(weak_car(), CAR, **QUICK, checkpoint=tmp_path)
    assert resumed.mixture == whole.mixture
    assert resumed.provenance == whole.provenance
    finished = tune(weak_car(), CAR, **QUICK, checkpoint=tmp_path)
    assert finished.mixture == whole.mixture
    with pytest.raises(CheckpointError, match="belongs to another run: its seed"):
        tune(weak_car(), CAR, **QUICK, seed=1, checkpoint=tmp_path)
    saved = json.loads((tmp_path / "tuning.json").read_text())
    for damaged in (
        saved | {"told": []},
        saved | {"told": saved["told"][:-1]},
        saved | {"told": [[float("nan")] * len(row) for row in saved["told"]]},
        saved | {"told": [row[1:] for row in saved["told"]]},
        saved | {"checks": saved["checks"] * 2},
        saved | {"checks": [[1.0]]},
        saved | {"hard": []},
        saved | {"hard": [["a seed"]]},
        [],
        "{",
    ):
        (tmp_path / "tuning.json").write_text(damaged if isinstance(damaged, str) else json.dumps(damaged))
        with pytest.raises(CheckpointError, match="damaged"):
            tune(weak_car(), CAR, **QUICK, checkpoint=tmp_path)


def test_no_episode_to_select_by_is_one_to_report_or_to_learn_from(monkeypatch):
    from moet.distill import tuning

    purposes = {}

    def recording(act, task, seeds, workers=1):
        for seed in seeds:
            purposes.setdefault(seed >> 28, set()).add(seed)
        return play(act, task, seeds, workers)

    monkeypatch.setattr(tuning, "play", recording)
    tune(weak_car(), CAR, episodes=200, selection_episodes=10)
    assert set(purposes) == {Purpose.TRAINING, Purpose.SELECTION, Purpose.FINAL_SELECTION}


def test_episodes_in_which_the_middle_did_worst_are_played_by_the_generations_that_follow(monkeypatch):
    from moet.distill import tuning

    played = []

    def recording(act, task, seeds, workers=1):
        episodes = play(act, task, seeds, workers)
        if all(seed >> 28 == Purpose.TRAINING for seed in seeds):
            played.append((list(seeds), episodes.returns))
        return episodes

    monkeypatch.setattr(tuning, "play", recording)
    tune(weak_car(), CAR, episodes=1_200, selection_episodes=30)
    (look,) = [k for k, (seeds, _) in enumerate(played) if len(seeds) == 30]
    seeds, returns = played[look]
    worst = [seeds[k] for k in np.argsort(returns, kind="stable")[:8]]
    assert all(len(new) <= 16 and not set(new) & set(seeds) for new, _ in played[:look])
    assert {seed for met, _ in played[look + 1 :] for seed in met[4:]} == set(worst)
    assert not {seed for met, _ in played[look + 1 :] for seed in met[:4]} & set(seeds)


@pytest.mark.parametrize(
    "wrong", [{"episodes": 0}, {"rollouts": 0}, {"tail": 0.0}, {"tail": 1.5}, {"seed": -1}, {"digits": 0}]
)
def test_settings_that_make_no_sense_are_told(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        tune(weak_car(), CAR, **wrong)


def test_a_policy_without_a_task_and_one_of_another_kind_are_told():
    with pytest.raises(InputError, match=r"does not say which task .* env=NAME"):
        tune(weak_car())
    with pytest.raises(TaskError, match=r"take a moet\.MoETClassifier"):
        tune(weak_car(), "mountaincar")


def test_a_tree_of_scikit_learn_is_tuned_as_well():
    rows = np.random.default_rng(0).normal(0, 0.1, (300, 4))
    tree = DecisionTreeClassifier(max_depth=2).fit(rows, rows[:, 2] > 0.05)
    better = tune(Policy.of(tree, resolve("cartpole")), episodes=300, selection_episodes=10)
    assert isinstance(better.model, Mixture)
