"""What a mixture says about itself."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from moet import Mixture, Tree, save
from moet.errors import InputError, ModelError
from moet.explain import rules

CART_POLE = ["cp", "cv", "pa", "pv"]
PUBLISHED = [2.185, 7.225, 20.65, 25.34]


def leaves(*labels: int, n_classes: int = 2) -> list[Tree]:
    return [Tree.leaf(np.eye(n_classes)[label]) for label in labels]


def stump(threshold: float, feature: int = 0) -> Tree:
    return Tree(
        feature=[feature, -1, -1],
        threshold=[threshold, 0, 0],
        left=[1, -1, -1],
        right=[2, -1, -1],
        value=[[0.5, 0.5], [0.75, 0.25], [0.004, 0.996]],
    )


def published_policy(scale: float = 1.0, prediction: str = "hard") -> Mixture:
    weights = np.array([np.zeros(4), PUBLISHED]) * scale
    return Mixture(weights, [0, scale], leaves(0, 1), ["left", "right"], CART_POLE, prediction)


@pytest.mark.parametrize("scale", [1.0, 7.5])
def test_two_leaves_are_the_one_line_of_the_paper(scale):
    assert rules(published_policy(scale), digits=4).splitlines() == [
        "hard mixture of 2 experts: 2 leaves, 2 nodes, depth 0, 10 gate numbers",
        "",
        "if 2.185*cp + 7.225*cv + 20.65*pa + 25.34*pv > -1 then right else left",
    ]


def test_units_are_told_once():
    lines = rules(published_policy(), units={"cv": "m/s", "pa": "rad", "cp": ""}).splitlines()
    assert lines[1:3] == ["units: cv [m/s], pa [rad]", ""]
    assert lines[3].startswith("if 2.185*cp")
    with pytest.raises(InputError, match="no feature 'speed'; the features are cp, cv, pa, pv"):
        rules(published_policy(), units={"speed": "m/s"})


def test_a_tie_goes_to_the_first_expert():
    mixture = Mixture([[0.0], [2.0]], [1.0, 0.0], leaves(1, 0), ["a", "b"])
    assert rules(mixture).endswith("if 2*x0 > 1 then a else b")
    assert mixture.predict([[0.5]]).tolist() == ["b"]
    assert mixture.predict([[0.5001]]).tolist() == ["a"]


@pytest.mark.parametrize("weights", [[-2.0, -1.0, 3.0], [-2.0, 1.0, 0.0]])
def test_mostly_negative_weights_are_turned_round(weights):
    mixture = Mixture([[0.0] * 3, weights], [0, 1.0], leaves(0, 1), ["a", "b"])
    condition, answers = rules(mixture).splitlines()[-1].removeprefix("if ").split(" then ")
    assert " >= 1" in condition
    assert condition.startswith("2*x0")
    for x in [*np.random.default_rng(0).normal(size=(20, 3)), [0.5, 0.0, 0.0]]:  # the last is a tie
        holds = eval(condition, {f"x{k}": value for k, value in enumerate(x)})
        assert answers.split(" else ")[not holds] == mixture.act(x)
    with_trees = Mixture([[0.0] * 3, weights], [0, 1.0], [stump(1), stump(2)], ["a", "b"])
    assert f"gate: expert 0 if {condition}, else expert 1" in rules(with_trees)


def test_a_gate_that_ignores_the_state_always_chooses_the_same_expert():
    for bias, winner in [([0.0, 0.0], "a"), ([0.0, 1.0], "b"), ([1.0, 0.0], "a")]:
        assert rules(Mixture(np.ones((2, 3)), bias, leaves(0, 1), ["a", "b"])).endswith(f"\nalways {winner}")
    assert rules(Mixture([[0.0], [1.0]], [0, 0], leaves(1, 1), ["a", "b"])).endswith("\nalways b")
    constant = Mixture(np.ones((2, 1)), [0.0, 1.0], [stump(1), stump(2)], ["a", "b"])
    assert "gate: always expert 1" in rules(constant)


def test_a_negligible_bias_does_not_become_the_unit():
    text = rules(Mixture([[0, 0], [3.0, -2.0]], [0, 1e-12], leaves(0, 1), ["a", "b"]))
    assert text.endswith("if 3*x0 - 2*x1 > -1e-12 then b else a")


def test_two_hard_trees():
    mixture = Mixture([[0.0, 0.0], [1.0, -2.0]], [0, 0], [stump(0.5), stump(-1.25, 1)], ["no", "yes"], ["age", "bmi"])
    assert rules(mixture).splitlines() == [
        "hard mixture of 2 experts: 4 leaves, 6 nodes, depth 1, 6 gate numbers",
        "",
        "gate: expert 1 if 1*age - 2*bmi > 0, else expert 0",
        "",
        "expert 0:",
        "  if age <= 0.5:",
        "    no (0.75)",
        "  else:",
        "    yes (>0.99)",
        "",
        "expert 1:",
        "  if bmi <= -1.25:",
        "    no (0.75)",
        "  else:",
        "    yes (>0.99)",
    ]


def test_more_experts_have_scores():
    mixture = Mixture([[0, 0], [1.5, 0], [-1, 0.25]], [0, -2, 0.5], [stump(k) for k in range(3)], [0, 1])
    assert rules(mixture).splitlines()[2:6] == [
        "gate: the expert with the largest score answers, the first of them if tied",
        "  score 0 = 0",
        "  score 1 = -2 + 1.5*x0",
        "  score 2 = 0.5 - 1*x0 + 0.25*x1",
    ]


def test_soft_votes_show_every_probability():
    text = rules(Mixture([[0.0], [2.0]], [0, 1], [stump(3), stump(4)], ["no", "yes"], prediction="soft"))
    assert text.startswith("soft mixture of 2 experts")
    assert "weighted by softmax(scores)" in text
    assert "score 1 = 1 + 2*x0" in text
    assert "no 0.75, yes 0.25" in text
    assert "yes 0.996, no 0.004" in text


def test_one_expert_is_a_decision_tree_without_a_gate():
    iris = load_iris(as_frame=True)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(iris.data, iris.target_names[iris.target])
    text = rules(Mixture.from_sklearn(tree), digits=4)
    assert text.startswith("decision tree: 3 leaves, 5 nodes, depth 2\n\nif petal ")
    assert "gate" not in text
    assert "setosa (1.00)" in text


def test_nothing_that_is_not_zero_is_shown_as_zero():
    weights = np.array([[0.0] * 5, [1e-300, -1e-9, 0.0, 123456.7, 1e30]])
    text = rules(Mixture(weights, [0, 0], [stump(5e-324), stump(1)], ["a", "b"]), digits=4)
    assert "1e-300*x0 - 1e-09*x1 + 123457*x3 + 1e+30*x4 > 0" in text
    assert "x0 <= 4.941e-324" in text


def test_thresholds_that_differ_look_different():
    text = rules(Mixture(np.eye(2), [0, 0], [stump(1013.251), stump(1013.252)], ["a", "b"]))
    assert "x0 <= 1013.251:" in text
    assert "x0 <= 1013.252:" in text


def test_seventeen_digits_are_exact():
    mixture = Mixture(np.eye(2), [0, 0], [stump(0.1), stump(1 / 3)], ["a", "b"])
    shown = {float(t) for t in re.findall(r"<= (\S+):", rules(mixture, digits=17))}
    assert shown == {0.1, 1 / 3}


def test_text_of_a_stranger_cannot_steer_the_terminal():
    mixture = Mixture(np.ones((1, 1)), [0], [stump(1)], ["\x1b[2J", "b"], ["a\nb"])
    text = rules(mixture)
    assert r"'\x1b[2J' (0.75)" in text
    assert r"if 'a\nb' <= 1:" in text


def test_long_gates_are_wrapped():
    names = [f"feature_{k}" for k in range(50)]
    text = rules(Mixture(np.random.default_rng(0).normal(size=(3, 50)), np.zeros(3), [stump(1)] * 3, [0, 1], names))
    assert max(map(len, text.splitlines())) <= 100
    assert all(name in text for name in names)


def test_a_tree_may_be_deeper_than_python_recurses():
    depth = 3000
    inner = np.arange(depth)
    chain = Tree(
        feature=np.concatenate([np.zeros(depth, int), np.full(depth + 1, -1)]),
        threshold=np.concatenate([-inner, np.zeros(depth + 1)]),
        left=np.concatenate([inner[1:], [2 * depth], np.full(depth + 1, -1)]),
        right=np.concatenate([depth + inner, np.full(depth + 1, -1)]),
        value=np.full((2 * depth + 1, 1), 1.0),
    )
    assert rules(Mixture(np.ones((1, 1)), [0], [chain], ["a"])).count("else:") == depth


def test_whatever_holds_a_mixture_is_accepted(tmp_path):
    mixture = published_policy()
    save(mixture, tmp_path / "m.moet.json")

    class Fitted:
        mixture_ = mixture

    assert rules(tmp_path / "m.moet.json") == rules(Fitted()) == rules(mixture)
    with pytest.raises(ModelError, match="int"):
        rules(3)
