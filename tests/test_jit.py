"""What happens while kernels are compiled."""

import ast
import gc
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest
from numba.core.caching import IndexDataCacheFile

import moet
from moet.jit import _Compiling


def compiling(module):
    """The event that numba sends when it starts, or ends, compiling a function of a module."""
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})


OURS, THEIRS = compiling("moet.model.grow"), compiling("somebody.else")


@pytest.fixture(params=[True, False])
def collects(request):
    """Whether the user's program collects garbage."""
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_no_garbage_is_collected_while_our_kernels_are_compiled(collects):
    listener = _Compiling()
    listener.on_start(OURS)
    listener.on_start(OURS)  # one that the first one calls
    listener.on_end(OURS)
    assert not gc.isenabled()
    listener.on_end(OURS)
    assert gc.isenabled() == collects


def test_other_kernels_are_none_of_our_business(collects, capsys):
    listener = _Compiling()
    listener.on_start(THEIRS)
    assert gc.isenabled() == collects
    listener.on_end(THEIRS)
    assert capsys.readouterr().err == ""


def test_a_function_of_no_module_is_not_ours(capsys):
    """Source that was made by a program and executed has no module."""
    listener = _Compiling()
    listener.on_start(compiling(None))
    listener.on_end(compiling(None))
    assert capsys.readouterr().err == ""


def test_compiling_is_announced_once(capsys):
    listener = _Compiling()
    for _ in range(2):
        listener.on_start(OURS)
        listener.on_end(OURS)
    assert capsys.readouterr().err.count("compiling kernels") == 1


def test_the_clock_stands_still_while_kernels_are_compiled(monkeypatch):
    now = 100.0
    monkeypatch.setattr("moet.jit.time.perf_counter", lambda: now)
    listener = _Compiling()
    begin = now - listener.seconds()
    listener.on_start(OURS)
    now = 130.0
    listener.on_start(OURS)
    assert (now - listener.seconds()) == begin
    listener.on_end(OURS)
    listener.on_end(OURS)
    assert (now - listener.seconds()) == begin
    now = 132.0
    assert (now - listener.seconds()) == begin + 2.0


def test_waiting_for_other_processes_while_kernels_are_compiled_is_no_cpu_time_of_compiling(monkeypatch):
    spent = 1.0
    monkeypatch.setattr("moet.jit.cpu_clock_of_this_thread", lambda start=spent: lambda: spent - start)
    listener = _Compiling()
    listener.on_start(OURS)
    spent = 3.0
    assert listener.cpu_seconds() == 2.0
    listener.on_end(OURS)
    spent = 9.0
    assert listener.cpu_seconds() == 2.0


def test_kernels_of_an_older_version_whose_classes_are_gone_are_compiled_again(tmp_path):
    cache = IndexDataCacheFile(str(tmp_path), "kernel", (0, 0))
    names_a_class_that_is_gone = b"cmoet.jit\nGone\n."
    (tmp_path / "kernel.nbi").write_bytes(pickle.dumps(cache._version) + names_a_class_that_is_gone)
    assert cache.load("signature") is None
    cache.save("signature", "compiled")
    assert cache.load("signature") == "compiled"


MOST_ARGUMENTS = 10
"""More than a reader can keep in order; what belongs together is a typed tuple."""


def kernels():
    """Every compiled function of the package: its place, its name, and how many arguments it takes by position."""
    for path in sorted(Path(moet.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and any("njit" in ast.unparse(d) for d in node.decorator_list):
                yield path.name, node.name, len(node.args.posonlyargs) + len(node.args.args)


def test_no_kernel_takes_more_arguments_by_position_than_a_reader_can_keep_in_order():
    found = list(kernels())
    assert len(found) > 100
    assert [kernel for kernel in found if kernel[2] > MOST_ARGUMENTS] == []
