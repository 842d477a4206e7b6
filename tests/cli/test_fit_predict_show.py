"""The way of a table through the commands, and everything that can be wrong with it."""

import csv
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from moet import load
from moet.cli.app import app
from moet.cli.output import Exit


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model file of a table in which weight and color decide the kind."""
    folder = tmp_path_factory.mktemp("fitted")
    rows = [
        [weight, color, "apple" if weight > 150 and color == "red" else "pear"]
        for weight in range(50, 300, 5)
        for color in ("red", "green")
    ]
    data, model = folder / "fruit.csv", folder / "fruit.moet.json"
    with data.open("w", newline="") as file:
        csv.writer(file).writerows([["weight", "color", "kind"], *rows])
    arguments = ["fit", data, "--target", "kind", "--experts", 2, "--depth", 2, "--hard", "--json", "-o", model]
    return data, model, CliRunner().invoke(app, list(map(str, arguments)))


def test_fit_reports_and_saves(fitted):
    _, model, result = fitted
    assert result.exit_code == Exit.OK
    report = json.loads(result.stdout)
    assert report["model"] == str(model)
    assert report["rows"] == 100
    assert report["classes"] == ["apple", "pear"]
    assert report["train_accuracy"] == 1.0
    assert report["test_accuracy"] is None
    mixture = load(model)
    assert mixture.feature_names == ("weight", "color=green", "color=red")
    assert mixture.prediction == report["prediction"] == "hard"
    assert report["size"] == mixture.size._asdict()


def test_fit_for_people_with_held_out_rows(run, fitted, tmp_path):
    data, _, _ = fitted
    model = tmp_path / "m.moet.json"
    result = run("fit", data, "--target", "kind", "--experts", 1, "--depth", 2, "--test-fraction", 0.25, "-o", model)
    assert result.exit_code == Exit.OK
    names = [line.split("  ")[0] for line in result.stdout.splitlines()]
    assert names == ["train accuracy", "test accuracy", "size", "saved to"]
    assert "(75 rows)" in result.stdout
    assert "(25 rows)" in result.stdout
    assert load(model).prediction == "hard"


def test_soft_is_one_flag_away_and_keeps_its_numbers_and_its_mode(run, fitted, tmp_path):
    data, _, _ = fitted
    model = tmp_path / "m.moet.json"
    result = run("fit", data, "--target", "kind", "--experts", 2, "--depth", 1, "--soft", "-o", model)
    assert result.exit_code == Exit.OK, result.stderr
    assert "log-likelihood" in result.stdout
    assert load(model).prediction == "soft"
    for refused in (("export", model, "--to", "c"), ("verify", model, "--system", "cartpole")):
        result = run(*refused)
        assert result.exit_code == Exit.USAGE
    assert "`moet fit --hard`" in run("export", model, "--to", "c").stderr


def test_without_a_size_the_smallest_good_one_is_found_and_said(run, fitted, tmp_path):
    data, _, _ = fitted
    model = tmp_path / "m.moet.json"
    result = run("fit", data, "--target", "kind", "-o", model)
    assert result.exit_code == Exit.OK, result.stderr
    assert re.search(r"size taken +E\d+-D\d+, the smallest within \S+ of the best accuracy", result.stdout)
    assert result.stderr.count("<- taken") == 1
    report = json.loads(run("fit", data, "--target", "kind", "-o", model, "--json", "--budget", 1).stdout)
    taken = report["sizes"][report["taken"]]
    assert taken["score"] >= max(one["score"] for one in report["sizes"]) - report["tolerance"]
    refused = run("fit", data, "--target", "kind", "-o", model, "--budget", 1, "--experts", 2)
    assert (refused.exit_code, "leave out --experts" in refused.stderr) == (Exit.USAGE, True)


def test_what_fit_saves_is_shown_exactly(run, fitted):
    _, model, _ = fitted
    shown = run("show", model).stdout
    assert shown == run("show", model, "--digits", 17).stdout
    assert "decide nothing" not in shown


def test_the_same_seed_gives_the_same_file(run, fitted, tmp_path):
    data, model, _ = fitted
    again = tmp_path / "again.moet.json"
    run("fit", data, "--target", "kind", "--experts", 2, "--depth", 2, "--hard", "-o", again)
    assert again.read_bytes() == model.read_bytes()


def test_predict_prints_one_label_per_line(run, fitted, write_csv):
    _, model, _ = fitted
    table = write_csv("new.csv", ["color", "id", "weight"], [["red", 7, 200], ["green", 8, 200], ["red", 9, 60]])
    result = run("predict", model, table)
    assert (result.exit_code, result.stdout, result.stderr) == (Exit.OK, "apple\npear\npear\n", "")


def test_predict_tells_about_unseen_categories(run, fitted, write_csv):
    _, model, _ = fitted
    result = run("predict", model, write_csv("new.csv", ["color", "weight"], [["blue", 100]]))
    assert result.exit_code == Exit.OK
    assert "'blue'" in result.stderr


def test_predict_probabilities_and_accuracy(run, fitted, tmp_path):
    data, model, _ = fitted
    output = tmp_path / "out.csv"
    result = run("predict", model, data, "--proba", "--target", "kind", "-o", output)
    assert (result.exit_code, result.stdout) == (Exit.OK, "")
    assert "accuracy 1.0000 (100 rows)" in result.stderr
    with output.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["label", "p(apple)", "p(pear)"]
    assert len(rows) == 100
    for row in rows:
        assert float(row["p(apple)"]) + float(row["p(pear)"]) == pytest.approx(1)
        assert row["label"] == max("apple", "pear", key=lambda label: float(row[f"p({label})"]))


def test_predict_answers_one_input(run, fitted):
    data, model, _ = fitted
    said = run("predict", model, data).stdout.splitlines()
    assert run("predict", model, "--at", f"{data}:7").stdout.splitlines() == [said[6]]
    result = json.loads(run("predict", model, "--at", "color=red, weight=200", "--proba", "--json").stdout)
    assert (result["rows"], result["predictions"]) == (1, ["apple"])
    for wrong in ([], [data, "--at", "color=red, weight=200"]):
        refused = run("predict", model, *wrong)
        assert refused.exit_code == Exit.USAGE
        assert "give a table, or one input with --at" in refused.stderr
    assert "--target is a column of a table" in run("predict", model, "--at", f"{data}:7", "--target", "kind").stderr


def test_predict_as_json(run, fitted):
    data, model, _ = fitted
    result = json.loads(run("predict", model, data, "--proba", "--target", "kind", "--json").stdout)
    assert len(result["predictions"]) == len(result["probabilities"]) == result["rows"] == 100
    assert result["accuracy"] == 1.0
    assert result["classes"] == ["apple", "pear"]


def test_show(run, fitted):
    _, model, _ = fitted
    text = run("show", model).stdout
    assert text.startswith("hard mixture of 2 experts")
    assert "weight" in text
    assert json.loads(run("show", model, "--json").stdout)["rules"] == text.rstrip("\n")
    assert run("show", model, "--digits", 17).exit_code == Exit.OK


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("a,y\n", "has a header but no rows"),
        ("a;y\n1;2\n", "separated by semicolons"),
        ("a,b\n1,2\n", "no column 'y'; the columns are 'a', 'b'"),
        ("a,y\n1,0\n,1\n", "'a' (1 of 2 rows)"),
    ],
)
def test_fit_refuses_bad_tables_in_one_line(run, tmp_path, content, message):
    data, model = tmp_path / "t.csv", tmp_path / "m.moet.json"
    data.write_text(content)
    result = run("fit", data, "--target", "y", "-o", model)
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert result.stderr.startswith("moet: error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not model.exists()


def test_fit_refuses_a_place_it_cannot_write_to_before_working(run, fitted, tmp_path):
    data, _, _ = fitted
    for output in (tmp_path, tmp_path / "nowhere" / "m.moet.json"):
        result = run("fit", data, "--target", "kind", "-o", output)
        assert (result.exit_code, result.stdout) == (Exit.USAGE, "")


def test_a_target_with_one_value_is_a_model_too(run, write_csv, tmp_path):
    data, model = write_csv("t.csv", ["a", "y"], [[1, "same"], [2, "same"]]), tmp_path / "m.moet.json"
    assert run("fit", data, "--target", "y", "-o", model).exit_code == Exit.OK
    assert run("predict", model, data).stdout == "same\nsame\n"


def test_predict_refuses_a_table_without_the_features(run, fitted, write_csv):
    _, model, _ = fitted
    result = run("predict", model, write_csv("t.csv", ["weight"], [[1]]))
    assert result.exit_code == Exit.USAGE
    assert "lacks 'color'; it has 'weight'" in result.stderr


def test_predict_and_show_refuse_what_is_no_model(run, fitted):
    data, _, _ = fitted
    for arguments in (["predict", data, data], ["show", data]):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
        assert result.stderr.count("\n") == 1


def test_a_distilled_model_comes_with_what_its_teacher_was(run, fitted, tmp_path):
    data, _, _ = fitted
    model = tmp_path / "m.moet.json"
    arguments = ["fit", data, "--target", "kind", "--experts", 2, "--depth", 2, "--hard", "--distill", "-o", model]
    report = json.loads(run(*arguments, "--test-fraction", 0.25, "--json").stdout)
    assert report["teacher"]["size"]["leaves"] > report["size"]["leaves"] == load(model).size.leaves
    assert report["teacher"]["test_fidelity"] == report["test_accuracy"] == report["teacher"]["test_accuracy"] == 1.0
    said = run(*arguments).stdout
    assert "teacher" in said
    assert "fidelity" in said
    assert "test accuracy" not in said


def test_fit_obeys_what_it_is_asked_to(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [("Months", "Sex", "Risk")]
    for months, sex in zip(rng.integers(4, 60, 300), rng.choice(["f", "m"], 300), strict=True):
        rows.append((months, sex, "bad" if months + 15 * (sex == "m") + 20 * rng.normal() > 40 else "good"))
    table, model = tmp_path / "loans.csv", tmp_path / "m.moet.json"
    table.write_text("\n".join(",".join(map(str, row)) for row in rows))
    size = ("--experts", "3", "--depth", "3")
    asked = ("--ignore", "Sex", "--monotone", "Months=bad", "--gate-columns", "1")
    run("fit", table, "--target", "Risk", "-o", model, *size, *asked)
    assert "proved" in run("verify", model, "--ignores", "Sex").stdout.lower()
    assert "proved" in run("verify", model, "--monotone", "Months", "--answer", "bad").stdout.lower()
    wrong = run("fit", table, "--target", "Risk", "-o", model, *size, "--monotone", "Months")
    assert wrong.exit_code == Exit.USAGE
    assert "such as Duration=good" in wrong.stderr
