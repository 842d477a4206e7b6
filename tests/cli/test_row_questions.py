"""Questions about rows of a table, from the command line."""

import json

import pytest


@pytest.fixture
def loans(write_csv, run, tmp_path):
    rows = []
    for k in range(120):
        months, home = 4 + 5 * k % 60, ["own", "rent", "free"][k % 3]
        rows.append([20 + k % 50, "male" if k % 2 else "female", home, months, "bad" if months > 30 else "good"])
    table = write_csv("loans.csv", ["Age", "Sex", "Housing", "Duration", "Risk"], rows)
    model = tmp_path / "g.moet.json"
    result = run("fit", table, "--target", "Risk", "-o", model, "--experts", 1, "--depth", 2, "--hard")
    assert result.exit_code == 0, result.stderr
    return model, table


def test_questions_of_an_auditor(loans, run, tmp_path):
    model, table = loans
    proof = tmp_path / "p.moetcert"
    result = run("verify", model, "--monotone", "Duration", "--answer", "bad", "--certificate", proof)
    assert result.exit_code == 0
    assert result.stdout.startswith("proved: more Duration never takes the answer bad away")
    assert run("check", proof, model).exit_code == 0
    assert run("verify", model, "--ignores", "Sex, Housing").exit_code == 0
    refuted = run("verify", model, "--ignores", "Duration", "--json")
    assert refuted.exit_code == 1
    first, second = json.loads(refuted.stdout)["rows"]
    assert {name for name in first if first[name] != second[name]} == {"Duration"}
    assert run("verify", model, "--always", "good", "--where", "Sex = male, Duration <= 12").exit_code == 0
    assert run("verify", model, "--robust", table, "--radius", "Age=3, Sex=1").exit_code == 0
    share, per_cent = (run("verify", model, "--robust", table, "--radius", text) for text in ("0.01", "1%"))
    assert share.exit_code == per_cent.exit_code != 2
    assert share.stdout.splitlines()[0].replace("0.01", "1%") == per_cent.stdout.splitlines()[0]


def test_recourse_from_the_command_line(loans, run):
    model, table = loans
    result = run(
        "recourse", model, "--row", f"{table}:7", "--answer", "good", "--fixed", "Sex, Age", "--cost", "Duration=1"
    )
    assert result.exit_code == 0
    assert "Duration" in result.stdout
    row = "Age=30, Sex=female, Housing=own, Duration=50"
    found = json.loads(run("recourse", model, "--row", row, "--answer", "good", "--json").stdout)
    assert list(found["changes"]) == ["Duration"]
    assert found["checked"]
    several = run("recourse", model, "--row", row, "--answer", "good", "--number", "3", "--json")
    assert json.loads(several.stdout)["others"] == []
    none = run("recourse", model, "--row", row, "--answer", "good", "--fixed", "Duration")
    assert none.exit_code == 1
    assert "no possible change" in none.stdout


def test_rows_are_inputs_of_other_commands(loans, run):
    model, table = loans
    assert "Duration" in run("why", model, "--at", f"{table}:3").stdout
    closest = run("closest", model, "--at", "Age=30, Sex=female, Housing=own, Duration=50")
    assert closest.exit_code == 0
    assert "Sex" in closest.stdout
    assert run("predict", model, table).stdout.split()[:2] == ["good", "good"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--monotone", "Duration"], "--monotone needs --answer, one of bad, good"),
        (["--monotone", "Durations", "--answer", "bad"], "did you mean 'Duration'?"),
        (["--monotone", "Sex", "--answer", "bad"], "have no order"),
        (["--ignores", "Sex", "--always", "good"], "give one of"),
        (["--ignores", "Sex", "--where", "Sex = m"], "never saw 'm'"),
        (["--answer", "bad", "--ignores", "Sex"], "--answer goes with --monotone"),
    ],
)
def test_wrong_questions_end_in_one_line(loans, run, arguments, message):
    result = run("verify", loans[0], *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.fixture
def awkward(write_csv, run, tmp_path):
    """A model of columns and categories whose names are words of the language of conditions."""
    places = ["in", "NA", "<= 5", "a, b", 'say "hi"', "x=y"]
    rows = [[places[k % 6], k % 7, "yes, sure" if k % 6 < 3 else "no"] for k in range(120)]
    table = write_csv("awkward.csv", ["Wohn,ort", "not in", "answer"], rows)
    model = tmp_path / "a.moet.json"
    result = run("fit", table, "--target", "answer", "-o", model, "--experts", 1, "--depth", 5, "--hard")
    assert result.exit_code == 0, result.stderr
    return model, table


@pytest.mark.parametrize("written", ["Wohn,ort", '"Wohn,ort"', "'Wohn,ort', not in", 'not in, "Wohn,ort"'])
def test_columns_whose_names_have_commas_are_named(awkward, run, written):
    model, table = awkward
    assert run("verify", model, "--ignores", written).exit_code == 1
    stuck = run("recourse", model, "--row", f"{table}:1", "--answer", "no", "--fixed", written)
    assert stuck.exit_code == 1, stuck.stderr
    assert "no possible change" in stuck.stdout


def test_amounts_are_given_to_columns_whose_names_have_commas(awkward, run):
    model, table = awkward
    assert run("verify", model, "--robust", table, "--radius", '"Wohn,ort"=0, not in=3').exit_code == 0
    assert run("verify", model, "--robust", table, "--radius", "=3").exit_code == 2


@pytest.mark.parametrize("row", range(1, 7))
def test_what_is_shown_of_a_category_can_be_typed_again(awkward, run, row):
    model, table = awkward
    shown = ['"in"', "NA", '"<= 5"', '"a, b"', "'say \"hi\"'", '"x=y"'][row - 1]
    assert shown in run("why", model, "--at", f"{table}:{row}").stdout
    always = run("verify", model, "--always", "no", "--where", f'"Wohn,ort" = {shown}')
    assert always.exit_code == (1 if row <= 3 else 0), always.stderr


@pytest.mark.parametrize("written", ["2", "2.0", "2.00"])
def test_a_label_that_is_a_number_may_be_written_in_any_way(write_csv, run, tmp_path, written):
    rows = [[k % 9, "1.0" if k % 9 < 4 else "2.0"] for k in range(90)]
    table, model = write_csv("n.csv", ["a", "state"], rows), tmp_path / "n.json"
    fitted = run("fit", table, "--target", "state", "--labels", "-o", model, "--experts", 1, "--depth", 1)
    assert fitted.exit_code == 0, fitted.stderr
    assert run("verify", model, "--monotone", "a", "--answer", written).exit_code == 0
    assert run("verify", model, "--monotone", "a", "--answer", "3").exit_code == 2


def test_a_file_without_a_row_is_told_how_rows_are_written(loans, run):
    model, table = loans
    result = run("why", model, "--at", table)
    assert result.exit_code == 2
    assert "written as table.csv:17" in result.stderr
