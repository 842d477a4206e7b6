from collections.abc import Callable

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.explain import explorer


def _random_tree(rng, depth: int, n_features: int, n_classes: int) -> Tree:
    """A tree in which each node above ``depth`` is split with a probability of 4/5."""
    feature, threshold, left, right, value = [], [], [], [], []
    queue = [(0, None, None)]
    while queue:
        level, parent, side = queue.pop(0)
        node = len(feature)
        if parent is not None:
            side[parent] = node
        feature.append(-1)
        threshold.append(0.0)
        left.append(-1)
        right.append(-1)
        value.append(rng.dirichlet(np.ones(n_classes)))
        if level < depth and rng.random() < 0.8:
            feature[node] = int(rng.integers(n_features))
            threshold[node] = float(rng.normal())
            queue += [(level + 1, node, left), (level + 1, node, right)]
    return Tree(feature, threshold, left, right, value)


@pytest.fixture
def random_mixture() -> Callable[..., Mixture]:
    """Build a mixture of random trees behind a random gate."""

    def build(seed=0, n_experts=3, depth=3, n_features=3, classes=("a", "b", "c"), prediction="hard") -> Mixture:
        rng = np.random.default_rng(seed)
        trees = [_random_tree(rng, depth, n_features, len(classes)) for _ in range(n_experts)]
        weights, bias = rng.normal(size=(n_experts, n_features)), rng.normal(size=n_experts)
        return Mixture(weights, bias, trees, list(classes), [f"f{k}" for k in range(n_features)], prediction)

    return build


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from tests.browser import started_browser  # skips where there is no driver for browsers

    with started_browser(tmp_path_factory.mktemp("profile"), 1500, 1200) as driver:
        yield driver


@pytest.fixture
def show(browser, tmp_path):
    """Open an explorer page; at the end nothing may have been complained about or fetched."""
    from tests.browser import settled

    def show(*arguments, **options):
        path = tmp_path / "page.html"
        path.write_text(explorer(*arguments, **options), encoding="utf-8")
        browser.get(path.as_uri())
        settled(browser)
        return browser

    browser.get_log("browser")
    yield show
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
