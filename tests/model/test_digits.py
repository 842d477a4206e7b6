"""Numbers that can be copied by hand."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet import Mixture, MoETClassifier, Tree, simplify
from moet.errors import InputError
from moet.explain import rules
from moet.model.digits import rounded, short_shares
from moet.model.short_gate import unshifted

from .strategies import hard_points, mixtures


def rows(n=3000, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def answers(X):
    return np.where(X[:, 0] > 0.3, np.where(X[:, 1] > -0.2, "a", "b"), np.where(X[:, 1] + 2 * X[:, 2] > 0, "c", "a"))


@pytest.fixture(scope="module", params=[(2, 0), (2, 2), (4, 2), (1, 3)], ids=str)
def learned(request):
    experts, depth = request.param
    X = rows()
    student = MoETClassifier(experts, depth, prediction="hard", random_state=0)
    if experts * 2**depth < 3:
        return student.fit(X, X[:, 1] + 2 * X[:, 2] > 0.13).mixture_
    return student.fit(X, answers(X)).mixture_


def python_of(text):
    """The printed rules as a Python function, by nothing but what a reader sees."""
    body = text.split("\n\n", 1)[1]
    leaf = re.compile(r"^(\s*)(\w+) \([<>]?\d\.\d\d\)$", re.M)
    body = leaf.sub(r"\1return '\2'", re.sub(r"\n {4,}(?=[+-] )", " ", body))
    lines, experts, gate = [], {}, "0"
    for block in body.split("\n\n"):
        if match := re.match(r"expert (\d+):\n", block):
            experts[match[1]] = block[match.end() :]
        elif match := re.match(r"if (.*) then (\w+) else (\w+)$", block):
            return f"def answer(x0, x1, x2):\n  return '{match[2]}' if {match[1]} else '{match[3]}'"
        elif match := re.match(r"gate: expert (\d) if (.*), else expert (\d)$", block.replace("\n  ", " ")):
            gate = f"{match[1]} if {match[2]} else {match[3]}"
        elif block.startswith("gate:"):
            scores = re.findall(r"score \d+ = (.*)", block)
            gate = f"max(range({len(scores)}), key=[{', '.join(scores)}].__getitem__)"
        else:
            experts["0"] = "\n".join("  " + line for line in block.splitlines())
    lines = ["def answer(x0, x1, x2):", f"  expert = {gate}"]
    for number, tree in experts.items():
        lines += [f"  if expert == {number}:", *("  " + line for line in tree.splitlines())]
    return "\n".join(lines)


def test_the_printed_rules_are_the_model_to_the_bit(learned):
    short = simplify(learned, rows(seed=1))
    scope = {}
    exec(python_of(rules(short)), scope)
    X = rows(100_000, seed=2)
    X[::3] = np.round(X[::3], 1)  # on thresholds and near ties, too
    copied = [scope["answer"](*x) for x in X.tolist()]
    assert copied == short.predict(X).astype(str).tolist()


def test_few_answers_change_and_digits_are_few(learned):
    X = rows(seed=1)
    short = simplify(learned, X, tolerance=0.01)
    assert np.mean(short.predict(X) != learned.predict(X)) <= 0.01
    numbers = [*short.gate_weights.ravel(), *short.gate_bias, *(t for tree in short.trees for t in tree.threshold)]
    assert all(value == float(f"{value:.4g}") for value in numbers)
    assert short.prediction == "hard"
    assert short.size.leaves <= learned.size.leaves
    assert simplify(short, X, tolerance=0.0).predict(X).tolist() == short.predict(X).tolist()


def test_no_tolerance_means_no_change(learned):
    X = rows(seed=1)
    assert simplify(learned, X, tolerance=0.0).predict(X).tolist() == learned.predict(X).tolist()


def test_small_whole_numbers_appear_where_they_can():
    gate = np.array([2.0, 7.0, 21.0, 25.0]) * 0.0317
    noise = np.random.default_rng(0).normal(1, 1e-4, 4)
    mixture = Mixture(
        [np.ones(4), 1 + gate * noise], [0.5, 0.5 + 0.0317], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], [0, 1]
    )
    short = simplify(mixture, rows(d=4))
    shown = np.abs(np.concatenate([short.gate_weights.ravel(), short.gate_bias]))
    assert (shown == np.rint(shown)).all()
    assert shown.max() <= 25


@pytest.mark.slow
@given(mixtures(), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_whatever_the_numbers_are_the_answers_stay_and_the_mode_too(mixture, seed):
    X = hard_points(mixture, seed)
    try:
        before = mixture.predict(X)
    except InputError:  # a gate that overflows
        return
    short = simplify(mixture, X, tolerance=0.0)
    assert short.prediction == mixture.prediction
    same = short.predict(X) == before
    # pruning may decide otherwise where logits are within rounding of one another, and nowhere else
    assert same.all() or (mixture.prune().predict(X) != before).any()


def test_a_soft_model_stays_soft_and_its_votes_are_shares():
    X = rows()
    soft = MoETClassifier(3, 2, random_state=0).fit(X, answers(X)).mixture_
    short = simplify(soft, rows(seed=1))
    assert short.prediction == "soft"
    assert np.mean(short.predict(X) != soft.predict(X)) < 0.01
    for tree in short.trees:
        np.testing.assert_allclose(tree.value.sum(axis=1), 1, atol=1e-12)
    assert "0.3333333" not in rules(short)


def test_shares_add_up_whatever_is_rounded():
    value = np.array([[1 / 3, 1 / 3, 1 / 3], [0.005, 0.005, 0.99], [1, 0, 0]])
    assert short_shares(value, 2).tolist() == [[0.34, 0.33, 0.33], [0.01, 0, 0.99], [1, 0, 0]]


def test_of_two_logits_one_is_a_sum_and_one_a_number():
    assert unshifted(np.array([[1.0, 1, 1], [3, 2, 4]])).tolist() == [[-2, 0, 0], [0, 1, 3]]
    assert unshifted(np.array([[1.0, 1, 1], [3, -2, -4]])).tolist() == [[0, 3, 5], [2, 0, 0]]


def test_digits_may_be_asked_for():
    mixture = Mixture([[0.0], [1 / 3]], [0.0, 20.04], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["a", "b"])
    assert rounded(mixture, 3).gate_weights[1, 0] == 0.333
    assert rounded(mixture, 17) == mixture
    for digits in (0, 18):
        with pytest.raises(InputError, match="from 1 to 17"):
            rounded(mixture, digits)


def test_what_simplify_refuses(learned):
    with pytest.raises(InputError, match="at least one row"):
        simplify(learned, np.empty((0, 3)))
    with pytest.raises(InputError, match="NaN"):
        simplify(learned, [[np.nan, 0, 0]])
    with pytest.raises(InputError, match="tolerance"):
        simplify(learned, rows(5), tolerance=1.0)


def test_features_that_never_move_do_no_harm(learned):
    X = np.zeros((50, 3))
    assert simplify(learned, X).predict(X).tolist() == learned.predict(X).tolist()
    assert replace(learned, prediction="soft").prune().prediction == "soft"


def test_show_says_what_decides_nothing_and_what_it_rounds():
    split = Tree([0, -1, -1], [1 / 3, 0, 0], [1, -1, -1], [2, -1, -1], [[0.7, 0.3], [0.9, 0.1], [0.6, 0.4]])
    text = rules(Mixture([[0.0]], [0.0], [split], ["no", "yes"]))
    assert "1 leaf of 2 decide nothing: prune() removes them" in text
    assert "numbers are shown with 4 digits" in text
    assert "numbers are shown" not in rules(Mixture([[0.0]], [0.0], [split], ["no", "yes"]), digits=3)
