"""Tables that are not what they seem: `moet fit` says what is wrong with them, and what to do."""

import pytest


def table(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding=encoding)
    return path


def rows(cell, n=120):
    return "a,b,y\n" + "".join(f"{k},{cell(k)},{'no' if k % 2 else 'yes'}\n" for k in range(n))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (rows(lambda k: f"id{k}"), "120 different texts in 120 rows, such as 'id0'"),
        (rows(lambda k: f"{k / 10}%"), "numbers written as text, such as '0.0%'"),
        (rows(lambda k: f'"1,{k:03}"'), "numbers written as text, such as '1,000'"),
        (rows(lambda k: f'"{k},5"'), "numbers written as text, such as '0,5'"),
        (rows(lambda k: f"€{k}"), "numbers written as text, such as '€0'"),
        (rows(lambda k: f"{k / 10}").replace(",", ";"), "separated by semicolons"),
        (rows(lambda k: f"{k}").replace(",", "\t"), "separated by tabs"),
        (rows(lambda k: f"{k}").replace("a,b", ",b"), "column 1 of"),
    ],
)
def test_a_strange_table_is_one_line(tmp_path, run, text, message):
    result = run("fit", table(tmp_path, text), "--target", "y", "-o", tmp_path / "m.json")
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_told(tmp_path, run, encoding):
    path = table(tmp_path, rows(lambda k: "größe"), encoding)
    result = run("fit", path, "--target", "y", "-o", tmp_path / "m.json")
    assert result.exit_code == 2
    assert "save it again with the encoding UTF-8" in result.stderr


@pytest.mark.parametrize("cell", [lambda k: f"id{k}", lambda k: f"{k % 9}%"])
def test_what_is_meant_for_a_category_is_one(tmp_path, run, cell):
    path = table(tmp_path, rows(cell))
    result = run(
        "fit", path, "--target", "y", "-o", tmp_path / "m.json", "--category", "b", "--experts", 1, "--depth", 1
    )
    assert result.exit_code == 0, result.stderr
