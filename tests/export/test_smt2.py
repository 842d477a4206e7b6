"""The SMT-LIB functions: z3 reads them and gives the model's answers, where nothing is rounded."""

from decimal import Decimal

import numpy as np
import pytest

from moet import Mixture, Tree, export
from moet.errors import ExportError
from moet.model.file import digest
from moet.verify.exact import ExactMixture, exactly
from tests.random_models import tying_mixture

from .samples import HOSTILE, as_soft, chain, inputs, published_policy


@pytest.fixture(autouse=True)
def z3():
    return pytest.importorskip("z3")


def number(value):
    """All digits of a float, which are not many for quarters."""
    size = f"{Decimal(abs(value)):f}"
    size = size if "." in size else f"{size}.0"
    return f"(- {size})" if value < 0 else size


def differences(z3, mixture, X, answers, function="answer"):
    """z3's verdict on: at one of these points, the function's value is not the given one."""
    other = [
        f"(not (= ({function} {' '.join(map(number, x))}) {number(int(answer))}))"
        for x, answer in zip(X.tolist(), answers, strict=True)
    ]
    solver = z3.Solver()
    solver.from_string(f"{export.smt2(mixture)}(assert (or {' '.join(other)}))")
    return solver.check()


def class_indices(mixture, X):
    return [mixture.classes.tolist().index(label) for label in mixture.predict_hard(X).tolist()]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "n_experts", "depth", "n"), [(5, 3, 2, 100_000), (1, 1, 6, 5_000), (7, 8, 3, 2_000)])
def test_zero_differences_where_float64_rounds_nothing(z3, seed, n_experts, depth, n):
    """Gates and inputs of quarters have exact logits, ties included."""
    mixture = tying_mixture(seed, n_experts, depth)
    X = np.random.default_rng(0).integers(-12, 13, size=(n, mixture.n_features)) / 4
    answers = class_indices(mixture, X)
    assert differences(z3, mixture, X, answers) == z3.unsat
    if n < 10_000:
        assert differences(z3, mixture, X, mixture.expert(X), "expert") == z3.unsat
        answers[-1] = (answers[-1] + 1) % len(mixture.classes)
        assert differences(z3, mixture, X, answers) == z3.sat


def test_thresholds_boundaries_and_extremes_in_exact_arithmetic(z3):
    mixture = tying_mixture(8, 8, 3)
    X = inputs(mixture, 600)
    exact = ExactMixture(mixture)
    assert differences(z3, mixture, X, [exact.answer(exactly(x)) for x in X]) == z3.unsat


def test_the_text_can_be_asked_questions(z3):
    question = "(declare-const t Real)(assert (= (answer 0.0 0.0 t 0.0) 1.0))(assert (< t (- 0.05)))"
    solver = z3.Solver()
    solver.from_string(export.smt2(published_policy()) + question)
    assert solver.check() == z3.unsat  # right wins from -1/20.65 on


def test_it_names_its_model_inputs_and_answers():
    text = export.smt2(published_policy())
    lines = text.splitlines()
    assert lines[0].startswith("; hard mixture of 2 experts")
    assert lines[1] == f"; model {digest(published_policy())}"
    assert {"; x2: pole_angle", "; answer 1.0: right", "(set-logic QF_LRA)"} <= set(lines)
    assert lines[-1].startswith("(define-fun answer ((x0 Real) (x1 Real) (x2 Real) (x3 Real)) Real (ite ")


def test_hostile_names_deep_trees_and_soft_models(z3):
    mixture = tying_mixture(4, 3, 3, len(HOSTILE), len(HOSTILE))
    hostile = Mixture(mixture.gate_weights, mixture.gate_bias, mixture.trees, HOSTILE, HOSTILE)
    X = np.zeros((1, len(HOSTILE)))
    assert differences(z3, hostile, X, class_indices(hostile, X)) == z3.unsat
    X = np.arange(-1.0, 2003.0, 50.0)[:, None]
    assert differences(z3, chain(1_000), X, class_indices(chain(1_000), X)) == z3.unsat
    with pytest.raises(ExportError, match="soft mixture cannot be exported to SMT-LIB"):
        export.smt2(as_soft(mixture))
    assert "answer" in export.smt2(Mixture([[1.0]], [0], [Tree.leaf([1, 0])], [0, 1], prediction="soft"))
