"""Chains of sets: one leads to the next in a few steps each, and the certificate that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.file import digest
from moet.verify.checker.certificate import Certificate
from moet.verify.limits import Progress, Stopped
from moet.verify.loops.sets.enclosures import Enclosure, Enclosures
from moet.verify.loops.sets.post import Image, Post
from moet.verify.systems.system import System

Floats = NDArray[np.float64]


class Block(NamedTuple):
    """A set, the number of steps taken from it, with which enclosure of a step, and where they lead."""

    family: Floats
    n_steps: int
    enclosure: Enclosure
    image: Image

    def described(self) -> dict[str, Any]:
        """What a certificate says of it, besides the enclosure."""
        widest = np.stack([self.enclosure.top, -self.enclosure.bottom], axis=1).ravel()
        watch = self.image.watch.copy()
        watch[: len(widest)] = np.where(np.isfinite(watch[: len(widest)]), watch[: len(widest)], widest)
        return {
            "steps": self.n_steps,
            "watch": np.where(np.isfinite(watch), watch, np.finfo(float).min).tolist(),
            "set": [cell.tolist() if np.all(np.isfinite(cell)) else None for cell in self.image.family],
        }


@dataclass
class Propagation:
    """A closed loop, sets of one template, and enclosures of its step."""

    post: Post
    enclosures: Enclosures

    def advance(self, family: Floats, n_steps: int) -> Block:
        """Find where a family leads, with an enclosure of a step that holds wherever the runs get on the way."""
        low, high = self.post.box(family)
        enclosure = self.enclosures.around(low, high)
        while enclosure is not None:
            image = self.post.grow(family, enclosure, n_steps)
            if np.any(image.watch[2 * len(low) :] > self.post.watch_bounds):
                break
            low, high = self.post.box(family, image.watch)
            if np.all(enclosure.bottom <= low) and np.all(high <= enclosure.top):
                return Block(family, n_steps, enclosure, image)
            enclosure = self.enclosures.around(low, high)
        beyond = self._outgrown(low, high)
        raise Stopped(f"the sets that were found are too large: they leave the safe set or the domain ({beyond})")

    def _outgrown(self, low: Floats, high: Floats) -> str:
        """Which states may be beyond their limits, and where."""
        least, most = self.enclosures.least, self.enclosures.most
        beyond = [
            f"{name} may reach {value:.4g}, beyond {limit:.4g}"
            for name, *sides in zip(self.post.system.states, low, least, high, most, strict=True)
            for value, limit, sign in ((sides[0], sides[1], -1), (sides[2], sides[3], 1))
            if sign * value > sign * limit
        ]
        return "; ".join(beyond) if beyond else "they break a condition of several states of the safe set"

    def chain(self, n_steps: int, length: int, report: Progress) -> list[Block]:
        """Follow the first states for some steps, ``length`` of them in a block."""
        blocks: list[Block] = []
        family = self.post.initial
        for done in range(0, n_steps, length):
            report(done / n_steps, f"step {done} of {n_steps}")
            blocks.append(self.advance(family, min(length, n_steps - done)))
            family = blocks[-1].image.family
        return blocks

    def certificate(self, blocks: list[Block], steps: int | None) -> Certificate:
        """Proof that each block leads to the family of the next; the last one to its own if ``steps`` is None."""
        enclosures: list[Enclosure] = []
        described = []
        for block in blocks:
            known = [i for i, enclosure in enumerate(enclosures) if enclosure is block.enclosure]
            if not known:
                enclosures.append(block.enclosure)
            described.append({"enclosure": known[0] if known else len(enclosures) - 1, **block.described()})
        template, system = self.post.template, self.post.system
        claim = {
            "steps": steps,
            "model": digest(self.post.mixture),
            "system": system.digest,
            "slice": template.slice.tolist(),
            "edges": template.edges.tolist(),
            "directions": template.directions.tolist(),
            "enclosures": [plain_enclosure(enclosure) for enclosure in enclosures],
            "blocks": described,
        }
        certificate = Certificate("invariant" if steps is None else "blocks", claim)
        for block in blocks:
            if not self.post.prove(block.family, block.enclosure, block.n_steps, block.image, certificate):
                raise Stopped("a claim that holds in floats could not be proved with a margin")
        return certificate


def proven_ranges(certificate: Certificate, system: System) -> dict[str, tuple[float, float]]:
    """Least and largest value of every state in any run, as a certificate of blocks or of an invariant proves them.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.verify import safe, systems
    >>> tank = systems.AffineSystem(
    ...     "tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]], offsets=[["0"], ["0.5"]],
    ...     initial={"level": (1, 2)}, safe=["0.5 <= level <= 4"],
    ... )
    >>> leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    >>> valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    >>> from moet.verify import proven_ranges
    >>> low, high = proven_ranges(safe(valve, tank, steps=None).certificate, tank)["level"]
    >>> 0.5 <= low < high <= 4
    True
    """
    if certificate.kind not in ("blocks", "invariant"):
        raise InputError(f"a certificate of kind {certificate.kind!r} does not state ranges")
    most = np.max([block["watch"][: 2 * system.n_states] for block in certificate.claim["blocks"]], axis=0)
    first = np.array([[float(high), -float(low)] for low, high in system.initial]).ravel()
    most = np.maximum(most, first)
    return {name: (float(-most[2 * k + 1]), float(most[2 * k])) for k, name in enumerate(system.states)}


def plain_enclosure(enclosure: Enclosure) -> dict[str, Any]:
    """What a certificate says of an enclosure."""
    return {name: value if name == "variable" else value.tolist() for name, value in enclosure._asdict().items()}
