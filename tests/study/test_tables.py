import csv
import io
import re
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet.study.tables import Column, Table, to_csv, to_latex, to_markdown
from tests.processes import run

NASTY = r"100 % of $x_1$ & {a\b} ~ ^ # <i>|*`"


@pytest.fixture
def table():
    columns = [Column("Model"), Column("Reward", 2), Column("Leaves")]
    return Table("some-name", "Best & worst_of", columns, [("MoËT_h", -0.123456789, 12), (NASTY, None, 3)])


def test_csv_keeps_every_digit(table):
    assert list(csv.reader(io.StringIO(to_csv(table)))) == [
        ["Model", "Reward", "Leaves"],
        ["MoËT_h", "-0.123456789", "12"],
        [NASTY, "", "3"],
    ]


@given(
    st.lists(st.tuples(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"])), st.floats(allow_nan=False)))
)
def test_csv_can_be_read_back(rows):
    written = to_csv(Table("t", "t", [Column("a"), Column("b", 1)], rows))
    assert [(a, float(b)) for a, b in list(csv.reader(io.StringIO(written)))[1:]] == rows


def test_markdown(table):
    caption, _, head, rule, first, second = to_markdown(table).splitlines()
    assert caption == r"**Best & worst\_of**"
    assert (head, rule, first) == ("| Model | Reward | Leaves |", "|---|--:|--:|", r"| MoËT\_h | -0.12 | 12 |")
    assert len(re.findall(r"(?<!\\)\|", second)) == 4  # cells cannot end cells


def test_latex(table):
    text = to_latex(table)
    assert r"\caption{Best \& worst\_of}" in text
    assert r"\begin{tabular}{lrr}" in text
    assert r"    MoËT\_h & $-0.12$ & $12$ \\" in text
    assert (
        r"100 \% of \$x\_1\$ \& \{a\textbackslash{}b\} \textasciitilde{} \textasciicircum{} \# "
        r"\textless{}i\textgreater{}|*` &  & $3$ \\" in text
    )


def latex_is_installed():
    return shutil.which("pdflatex") and run(["kpsewhich", "booktabs.sty"]).returncode == 0


@pytest.mark.processes
@pytest.mark.skipif(not latex_is_installed(), reason="pdflatex with the package booktabs is not installed")
def test_latex_compiles(table, tmp_path):
    document = r"\documentclass{article}\usepackage{booktabs}\begin{document}" + to_latex(table) + r"\end{document}"
    (tmp_path / "t.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    run(command, cwd=tmp_path, check=True, errors="replace")  # its log has the encodings of its fonts


def test_a_table_without_rows_has_a_head():
    empty = Table("t", "nothing", [Column("a")], [])
    assert to_csv(empty) == "a\n"
    assert to_markdown(empty).endswith("| a |\n|--:|\n")
