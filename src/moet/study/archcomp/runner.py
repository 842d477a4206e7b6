"""``moet bench archcomp``: controllers simulated beside the published networks, proved, and told in a table."""

from __future__ import annotations

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
    search, check : float or None
        Seconds to find the proof and to check it.
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
    search: float | None
    check: float | None
    size: int | None
    cora: float | None


def question(instance: Instance, **limits: Any) -> verify.Verdict:
    """Ask whether the controller meets its demands from all first states."""
    if instance.steps is None:
        return verify.safe(instance.controller, instance.plant, steps=None, **limits)
    return verify.meets(instance.controller, instance.plant, instance.spec, **limits)


def results(
    names: Sequence[str] = (), *, runs: int = RUNS, seed: int = 0, keep: Path | None = None, **limits: Any
) -> Iterator[Row]:
    """Results of these instances, of all by default; certificates, plants and controllers are written to ``keep``."""
    for instance in [find(name) for name in names] or INSTANCES.values():
        verdict = question(instance, **limits)
        if keep is not None and verdict:
            _write(instance, verdict, keep)
        yield _row(instance, verdict, runs, seed)


def _row(instance: Instance, verdict: verify.Verdict, runs: int, seed: int) -> Row:
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
        verdict.effort.get("search_seconds", verdict.effort.get("seconds")),
        verdict.effort.get("check_seconds"),
        None if certificate is None else certificate.n_bytes,
        instance.cora,
    )


def _write(instance: Instance, verdict: verify.Verdict, folder: Path) -> None:
    from moet import save

    folder.mkdir(parents=True, exist_ok=True)
    getattr(verdict, "certificate").save(folder / f"{instance.name}.cert")  # noqa: B009 (only Proved has one)
    save(instance.controller, folder / f"{instance.name}.moet.json")
    verify.systems.save(instance.plant, folder / f"{instance.name}.system.json")


def checked_again(name: str, folder: Path) -> None:
    """Check what :func:`results` wrote of an instance, from the files alone; raises CertificateError if it is wrong."""
    from moet.verify.checking import checked_claim

    certificate = verify.Certificate.load(folder / f"{name}.cert")
    checked_claim(certificate, str(folder / f"{name}.moet.json"), str(folder / f"{name}.system.json"))


def table(rows: Sequence[Row]) -> Table:
    """Results for people."""
    columns = [
        Column("instance"),
        Column("controller"),
        Column("numbers"),
        Column("margin of the network", 4),
        Column("its margin", 4),
        Column("verdict"),
        Column("search s", 2),
        Column("check s", 2),
        Column("certificate kB", 1),
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
            row.search,
            row.check,
            None if row.size is None else row.size / 1000,
            row.cora,
        )
        for row in rows
    ]
    return Table("archcomp", "Plants in continuous time, proved from the whole set of first states", columns, cells)
