"""What ``moet verify --always`` prints."""

import json

import pytest
import typer

from moet import Mixture, Tree, save, verify
from moet.cli.always import answer_always
from moet.cli.output import Exit
from moet.errors import InputError

SURE = "theta>=0.15, theta_dot>=0.5"


@pytest.fixture
def model(tmp_path):
    """Answer "right" where theta + theta_dot > 0."""
    trees = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])]
    mixture = Mixture([[0.0, 0.0], [1.0, 1.0]], [0.0, 0.0], trees, ["left", "right"], ["theta", "theta_dot"])
    save(mixture, tmp_path / "m.moet.json")
    return tmp_path / "m.moet.json"


def ask(model, capsys, answers=("right",), where=SURE, certificate=None, timeout=60.0, as_json=False):
    with pytest.raises(typer.Exit) as end:
        answer_always(model, list(answers), where, certificate, timeout, cpu_limit=60.0, seed=0, as_json=as_json)
    return end.value.exit_code, capsys.readouterr().out


def test_proved_with_a_certificate(model, capsys, tmp_path):
    code, text = ask(model, capsys, certificate=tmp_path / "proof.cert")
    assert code == Exit.OK
    assert text.startswith(f"proved: the answer is always right where {SURE}")
    assert verify.check(tmp_path / "proof.cert", model)


def test_refuted_with_the_input(model, capsys):
    code, text = ask(model, capsys, where="theta>=0.15")
    assert code == Exit.NEGATIVE
    assert text.startswith("refuted: not always; the answer is left at\ntheta")
    code, text = ask(model, capsys, where="theta>=0.15", as_json=True)
    document = json.loads(text)
    assert (code, document["verdict"], document["answer"]) == (Exit.NEGATIVE, "refuted", "left")
    assert sum(document["point"].values()) <= 0


def test_unknown_without_time(model, capsys):
    code, text = ask(model, capsys, timeout=0.0)
    assert code == Exit.UNDECIDED
    assert text.startswith("unknown: the answer is always right")


def test_everything_is_always_some_class(model, capsys):
    assert ask(model, capsys, answers=["left", "right"], where=None)[0] == Exit.OK


def test_unknown_labels_are_errors(model):
    with pytest.raises(InputError, match="no class 'up'"):
        answer_always(model, ["up"], None, None, None, 60.0, 0, False)
