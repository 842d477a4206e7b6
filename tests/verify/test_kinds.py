"""Every kind of certificate has its place: in the map of the engines, in the format, in words, and in the attack."""

import re
from pathlib import Path

import pytest

from moet.verify.checker.rows.claims import ROW_KINDS
from moet.verify.checker.subjects import ABOUT_MODELS, ABOUT_OUTPUTS, BY_FLOWPIPES, BY_PATHS, BY_SETS

ROOT = Path(__file__).parents[2]
KINDS = [*ABOUT_MODELS, *ABOUT_OUTPUTS, *ROW_KINDS, *BY_PATHS, *BY_SETS, *BY_FLOWPIPES]


def table_of_the_map() -> list[list[str]]:
    """Cells of the map from questions to checkers."""
    text = (ROOT / "docs/architecture.md").read_text()
    rows = re.search(r"\| question \| search \|.*?\n\n", text, re.DOTALL)[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_certificate_is_in_the_map_and_in_the_format(kind):
    assert any(f"`{kind}`" in row[2] for row in table_of_the_map())
    format_of_certificates = (ROOT / "docs/certificate-format.md").read_text()
    described = rf"^\| `{kind}` \||claim of kind `{kind}` is"
    assert re.search(described, format_of_certificates, re.MULTILINE), f"docs/certificate-format.md lacks {kind}"


def test_the_map_names_files_that_exist():
    folders = ["", ""]  # those of "the same" are those of the row before
    for question, *cells in ([row[0], row[1], row[3]] for row in table_of_the_map()):
        for i, cell in enumerate(cells):
            for name in re.findall(r"`([\w/]+(?:\.py|/))`", cell):
                folders[i] = name.rpartition("/")[0] if "/" in name else folders[i]
                path = f"{folders[i]}/{name.rpartition('/')[2]}"
                base = ROOT / "src/moet" / ("" if path.startswith("shield/") else "verify")
                assert (base / path).exists(), f"{question}: there is no {path}"


def test_the_attack_forges_proofs_of_every_kind():
    pytest.importorskip("mpmath")
    pytest.importorskip("z3")
    from attack import forgeries, plants, rows, shields

    forged = {proof.kind for part in (forgeries, plants, rows) for proof in part.proofs()}
    assert forged | {proof.kind for proof in shields.shields()} == set(KINDS)
