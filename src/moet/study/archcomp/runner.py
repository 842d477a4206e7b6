"""``moet bench archcomp``: controllers simulated beside the published networks, proved, and told in a table."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moet import verify
from moet.study.archcomp.catalog import INSTANCES, find
from moet.study.archcomp.instance import Instance
from moet.study.archcomp.simulate import attack
from moet.study.tables import Column, Table

RUNS = 1_000
"""Simulated runs of a controller, and of a network, unless more are asked for."""


@dataclass(frozen=True)
class Row:
    """What came out of one instance.

    Attributes
    ----------
    name, title, origin : str
    experts, numbers : int
        Size of the controller.
    network, controller : float or None
        Least margin of simulated runs: how far they stay from breaking a demand; None without a network.
    verdict : str
        ``"proved"``, ``"refuted"`` or ``"unknown"``, of the whole initial set.
    reason : str
        Why nothing is known, if so.
    decide : float
        Seconds of CPU time to find a proof and to check it.
    check : float or None
        Seconds of CPU time to check it again, from files; None if nobody asked.
    size : int or None
        Bytes of the certificate.
    cora : float or None
        Seconds that CORA took for the published network, on another machine.
    """

    name: str
    title: str
    origin: str
    experts: int
    numbers: int
    network: float | None
    controller: float
    verdict: str
    reason: str
    decide: float
    check: float | None
    size: int | None
    cora: float | None


def question(instance: Instance, **limits: Any) -> verify.Verdict:
    """Ask whether the controller meets its demands from all first states."""
    if instance.steps is None:
        return verify.safe(instance.controller, instance.plant, steps=None, **limits)
    return verify.meets(instance.controller, instance.plant, instance.spec, **limits)


def results(
    names: Sequence[str] = (),
    *,
    runs: int = RUNS,
    seed: int = 0,
    keep: Path | None = None,
    check: bool = False,
    **limits: Any,
) -> Iterator[Row]:
    """Results of these instances, of all by default.

    Certificates, plants and controllers are written to ``keep``; with ``check``, proofs are checked again from there.
    """
    with tempfile.TemporaryDirectory() as unkept:
        folder = keep or Path(unkept)
        for instance in [find(name) for name in names] or INSTANCES.values():
            started = time.process_time()
            verdict = question(instance, **limits)
            decide, again = time.process_time() - started, None
            if verdict:
                _write(instance, verdict, folder)
                again = _checked_again(instance.name, folder) if check else None
            yield _row(instance, verdict, runs, seed, decide, again)


def _row(instance: Instance, verdict: verify.Verdict, runs: int, seed: int, decide: float, check: float | None) -> Row:
    network, controller = instance.network, instance.controller
    known = network is not None and network.path is not None
    certificate = getattr(verdict, "certificate", None)
    return Row(
        instance.name,
        instance.title,
        instance.origin,
        controller.n_experts,
        controller.n_numbers,
        attack(instance, network, runs, seed) if known and network is not None else None,
        attack(instance, controller, runs, seed),
        type(verdict).__name__.lower(),
        getattr(verdict, "reason", ""),
        decide,
        check,
        None if certificate is None else certificate.n_bytes,
        instance.cora,
    )


def _write(instance: Instance, verdict: verify.Verdict, folder: Path) -> None:
    from moet import save

    folder.mkdir(parents=True, exist_ok=True)
    getattr(verdict, "certificate").save(folder / f"{instance.name}.cert")  # noqa: B009 (only Proved has one)
    save(instance.controller, folder / f"{instance.name}.moet.json")
    verify.systems.save(instance.plant, folder / f"{instance.name}.system.json")


def _checked_again(name: str, folder: Path) -> float:
    """Check what was written of an instance, from the files alone: CPU seconds, or a CertificateError."""
    from moet.verify.checking import checked_claim

    started = time.process_time()
    certificate = verify.Certificate.load(folder / f"{name}.cert")
    checked_claim(certificate, str(folder / f"{name}.moet.json"), str(folder / f"{name}.system.json"))
    return time.process_time() - started


def table(rows: Sequence[Row]) -> Table:
    """Results for people."""
    columns = [
        Column("instance"),
        Column("controller"),
        Column("numbers"),
        Column("margin of the network", 4),
        Column("margin of the controller", 4),
        Column("verdict"),
        Column("decided, CPU s", 2),
        Column("checked again, CPU s", 2),
        Column("certificate, bytes"),
        Column("CORA s (network, another machine)", 2),
    ]
    cells = [
        (
            row.title,
            row.origin,
            row.numbers,
            row.network,
            row.controller,
            row.verdict,
            row.decide,
            row.check,
            row.size,
            row.cora,
        )
        for row in rows
    ]
    return Table("archcomp", "Plants in continuous time, proved from the whole set of first states", columns, cells)
