"""``moet plot``: every kind of picture, and everything that can be wrong with one."""

import json

import numpy as np
import pytest
from matplotlib.image import imread

from moet import Mixture, Schema, Tree, save, verify
from moet.cli.output import Exit
from moet.explain.style import note_above
from moet.model.schema import Column
from moet.verify import systems

STUMP = Tree([2, -1, -1], [0.0, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
NAMES = ["position", "velocity", "angle", "angular_velocity"]


def policy(prediction="hard", classes=("left", "right"), provenance=None, names=NAMES):
    trees = [Tree.leaf([1.0, 0.0]), STUMP]
    return Mixture([[0] * 4, [0, 0, 2, 1]], [0, 0], trees, list(classes), names, prediction, provenance)


@pytest.fixture
def files(tmp_path):
    """Model files: policies for CartPole, hard, soft, of one tree, numbered, and one that does not know its task."""
    task = {"task": "cartpole"}
    made = {
        "hard": policy(provenance=task),
        "soft": policy("soft", provenance=task),
        "tree": Mixture([[0] * 4], [0], [STUMP], ["left", "right"], NAMES, provenance=task),
        "numbered": policy(classes=(0, 1)),
        "stranger": policy(),
        "other": policy(names=["a", "b", "c", "d"]),
        "flat": Mixture([[0, 0], [1, 1]], [0, 0], [Tree.leaf([1, 0])] * 2, ["left", "right"], ["a", "b"]),
    }
    paths = {name: tmp_path / f"{name}.moet.json" for name in made}
    for name, mixture in made.items():
        save(mixture, paths[name])
    return paths


MAP = ["--features", "angle,angular_velocity", "--at", "0,0,0,0", "--where", "-1<=angle<=1,-2<=angular_velocity<=2"]


@pytest.mark.parametrize(
    ("models", "arguments"),
    [
        (["hard"], ["--kind", "regions", *MAP]),
        (["hard", "soft", "tree"], ["--kind", "regions", "--teacher", "--features", "angle,velocity"]),
        (["numbered"], ["--kind", "regions", "--teacher", "--env", "cartpole", *MAP]),
        (["stranger"], ["--kind", "experts", *MAP]),
        (["soft"], ["--kind", "experts", "--features", "angle,velocity", "--at", "position=0.5"]),
        (["flat"], ["--kind", "experts", "--where", "0<=a<=1,0<=b<=1"]),
        (["hard"], ["--kind", "trees", "--depth", 0, "--at", "0,0,1,0"]),
        (["tree"], ["--kind", "trees"]),
        (["hard"], ["--kind", "trees", "--expert", 1]),
        (["stranger"], ["--kind", "gate"]),
        (["hard"], ["--kind", "gate", "--env", "cartpole"]),
        (["hard"], ["--kind", "rollout", "--features", "angle", "--seed", 3]),
        (["stranger"], ["--kind", "rollout", "--env", "CartPole-v1"]),
    ],
)
def test_pictures(run, files, tmp_path, models, arguments):
    output = tmp_path / "figure.png"
    result = run("plot", *(files[name] for name in models), *arguments, "-o", output)
    assert (result.exit_code, result.stdout) == (Exit.OK, ""), result.stderr
    assert "wrote" in result.stderr
    assert np.ptp(imread(output)) > 0.5


def test_svg_and_a_table(run, files, tmp_path, write_csv):
    rows = np.random.default_rng(0).normal(size=(20, 4)).tolist()
    data, output = write_csv("data.csv", NAMES, rows), tmp_path / "figure.svg"
    for kind in (["gate"], ["regions", "--features", "angle,velocity"]):
        assert run("plot", files["stranger"], "--data", data, "--kind", *kind, "-o", output).exit_code == Exit.OK
        assert "<svg" in output.read_text()


def test_for_programs(run, files, tmp_path):
    result = run("plot", files["hard"], "--kind", "gate", "-o", tmp_path / "f.png", "--json")
    assert json.loads(result.stdout) == {
        "picture": str(tmp_path / "f.png"),
        "kind": "gate",
        "models": [str(files["hard"])],
    }


def test_regions_are_labelled_and_painted_as_the_models_answer(run, files, tmp_path, monkeypatch):
    drawn = {}

    def remember(figure, path):
        drawn["axes"] = figure.axes
        drawn["names"] = [text.get_text() for text in figure.legends[0].get_texts()]
        drawn["note"] = figure.get_suptitle()

    monkeypatch.setattr("moet.explain.style.save_figure", remember)
    run("plot", files["tree"], files["hard"], "--kind", "regions", "--teacher", *MAP, "-o", tmp_path / "f.png")
    teacher, tree, hard = drawn["axes"]
    assert [axis.get_title() for axis in drawn["axes"]] == ["teacher", "tree, 2 leaves", "MoËT_h, 2 experts, depth 1"]
    assert drawn["names"] == ["left", "right"]
    assert drawn["note"] == "position [m] = 0, velocity [m/s] = 0"
    assert (teacher.get_xlabel(), teacher.get_ylabel()) == ("angle [rad]", "angular_velocity [rad/s]")
    angle, speed = np.meshgrid(np.linspace(-1, 1, 400), np.linspace(-2, 2, 400))
    assert np.array_equal(tree.images[0].get_array(), angle > 0)
    assert np.array_equal(hard.images[0].get_array(), (2 * angle + speed > 0) & (angle > 0))
    assert 0.3 < np.mean(teacher.images[0].get_array()) < 0.7


@pytest.mark.parametrize(
    ("models", "arguments", "message"),
    [
        (
            ["hard"],
            ["--kind", "regions", "--features", "angel,velocity"],
            "no feature 'angel'; the features are position",
        ),
        (["hard"], ["--kind", "regions"], "name two features"),
        (["hard"], ["--kind", "experts", "--features", "angle"], "name two features"),
        (["hard"], ["--kind", "regions", "--features", "angle,angle"], "name two features"),
        (["hard"], ["--kind", "pie"], "pie"),
        (["hard"], ["--kind", "trees", "--features", "angle"], "--features does not go with --kind trees"),
        (["hard"], ["--kind", "gate", "--teacher"], "--teacher does not go with --kind gate"),
        (["hard"], ["--kind", "trees", "--at", "angle=1"], "is missing"),
        (["hard"], ["--kind", "trees", "--expert", 2], "no expert 2; they are 0 to 1"),
        (["hard", "soft"], ["--kind", "experts", *MAP], "draws one model"),
        (["hard"] * 4, ["--kind", "regions", *MAP], "up to three models"),
        (["hard", "other"], ["--kind", "regions", *MAP], "different features"),
        (["tree"], ["--kind", "gate"], "no gate"),
        (["stranger"], ["--kind", "rollout"], "name one with --env"),
        (["stranger"], ["--kind", "regions", "--features", "angle,velocity"], "--where"),
        (["stranger"], ["--kind", "regions", "--teacher", *MAP], "name one with --env"),
        (["hard"], ["--kind", "regions", *MAP[:2], "--where", "position>=0"], "use --at"),
        (["hard"], ["--kind", "regions", *MAP[:2], "--where", "angle>=1000"], "range of angle is empty"),
        (["hard"], ["--kind", "rollout", "--env", "mountaincar"], "4 features"),
        (["hard"], ["--kind", "rollout", "--features", "angel"], "no feature 'angel'"),
    ],
)
def test_wrong_usage_leaves_no_file(run, files, tmp_path, models, arguments, message):
    output = tmp_path / "figure.png"
    before = set(tmp_path.iterdir())
    result = run("plot", *(files[name] for name in models), *arguments, "-o", output)
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert message in result.stderr
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("output", "message"),
    [("figure.pdf", ".png or .svg"), ("nowhere/f.png", "no folder"), ("folder.png", "not a file")],
)
def test_places_that_cannot_be_written_to(run, files, tmp_path, output, message):
    (tmp_path / "folder.png").mkdir()
    result = run("plot", files["hard"], "--kind", "gate", "-o", tmp_path / output)
    assert result.exit_code == Exit.USAGE
    assert message in result.stderr


def test_what_is_no_model(run, tmp_path):
    (tmp_path / "m.json").write_text("{}")
    result = run("plot", tmp_path / "m.json", "--kind", "gate", "-o", tmp_path / "f.png")
    assert result.exit_code == Exit.USAGE
    assert "not a moet model" in result.stderr


def test_a_proof_is_drawn_from_its_files(run, tmp_path):
    valve = Tree([0, -1, -1], [1.0, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [0, 1], [1, 0]])
    policy = Mixture([[0.0]], [0.0], [valve], ["closed", "open"], ["level"])
    tank = systems.AffineSystem(
        "tank",
        states=["level"],
        actions=["closed", "open"],
        matrix=[[1]],
        offsets=[["-0.015"], ["0.015"]],
        initial={"level": ("0.9", "1.1")},
        safe=["0.5 <= level <= 1.5"],
    )
    names = {"certificate": "proof.cert", "model": "valve.moet.json", "system": "tank.json", "picture": "proof.png"}
    paths = {what: tmp_path / name for what, name in names.items()}
    verify.safe(policy, tank, steps=None).certificate.save(paths["certificate"])
    save(policy, paths["model"])
    systems.save(tank, paths["system"])
    arguments = ["--certificate", paths["certificate"], "--system", paths["system"], "-o", paths["picture"]]
    result = run("plot", paths["model"], "--kind", "proof", *arguments)
    assert result.exit_code == Exit.OK, result.output
    assert imread(paths["picture"]).shape[0] > 100
    result = run("plot", paths["model"], "--kind", "proof", "-o", paths["picture"])
    assert result.exit_code == Exit.USAGE
    assert "name it with --certificate, and its system with --system" in result.output


@pytest.fixture
def table_model(tmp_path):
    """Sex has two categories, Age and Duration are whole numbers."""
    columns = [
        Column("Age", "integer", ("Age",), 19, 75),
        Column("Sex", "category", ("Sex=female", "Sex=male"), categories=("female", "male")),
        Column("Duration", "integer", ("Duration",), 4, 72),
    ]
    gate = [[0.0, 0.0, 0.0, 0.0], [1.0, 9.0, -9.0, -1.0]]
    trees = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    mixture = Mixture(gate, [0, 1], trees, ["bad", "good"], schema=Schema(columns))
    save(mixture, tmp_path / "table.moet.json")
    return tmp_path / "table.moet.json"


def test_maps_of_a_table_hold_a_possible_row_and_need_no_data(run, table_model, tmp_path):
    for more in ([], ["--at", "Sex=female, Age=30, Duration=6"]):
        result = run(
            "plot", table_model, "--kind", "regions", "--features", "Age,Duration", "-o", tmp_path / "r.svg", *more
        )
        assert result.exit_code == Exit.OK
    drawn = (tmp_path / "r.svg").read_text()
    assert "Sex = female" in drawn
    assert "Sex=male" not in drawn


def test_maps_of_a_table_end_where_possible_rows_do_and_their_notes_fit(run, table_model, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("moet.explain.style.save_figure", lambda figure, path: drawn.append(figure))
    run("plot", table_model, "--kind", "regions", "--features", "Age,Duration", "-o", tmp_path / "r.png")
    sides = [*drawn[0].axes[0].get_xlim(), *drawn[0].axes[0].get_ylim()]
    assert all(least <= side <= most for side, least, most in zip(sides, (19, 19, 4, 4), (75, 75, 72, 72), strict=True))
    assert sides[1] - sides[0] > 50
    drawn[0].draw_without_rendering()
    note_above(drawn[0], "Saving accounts = moderate, Purpose = domestic appliances, " * 4)
    note = next(text for text in drawn[0].texts if "Saving" in text.get_text())
    assert note.get_window_extent().width < drawn[0].bbox.width


def test_half_a_category_is_no_axis(run, table_model, tmp_path):
    for name in ("Sex", "Sex=male"):
        result = run("plot", table_model, "--kind", "regions", "--features", f"Age,{name}", "-o", tmp_path / "r.svg")
        assert result.exit_code == Exit.USAGE
        assert "Sex has categories, which are no axis of a map: choose two of Age, Duration" in result.stderr
