"""The page of an audit."""

import base64
import re

import pandas as pd
import pytest

from moet import Mixture, Schema, Tree, load, verify
from moet.study.audit import audit, audit_page


@pytest.fixture
def page(write_csv, run, tmp_path):
    rows = []
    for k in range(120):
        months = 4 + 5 * k % 60
        rows.append([20 + k % 50, "<b>male</b>" if k % 2 else "female", months, "bad" if months > 30 else "good"])
    table = write_csv("loans.csv", ["Age", "Sex", "Duration", "Risk"], rows)
    model, page = tmp_path / "g.moet.json", tmp_path / "audit.html"
    assert run("fit", table, "--target", "Risk", "-o", model, "--experts", 1, "--depth", 1, "--hard").exit_code == 0
    result = run("audit", model, "--data", table, "--rows", 20, "-o", page)
    assert "true labels are taken from column 'Risk'" in result.stderr
    assert result.exit_code == 0, result.stderr
    assert "proved   A change of Sex alone never changes the answer." in result.stdout
    assert "refuted  A change of Duration alone never changes the answer." in result.stdout
    return model, page.read_text(encoding="utf-8")


def test_the_page_tells_claims_rows_and_groups(page):
    _, text = page
    assert "A change of Sex alone never changes the answer." in text
    assert "Not so: A change of Duration alone never changes the answer." in text
    assert "Accuracy on the table: 1.0000" in text
    assert "&lt;b&gt;male&lt;/b&gt;" in text
    assert "<b>male" not in text
    assert "<th>values</th></tr>" in text  # no column has a unit, so none is told


def test_the_page_has_no_style_that_its_own_policy_forbids(page):
    assert "style-src 'sha256-" in page[1]
    assert ' style="' not in page[1]


def test_certificates_that_are_attached_prove_what_the_page_says(page, tmp_path):
    model, text = page
    found = re.findall(r'download="([^"]+)" href="data:application/octet-stream;base64,([^"]+)"', text)
    assert len(found) > 3
    for name, content in found:
        (tmp_path / name).write_bytes(base64.b64decode(content))
        assert verify.check(tmp_path / name, load(model))


def test_a_model_without_a_schema_is_told_so(run, tmp_path, write_csv):
    from moet import Mixture, Tree, save

    save(Mixture([[0.0]], [0.0], [Tree.leaf([1.0])], ["a"], ["x"]), tmp_path / "m.moet.json")
    table = write_csv("t.csv", ["x"], [[1]])
    result = run("audit", tmp_path / "m.moet.json", "--data", table, "-o", tmp_path / "a.html")
    assert result.exit_code == 2
    assert "has no schema: make it again with `moet fit`" in result.stderr


def test_how_often_a_change_matters_is_told_of_the_table(tmp_path):
    """Half of the random possible rows are over fifty; of this table one in a hundred is."""
    table = pd.DataFrame({"Age": [10] * 99 + [1_234_567], "Sex": ["f", "m"] * 50})
    places, thresholds = [0, -1, 2, -1, -1], [50, 0, 0.5, 0, 0]
    values = [[0.5, 0.5], [1, 0], [0.5, 0.5], [1, 0], [0, 1]]
    tree = Tree(places, thresholds, [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], values)
    model = Mixture([[0.0] * 3], [0], [tree], ["good", "bad"], schema=Schema.of(table))
    found = audit(model, table, rows=5)
    shares = {one.question: one.verdict.share for one in found.findings if "alone" in one.question}
    assert shares["A change of Sex alone never changes the answer."] == 0.01
    page = audit_page(found, "model")
    assert "It does for 1.0% of the table&#x27;s rows." in page or "It does for 1.0% of the table's rows." in page
    assert "10 to 1234567" in page
