"""Kernels compiled before they are needed."""

import sys

import pytest

from moet import precompile
from tests.processes import descendants, started, stopped, wait_until


@pytest.mark.parametrize("name", precompile.GROUPS)
def test_each_group_of_kernels_is_used(name):
    precompile.GROUPS[name]()


@pytest.mark.processes
def test_groups_are_told_when_they_are_compiled(run, monkeypatch):
    monkeypatch.setattr(precompile, "GROUPS", {"agents": precompile.agents})
    result = run("warm", "--workers", 1)
    assert result.exit_code == 0
    assert "compiled: agents" in result.stderr


@pytest.mark.processes
def test_an_interrupt_ends_those_that_compile():
    with started([sys.executable, "-m", "moet", "warm", "--workers", 1]) as process:
        wait_until(lambda: len(descendants(process.pid)) > 1)  # one of them only keeps count of the others
        _, said = stopped(process)
        assert process.returncode == 130
        assert "Traceback" not in said.split("moet: interrupted")[0]
        assert descendants(process.pid) == []
