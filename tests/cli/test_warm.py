"""Kernels compiled before they are needed."""

import pytest

from moet import warm


@pytest.mark.parametrize("name", warm.GROUPS)
def test_each_group_of_kernels_is_used(name):
    warm.GROUPS[name]()


@pytest.mark.processes
def test_groups_are_told_when_they_are_compiled(run, monkeypatch):
    monkeypatch.setattr(warm, "GROUPS", {"agents": warm.agents})
    result = run("warm", "--workers", 1)
    assert result.exit_code == 0
    assert "compiled: agents" in result.stderr
