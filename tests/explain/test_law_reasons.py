"""The reasons for numbers: they add up to what the model answers, to the bit."""

import numpy as np
import pytest

from moet import Mixture, RegressionMixture, RegressionTree, Tree
from moet.errors import InputError, ModelError
from moet.explain import why_law
from tests.export.test_laws import MODELS, rows

STUMP = RegressionTree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.0], [1.0], [-1.0]])
LAW = RegressionTree.leaf([0.25], slope=[[2.0, -1.0]])
SMALL = RegressionMixture([[0, 0], [1, 0]], [0, -1], [STUMP, LAW], ["torque"], [-2], [2], ["angle", "speed"])


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_laws_add_up_to_the_answer(model):
    for x in rows(model, 200):
        reasons = why_law(model, x)
        assert reasons.expert == model.expert([x])[0]
        clipped = [law.clipped for law in reasons.laws]
        assert np.array(clipped).tobytes() == model.act(x).tobytes()
        for law, low, high in zip(reasons.laws, model.low, model.high, strict=True):
            assert min(max(law.unclipped, low), high) == law.clipped


def test_the_whole_text():
    assert str(why_law(SMALL, [3.0, 1.0], units={"angle": "rad", "torque": "Nm"})).splitlines() == [
        "torque [Nm] = 2, answered by expert 1 alone",
        "",
        "gate: expert 1 beats expert 0 by 2",
        "               value  pulls for 1  ties at",
        "  angle [rad]      3           +3        1",
        "  speed            1            0        -",
        "  (constant)                   -1",
        "",
        "law of torque [Nm]:",
        "               value  slope   adds",
        "  (constant)                 +0.25",
        "  angle [rad]      3      2     +6",
        "  speed            1     -1     -1",
        "  sum: 5.25, clipped to 2",
    ]


def test_a_path_to_a_constant_is_told():
    reasons = why_law(SMALL, [0.75, 1.0])
    assert [(check.feature, check.passed, check.flips_at) for check in reasons.path] == [(0, False, 0.5)]
    assert (reasons.laws[0].terms, reasons.laws[0].clipped) == ((), -1.0)
    assert "path in expert 0:" in str(reasons)
    assert str(reasons).endswith("sum: -1")


def test_what_has_no_law_is_refused():
    with pytest.raises(ModelError, match="answers with labels"):
        why_law(Mixture([[0.0]], [0.0], [Tree.leaf([1.0])], ["a"]), [0.0])
    soft = RegressionMixture(SMALL.gate_weights, SMALL.gate_bias, SMALL.trees, ["u"], prediction="soft")
    with pytest.raises(InputError, match="no single law"):
        why_law(soft, [0.0, 0.0])
    with pytest.raises(InputError, match="finite"):
        why_law(SMALL, [np.nan, 0.0])


def test_the_question_about_labels_names_the_one_about_laws():
    from moet import RegressionMixture, RegressionTree
    from moet.explain import why

    push = RegressionMixture([[0.0]], [0.0], [RegressionTree.leaf([1.0])], ["force"])
    with pytest.raises(ModelError, match=r"explain\.why_law\(model, x\)"):
        why(push, [0.0])
