"""The package as a newcomer meets it."""

import ast
import difflib
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import moet
from tests.processes import run
from tests.public_names import KEPT, public_names


def run_python(code: str) -> str:
    return run([sys.executable, "-c", code], check=True).stdout.strip()


def test_version_matches_the_metadata():
    assert moet.__version__ == version("moet")


@pytest.mark.parametrize("name", moet.__all__)
def test_public_names_load(name):
    assert getattr(moet, name) is not None
    assert name in dir(moet)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'MoETRanker'"):
        moet.MoETRanker  # noqa: B018


@pytest.mark.processes
def test_import_is_light():
    heavy = "{'numpy', 'numba', 'sklearn', 'pandas', 'rich', 'typer'}"
    assert run_python(f"import sys, moet; print(sorted({heavy} & set(sys.modules)))") == "[]"


@pytest.mark.processes
def test_models_are_read_and_shown_without_compiled_code():
    heavy = "{'numba', 'sklearn', 'matplotlib', 'gymnasium'}"
    shown = "import sys; from moet.explain import rules; from moet.model.file import as_model"
    assert run_python(f"{shown}; print(sorted({heavy} & set(sys.modules)))") == "[]"


@pytest.mark.processes
def test_subpackages_import_by_name():
    assert run_python("from moet import explain; print(callable(explain.rules))") == "True"


def test_the_public_signatures_are_those_that_were_agreed_on():
    kept, now = KEPT.read_text(encoding="utf-8").splitlines(), public_names().splitlines()
    changed = "\n".join(difflib.unified_diff(kept, now, "kept", "now", lineterm="", n=0))
    assert not changed, (
        f"public names changed:\n{changed}\n"
        "If that is meant: python tests/public_names.py --write, and a line in CHANGELOG.md"
    )


def test_no_module_is_named_like_a_function_that_it_holds():
    """Where one is, ``package.name`` is the one or the other, by who was imported first. A command is its module."""
    source = Path(moet.__file__).parent
    held = [
        path.relative_to(source)
        for path in source.rglob("*.py")
        if "cli" not in path.parts
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == path.stem
    ]
    assert held == []
