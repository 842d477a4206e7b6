"""The package as a newcomer meets it."""

import sys
from importlib.metadata import version

import pytest

import moet
from tests.processes import run


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
def test_subpackages_import_by_name():
    assert run_python("from moet import explain; print(callable(explain.rules))") == "True"
