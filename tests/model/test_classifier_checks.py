"""scikit-learn's own tests of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from moet import MoETClassifier


@parametrize_with_checks(
    [
        MoETClassifier(),
        MoETClassifier(prediction="hard", max_depth=0),
        MoETClassifier(gate_solver="adam", init="random", n_init=1, tol=0, max_iter=5, hard_iter=0, gate_l2=0),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
