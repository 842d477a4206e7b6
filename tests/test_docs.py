"""What the pages promise: their Python imports public names, and their links lead somewhere."""

import ast
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest
from result_tables import MARKED, ORIGIN, ROWS, kept, pages, renewed

from tests.processes import run
from tests.public_names import PUBLIC

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "notes").glob("*.md")])
SCRIPTS = sorted((ROOT / "examples").rglob("*.py"))


def named(path):
    return str(path.relative_to(ROOT))


def python_of(path):
    text = path.read_text(encoding="utf-8")
    return [text] if path.suffix == ".py" else re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)


def imported(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "moet":
            yield from ((node.module, alias.name) for alias in node.names)
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] == "moet")


@pytest.mark.parametrize("path", [*PAGES, *SCRIPTS], ids=named)
def test_what_is_shown_imports_public_names_only(path):
    for code in python_of(path):
        for module, name in imported(code):
            assert module in PUBLIC, f"{module} is not public"
            assert name is None or name in import_module(module).__all__, f"{name} is no public name of {module}"


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_links_between_pages_lead_to_files(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    for target in re.findall(r"\]\((?!https?://|#|gallery/)([^)#\s]+)", text):
        assert (path.parent / target).exists(), f"{target} does not exist"


def anchors(path):
    """What links to headings of a page may say, as GitHub and the site name them."""
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    bare = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in re.findall(r"^#+ (.*)", text, re.M)]
    return {heading.strip().replace(" ", "-") for heading in bare}


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_links_to_headings_lead_to_headings(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    for page, heading in re.findall(r"\]\((?!https?://)([^)#\s]*)#([^)\s]+)\)", text):
        target = path.parent / page if page else path
        assert heading in anchors(target), f"{named(target)} has no heading {heading}"


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_no_line_of_prose_is_longer_than_an_editor_is_wide(path):
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    long = [line for line in text.splitlines() if len(line) > 120 and not line.lstrip().startswith("|")]
    assert long == []


@pytest.mark.parametrize("path", pages(), ids=named)
def test_tables_of_results_are_those_that_the_kept_rows_make(path):
    text = path.read_text(encoding="utf-8")
    renew = (
        f"`make results` writes tables from docs/rows; `python benchmarks/result_tables.py --read {named(path)}` keeps"
    )
    assert renewed(text) == text, f"{renew} what stands in the page"


def test_kept_rows_say_where_they_come_from_and_stand_in_a_page():
    shown = {name for path in pages() for name, _ in MARKED.findall(path.read_text(encoding="utf-8"))}
    assert shown == {path.stem for path in ROWS.glob("*.json")}
    for name in shown:
        assert all(kept(name)[key] for key in ORIGIN), f"docs/rows/{name}.json lacks one of {ORIGIN}"


def files_named_in(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    return sorted(set(re.findall(r"`((?:[\w.]+/)*[\w.]+\.(?:py|js|json|css|md|toml|cff))`", text)))


@pytest.mark.parametrize("name", files_named_in(ROOT / "docs" / "architecture.md"))
def test_the_map_of_the_code_names_files_that_exist(name):
    homes = [ROOT, *(ROOT / home for home in ("src/moet", "tests", "benchmarks", "docs", "examples"))]
    assert any((home / name).exists() for home in homes) or any(homes[1].rglob(name))


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_the_paper_has_a_name_where_it_is_first_mentioned(path):
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    first = re.search(r"\bthe paper('s)?\b", text, re.I)
    assert first is None or re.search(r"Vasić|MoËT: Mixture of Expert Trees", text[: first.end() + 200]), (
        f"{named(path)} mentions the paper without its name"
    )


@pytest.mark.processes
def test_links_of_the_built_site_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there"></a><a href="b.html#gone"></a><img src="no.png">')
    (tmp_path / "b.html").write_text('<h1 id="there"></h1><a href="https://example.org"></a><a href="a.html?q=1"></a>')
    folder = ROOT / "docs" / "_ext"
    found = run([sys.executable, str(folder / "links.py"), str(tmp_path)])
    assert found.returncode == 1
    assert found.stderr.split("\n")[1:3] == ["a.html: b.html#gone", "a.html: no.png"]
