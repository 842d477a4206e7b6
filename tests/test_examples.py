"""The examples in the docstrings do what they say."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import moet
from tests.public_names import PUBLIC

SOURCE = Path(moet.__file__).parent
WITH_EXAMPLES = sorted(
    "moet." + ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tried = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert tried.failed == 0


def shown():
    for module in PUBLIC:
        package = import_module(module)
        for name in package.__all__:
            thing = getattr(package, name)
            is_error = inspect.isclass(thing) and issubclass(thing, Exception)
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and not is_error:
                yield pytest.param(thing, id=f"{module}.{name}")


@pytest.mark.parametrize("thing", list(shown()))
def test_what_is_public_has_an_example(thing):
    assert "Examples\n--------\n>>> " in inspect.getdoc(thing)


def referred_to(thing):
    """Titles under References in the docstring of a public name."""
    listed = re.search(r"References\n-+\n(.*?)(?:\n\n|\Z)", inspect.getdoc(thing), re.DOTALL)
    return re.findall(r"\*(.+?)\*", " ".join(listed[1].split())) if listed else []


def test_what_docstrings_refer_to_stands_in_the_bibliography():
    page = " ".join((Path(__file__).parents[1] / "docs" / "bibliography.md").read_text(encoding="utf-8").split())
    titles = {title for case in shown() for title in referred_to(case.values[0])}
    assert len(titles) > 10
    assert not {title for title in titles if title.rstrip(".") not in page}
