import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from moet.distill.distilled_classifier import DistilledClassifier
from moet.distill.table_sizes import choose_distilled
from moet.model.sizes import choose_size


def staircase(n):
    """A boundary of many steps, and labels of which a fifth is noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    truth = X[:, 1] > 0.5 + 0.3 * np.sin(12 * X[:, 0])
    return X, truth ^ (rng.random(n) < 0.2), truth


def test_a_teacher_is_worth_more_leaves_than_its_noisy_labels():
    X, y, truth = staircase(600)
    teacher = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X, y)
    found, plain = choose_distilled(X, y, teacher), choose_size(X, y)
    assert found.what == "fidelity"
    taken = found.front[found.taken]
    assert taken.leaves > plain.front[plain.taken].leaves
    assert np.mean(found.estimator.predict(X) == truth) > np.mean(plain.estimator.predict(X) == truth)


def test_what_comes_out_is_the_distilled_classifier_of_that_size():
    X, y, _ = staircase(300)
    teacher = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, y)
    found = choose_distilled(X, y, teacher, prediction="soft", seed=3)
    student = found.estimator.student.set_params(random_state=3)
    again = DistilledClassifier(student, FrozenEstimator(teacher), random_state=3).fit(X, y)
    assert student.prediction == "soft"
    assert np.array_equal(again.predict_proba(X), found.estimator.predict_proba(X))
