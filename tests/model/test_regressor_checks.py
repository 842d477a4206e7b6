"""scikit-learn's own tests of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from moet import MoETRegressor


@parametrize_with_checks(
    [MoETRegressor(), MoETRegressor(3, 0, prediction="soft"), MoETRegressor(1, None, leaf="constant")]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
