"""The examples in the docstrings do what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import moet

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


def test_the_parts_that_people_meet_first_have_examples():
    first = {
        "moet.model.digits",
        "moet.model.mixture",
        "moet.explain.rule_lists",
        "moet.distill.viper",
        "moet.distill.policy",
    }
    assert first <= set(WITH_EXAMPLES)
