"""The supervised benchmark: protocol, checkpoint, statistics, tables, properties and the command."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from moet import Mixture, Tree
from moet.cli.app import app
from moet.errors import CheckpointError, InputError
from moet.study.supervised import comparison as bench
from moet.study.supervised import protocol
from moet.study.supervised.comparison import PROTOCOL, Checkpoint, benchmark, chosen_models, obstacle
from moet.study.supervised.datasets import SOURCES, Dataset
from moet.study.supervised.models import MODELS, Model, grid
from moet.study.supervised.peers import PEERS
from moet.study.supervised.properties import Property, box_of, prove, report, shifted
from moet.study.supervised.protocol import run, score, split
from moet.study.supervised.statistics import mean_with_interval, paired_p_value
from moet.study.supervised.tables import comparison, markdown, scores


def made_up(name="german9", n=240, seed=0):
    """A table with the columns of a data set, whose label depends on a number and a category."""
    rng = np.random.default_rng(seed)
    source = SOURCES[name]
    X = pd.DataFrame({column: rng.normal(size=n) for column in source.numbers})
    for column in source.texts:
        X[column] = rng.choice(["u", "v"], n)
    signal = X[source.numbers[0]] + (X[source.texts[0]] == "u" if source.texts else 0.0)
    y = np.digitize(signal + 0.1 * rng.normal(size=n), [0.5, 1.0][: max(source.classes.values())])
    return Dataset(name, source.title, X, y.astype(np.intp), {column: ["u", "v"] for column in source.ordered})


@pytest.fixture
def data(monkeypatch):
    monkeypatch.setattr(bench, "load", lambda name, folder: made_up(name))


def row(model, seed, value, dataset="german9"):
    tuned = {"params": {}, "validation": value, "f1": value, "accuracy": value, "size": None}
    key = {"protocol": PROTOCOL, "dataset": dataset, "model": model, "seed": seed}
    return key | {"tuned_for": {"f1": tuned, "accuracy": tuned}, "seconds": 1.0}


def test_splits_are_stratified_disjoint_and_complete():
    y = np.repeat([0, 1], [700, 300])
    dataset = Dataset("german9", "", pd.DataFrame(), y)
    parts = split(dataset, 0)
    assert [len(part) for part in parts] == [700, 150, 150]
    assert [int(y[part].sum()) for part in parts] == [210, 45, 45]
    assert len(np.unique(np.concatenate(parts))) == 1000
    assert not np.array_equal(parts.test, split(dataset, 1).test)


def test_settings_are_chosen_on_validation_rows_and_tested_on_test_rows():
    dataset = made_up(n=400)
    choices = grid(max_depth=[1, 4])
    result = run(dataset, Model("tree", MODELS["tree"].build, choices), 0)["tuned_for"]["accuracy"]
    assert result["params"] == {"max_depth": 4}
    assert result["accuracy"] > 0.9
    assert result["size"]["leaves"] > 2


def test_a_single_setting_is_fitted_once(monkeypatch):
    fitted = []
    tree = MODELS["tree"]
    counted = Model("tree", lambda *args: fitted.append(args) or tree.build(*args), grid(max_depth=[3]))
    result = run(made_up(n=400), counted, 0)["tuned_for"]
    assert result["f1"] == result["accuracy"]
    assert result["f1"]["validation"] is None
    assert len(fitted) == 1


def test_the_test_rows_have_no_say_in_tuning(monkeypatch):
    dataset, tree = made_up(n=400), MODELS["tree"]
    parts = split(dataset, 0)
    monkeypatch.setattr(protocol, "split", lambda dataset, seed: parts)
    other = made_up(n=400)
    other.y[parts.test] = 1 - other.y[parts.test]
    before, after = (run(table, tree, 0)["tuned_for"]["accuracy"] for table in (dataset, other))
    assert before["params"] == after["params"]
    assert before["validation"] == after["validation"]
    assert after["accuracy"] == pytest.approx(1 - before["accuracy"])


def test_f1_is_of_the_positive_class_or_the_mean_over_classes():
    truth, predicted = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    assert score("f1", truth, predicted) == pytest.approx(0.8)
    assert score("f1", np.array([0, 1, 2]), np.array([0, 1, 1])) == pytest.approx((1 + 2 / 3 + 0) / 3)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("table", ["german9", "fetal3"])
def test_every_model_runs_and_its_row_is_json(name, table):
    model = MODELS[name]
    one = Model(model.name, model.build, model.grid_for(100)[-1:], features=model.features)
    result = run(made_up(table), one, 0)
    assert result["tuned_for"]["accuracy"]["accuracy"] > 0.6
    assert json.loads(json.dumps(result)) == result


@pytest.mark.parametrize("name", PEERS)
def test_every_installed_peer_runs(name):
    dataset = made_up()
    if reason := obstacle(PEERS[name], dataset):
        pytest.skip(reason)
    assert run(dataset, PEERS[name], 0)["tuned_for"]["f1"]["f1"] > 0.6


def test_small_tables_have_their_own_grid():
    model = MODELS["moet"]
    assert model.grid_for(700) == model.small_grid != model.grid == model.grid_for(1488)
    assert MODELS["tree"].grid_for(700) == MODELS["tree"].grid


def test_finished_rows_are_not_computed_again(data, tmp_path, monkeypatch):
    wanted = {"datasets": ["german9"], "models": ["tree", "ridge"], "checkpoint": tmp_path / "rows.jsonl"}
    first = benchmark(seeds=1, say=lambda text: None, **wanted)
    computed = []
    monkeypatch.setattr(
        bench,
        "run",
        lambda *args: computed.append(args[2]) or {"tuned_for": row("", 0, 0.5)["tuned_for"], "seconds": 1.0},
    )
    again = benchmark(seeds=2, say=lambda text: None, **wanted)
    assert computed == [1, 1]
    assert again[:2] == first
    assert benchmark(seeds=0, **wanted) == again


def test_half_a_line_at_the_end_is_dropped_and_anything_else_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    Checkpoint(path).add(row("tree", 0, 0.5))
    with path.open("a") as file:
        file.write('{"protocol": 1, "data')
    kept = Checkpoint(path)
    kept.add(row("tree", 1, 0.6))
    assert [r["seed"] for r in Checkpoint(path).rows] == [0, 1]
    path.write_text("[]\n")
    with pytest.raises(CheckpointError, match="line 1 of"):
        Checkpoint(path)
    path.write_text(json.dumps(row("tree", 0, 0.5) | {"protocol": 0}) + "\n")
    with pytest.raises(CheckpointError, match="protocol 0"):
        Checkpoint(path)


def test_unknown_models_are_refused_and_missing_packages_named():
    with pytest.raises(InputError, match="unknown model 'xgb'; there are moet, moet_h"):
        chosen_models(["xgb"])
    dataset = made_up()
    build = MODELS["tree"].build
    assert obstacle(Model("m", build, (), package="no_such_package"), dataset) == (
        "the package no_such_package is not installed"
    )
    assert "too long" in obstacle(Model("m", build, (), most_rows=10), dataset)
    assert "two classes" in obstacle(Model("m", build, (), most_classes=2), made_up("fetal3"))


def test_the_interval_is_wider_than_for_independent_splits():
    values = np.random.default_rng(0).normal(0.8, 0.02, 10)
    naive = stats.sem(values) * stats.t.ppf(0.975, 9)
    mean = mean_with_interval(values)
    assert mean.value == pytest.approx(values.mean())
    assert mean.half_width == pytest.approx(naive * np.sqrt(1 + 10 * 0.15 / 0.85))
    assert np.isnan(mean_with_interval([0.5]).half_width)


def test_the_paired_test_sees_a_steady_lead_and_no_lead():
    a = [0.80, 0.85, 0.78, 0.83]
    assert paired_p_value(a, [x - 0.05 + 0.001 * i for i, x in enumerate(a)]) < 0.01
    assert paired_p_value(a, a) == 1.0
    assert paired_p_value(a, [x - 0.0625 for x in a]) < 1e-6
    assert paired_p_value(a, a[::-1]) == pytest.approx(1.0)


def test_tables_rank_verifiable_models_and_compare_on_the_same_splits():
    rows = [row("moet", s, 0.80 + 0.01 * s) for s in range(3)] + [row("tree", s, 0.70 + 0.02 * s) for s in range(4)]
    rows += [row("boosting", s, 0.9) for s in range(3)]
    rows += [row("ebm", 5, 0.99)]  # on a split of its own
    assert scores(rows, "german9", "f1")["tree"][3] == pytest.approx(0.76)
    found = comparison(scores(rows, "german9", "f1"), kind="verifiable")
    assert (found.rival, found.lead, found.n_splits) == ("tree", pytest.approx(0.09), 3)
    text = markdown(rows)
    assert "| MoËT | **0.810 ± " in text
    assert "| 0.990 |" in text
    assert text.index("| MoËT |") < text.index("| decision tree |") < text.index("| gradient boosting (reference) |")
    assert "MoËT by F1: +0.090 against decision tree, the best other verifiable model (3 common splits, p = " in text
    assert "-0.090 against gradient boosting" in text


def step(feature_names, threshold, answers=(0, 1)):
    """A mixture of one tree that tests the first feature."""
    value = np.eye(2)[[0, *answers]]
    tree = Tree([0, -1, -1], [threshold, 0, 0], [1, -1, -1], [2, -1, -1], value)
    return Mixture(np.zeros((1, len(feature_names))), [0.0], [tree], [0, 1], feature_names)


def test_a_shifted_mixture_answers_as_the_original_does_after_the_change():
    rng = np.random.default_rng(0)
    tree = Tree(
        [1, -1, 0, -1, -1], [0.3, 0, -0.2, 0, 0], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], np.eye(2)[[0, 1, 0, 0, 1]]
    )
    mixture = Mixture(rng.normal(size=(2, 2)), [0.1, 0.0], [tree, Tree.leaf([0.9, 0.1])], [0, 1], ["a", "b"])
    X = rng.normal(size=(500, 2))
    moved = shifted(mixture, {"b": 0.75})
    assert np.array_equal(moved.predict(X), mixture.predict(X + np.array([0.0, 0.75])))


def test_a_change_is_proved_or_refuted_by_where_the_answer_changes():
    dataset = made_up("fetal")
    names = list(dataset.X)
    rising = step(names, 0.1)
    never_lower = Property("", change={names[0]: 0.5})
    assert prove(rising, dataset, never_lower).verdict == "proved"
    found = prove(step(names, 0.1, (1, 0)), dataset, never_lower)
    assert found.verdict == "refuted"
    assert -0.4 < found.counterexample[names[0]] <= 0.1
    inside = Property("", ranges={names[0]: (0.2, 1.0)}, answers=(1,))
    assert prove(rising, dataset, inside).verdict == "proved and checked"
    outside = Property("", ranges={names[0]: (0.0, 1.0)}, answers=(1,))
    assert prove(rising, dataset, outside).counterexample[names[0]] <= 0.1


def test_a_box_holds_one_category_of_each_column():
    dataset = made_up("german9")
    names = [*SOURCES["german9"].numbers, "Sex=u", "Sex=v", "Checking account"]
    sides = box_of(
        dataset, Property("", ranges={"Age": (1, 2)}, categories={"Sex": "v", "Checking account": "v"}), names
    )
    assert sides["Age"] == (1, 2)
    assert (sides["Sex=u"], sides["Sex=v"]) == ((0, 0), (1, 1))
    assert sides["Checking account"] == (1, 1)  # the rank of "v" after "u"
    assert np.mean(dataset.X["Duration"] < sides["Duration"][0]) == pytest.approx(0.05, abs=0.01)


def test_the_question_of_a_data_set_is_asked_of_a_tuned_model():
    text = report(made_up("fetal", n=300))
    assert "MoËT_h with" in text
    assert any(word in text for word in ("*Proved", "*Refuted", "*Unknown"))


def test_the_command_prints_a_table_and_says_what_is_wrong(data, tmp_path):
    arguments = ["bench", "supervised", "--datasets", "german9", "--models", "tree,svc", "--seeds", "1"]
    result = CliRunner().invoke(app, [*arguments, "--checkpoint", str(tmp_path / "rows.jsonl")])
    assert result.exit_code == 0
    assert "| decision tree |" in result.stdout
    assert "the table has 240 rows, the published one 1000; is it whole?" in result.stderr
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 2
    result = CliRunner().invoke(app, ["bench", "supervised", "--models", "nonsense"])
    assert result.exit_code == 2
    assert "unknown model 'nonsense'" in result.stderr
