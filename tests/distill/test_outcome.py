import numpy as np
import pytest

from moet import Mixture, MoETClassifier, Tree
from moet.distill import distill, evaluate
from moet.explain import why
from moet.notebook import table, verdict_html
from moet.verify.result import Proved, Refuted, Unknown


@pytest.fixture(scope="module")
def run():
    from moet import teachers

    student = MoETClassifier(2, 0, prediction="hard", random_state=0)
    return distill(
        teachers.load("cartpole"), "cartpole", student, iterations=3, rollouts_per_iteration=3, selection_episodes=5
    )


def test_what_is_printed_fits_a_line(run):
    for shown in (run, run.policy, run.data, evaluate(run.policy, episodes=3), run.policy.mixture):
        assert len(repr(shown)) < 160
    assert "fidelity" in repr(run)


def test_the_history_is_a_table_and_a_picture(run):
    frame = run.frame()
    assert list(frame.index) == [0, 1, 2]
    assert frame["selected"].tolist().index(True) == run.selected
    assert frame["reward"].tolist() == [iteration.score.reward for iteration in run.history]
    reward, fidelity = run.plot().axes
    assert (reward.get_ylabel(), fidelity.get_ylabel()) == ("reward", "fidelity")
    assert all(float(tick).is_integer() for tick in fidelity.get_xticks())


def test_notebooks_show_the_rule_and_the_figures(run):
    html = run._repr_html_()
    assert "fidelity" in html
    assert "then right else left" in html
    assert "reward" in evaluate(run.policy, episodes=3)._repr_html_()
    assert "hard mixture" in run.policy.mixture._repr_html_()
    assert "<b>" not in table("<b>", {"<b>": "<b>"})


def test_verdicts_show_what_they_are():
    assert "Proved" in Proved()._repr_html_()
    proved = Proved(claim="x < 1 always\nmore", checked=True, caveats=("0 < y",), effort={"search_seconds": 0.5})
    html = proved._repr_html_()
    assert all(text in html for text in ("x &lt; 1 always", "checked", "0 &lt; y", "search seconds"))
    assert "more" not in html
    assert "too &lt; long" in verdict_html(Unknown(reason="too < long"))


def test_what_refutes_is_shown_by_its_names():
    rows = ({"city": "Bern", "income": 26857.10715}, {"city": "<Genf>", "income": 26857.10715})
    html = Refuted(rows=rows, answers=("yes", "no"), point=np.array([1.0, 26857.10715]))._repr_html_()
    assert all(text in html for text in (">city<", "Bern | &lt;Genf&gt;", ">26857.1<", "yes | no"))
    assert "0.25, 3" in Refuted(point=np.array([0.25, 3.0]), answers=("yes",))._repr_html_()


def test_reasons_are_shown_as_they_are_printed():
    model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["<up>", "down"])
    assert "&lt;up&gt;, answered by expert 0 alone" in why(model, [1, 1])._repr_html_()
