"""The container of a proof: what is claimed, and the records an independent checker needs to confirm it.

Standard library only, for the checker reads certificates with it. A certificate file is

- a line ``moet-certificate 2`` and a line of JSON: the kind of proof and its claim,
- blocks of records: four little-endian 32-bit counts (codes, references, numbers, bytes that follow), then that many
  bytes: zlib-compressed codes (one byte each), references (32-bit integers) and numbers (float64),
- a block of zeros, and the SHA-256 of everything before it.

What the records mean is a matter of the kind; usually a code says what comes next and how many multipliers it has, and
a multiplier is a reference (to a constraint) and a number.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
import sys
import tempfile
import weakref
import zlib
from array import array
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import IO, Any

from moet.errors import CertificateError
from moet.files import written_whole
from moet.verify.checker.documents.reading import MOST_BYTES, members, parse
from moet.verify.checker.meter import Meter

MAGIC = b"moet-certificate 2\n"
IN_MEMORY = 32 * 2**20
"""Bytes of records that are kept in memory; longer proofs wait in a temporary file."""

_COUNTS = struct.Struct("<IIII")
_SIZES = (1, 4, 8)
_WAITING = 2**20
"""Bytes of records that are packed into one block."""
_LARGEST_BLOCK = 2**26
"""Bytes of one block, packed or not."""
_AT_ONCE = 256
"""Records that are charged together."""

Multipliers = list[tuple[int, float]]
"""References with their numbers."""


class Certificate:
    """A claim and the records that prove it.

    Parameters
    ----------
    kind : str
        Which proof system the records belong to, such as ``"safe"``.
    claim : dict
        What is claimed, about which model and system: plain JSON.

    Examples
    --------
    >>> certificate = Certificate("always", {"answers": [1]})
    >>> certificate.add(codes=bytes([3, 0]), refs=array("i", [7]), numbers=array("d", [0.5]))
    >>> records = certificate.records()
    >>> records.code(), records.multipliers(1), records.code(), records.finish()
    (3, [(7, 0.5)], 0, None)
    """

    def __init__(self, kind: str, claim: dict[str, Any]) -> None:
        self.kind = kind
        self.claim = claim
        self._waiting: list[list[bytes]] = []
        self._n_waiting = 0

    def add(self, codes: Any, refs: Any = b"", numbers: Any = b"") -> None:
        """Append records, as buffers of this machine: codes of 8, references of 32 and numbers of 64 bits."""
        parts = [memoryview(part).cast("B") for part in (codes, refs, numbers)]
        if not any(parts):
            return
        self._waiting.append([bytes(part) for part in parts])
        self._n_waiting += sum(map(len, parts))
        if self._n_waiting > _WAITING:
            self._pack()

    def append(self, other: Certificate) -> None:
        """Append the records of another certificate."""
        for codes, refs, numbers in other._read_blocks():
            self.add(codes, refs, numbers)

    @cached_property
    def _blocks(self) -> IO[bytes]:
        """The packed blocks; made when they are needed, for the shortest proofs are found in less time."""
        blocks: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        weakref.finalize(self, blocks.close)
        return blocks

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have blocks of their own: those of the original are closed when it is gone."""
        blocks = self._pack()
        blocks.seek(0)
        return _with_blocks, (self.kind, self.claim, blocks.read())

    def _pack(self) -> IO[bytes]:
        """Pack what has been added, and return all blocks."""
        self._blocks.seek(0, os.SEEK_END)
        if self._waiting:
            parts = [b"".join(same) for same in zip(*self._waiting, strict=True)]
            content = b"".join(_little_endian(part, size) for part, size in zip(parts, _SIZES, strict=True))
            packed = zlib.compress(content, 1)
            counts = [len(part) // size for part, size in zip(parts, _SIZES, strict=True)]
            self._blocks.write(_COUNTS.pack(*counts, len(packed)))
            self._blocks.write(packed)
            self._waiting, self._n_waiting = [], 0
        return self._blocks

    def records(self, meter: Meter | None = None) -> Records:
        """Read the records from the beginning; ``meter`` counts what that takes."""
        return Records(self._read_blocks(), meter or Meter())

    def claiming(self, kind: str, claim: dict[str, Any]) -> Certificate:
        """The same records for another claim, which they may or may not prove."""
        other = Certificate(kind, claim)
        for records in self._read_blocks():
            other.add(*records)
        return other

    @property
    def digest(self) -> str:
        """SHA-256 of the certificate, which stands at the end of its file."""
        content = hashlib.sha256()
        for part in self._parts():
            content.update(part)
        return content.hexdigest()

    @property
    def n_bytes(self) -> int:
        """Size of the records, as they are stored."""
        return self._pack().tell()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a file, all of it or nothing."""
        try:
            with written_whole(path) as unfinished, open(unfinished, "xb") as file:
                digest = hashlib.sha256()
                for part in self._parts():
                    digest.update(part)
                    file.write(part)
                file.write(digest.digest())
        except (OSError, ValueError) as error:
            raise CertificateError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate file; damaged and foreign files are refused."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise CertificateError("it is not a file")
            with open(path, "rb") as file:
                return cls.read(file)
        except CertificateError as error:
            raise CertificateError(f"{path!s}: {error}") from None
        except (OSError, ValueError, MemoryError) as error:
            raise CertificateError(f"cannot read {path!s}: {getattr(error, 'strerror', None) or error}") from None

    def content(self) -> bytes:
        """The bytes of its file."""
        content = b"".join(self._parts())
        return content + hashlib.sha256(content).digest()

    def __repr__(self) -> str:
        return f"Certificate({self.kind!r}, {self.n_bytes} bytes)"

    def _parts(self) -> Iterator[bytes]:
        header = json.dumps({"kind": self.kind, "claim": self.claim}, allow_nan=False)
        yield MAGIC + header.encode("ascii") + b"\n"
        self._pack().seek(0)
        while part := self._blocks.read(2**20):
            yield part
        yield _COUNTS.pack(0, 0, 0, 0)

    @classmethod
    def read(cls, file: IO[bytes]) -> Certificate:
        """Read a certificate from an open file."""
        digest = hashlib.sha256()

        def take(size: int) -> bytes:
            part = file.read(size)
            if len(part) != size:
                raise CertificateError("the file is cut short")
            digest.update(part)
            return part

        if file.read(len(MAGIC)) != MAGIC:
            raise CertificateError("not a certificate that this version reads")
        digest.update(MAGIC)
        line = file.readline(MOST_BYTES + 1)
        if len(line) > MOST_BYTES:
            raise CertificateError(f"the header has more than {MOST_BYTES} bytes")
        digest.update(line)
        certificate = cls(*_parse_header(line))
        while any(counts := take(_COUNTS.size)):
            length = _COUNTS.unpack(counts)[3]
            if not 0 < length <= _LARGEST_BLOCK:
                raise CertificateError(f"a block claims {length} bytes")
            certificate._blocks.write(counts + take(length))
        if file.read(digest.digest_size + 1) != digest.digest():
            raise CertificateError("the file is damaged: its checksum does not match")
        return certificate

    def _read_blocks(self) -> Iterator[tuple[bytes, array[int], array[float]]]:
        if "_blocks" not in self.__dict__:  # short, and not packed yet
            parts = [b"".join(same) for same in zip(*self._waiting, strict=True)]
            if parts:
                yield parts[0], array("i", parts[1]), array("d", parts[2])
            return
        position = 0
        while True:
            self._pack().seek(position)
            counts = self._blocks.read(_COUNTS.size)
            if not counts:
                return
            *lengths, length = _COUNTS.unpack(counts)
            sizes = [count * size for count, size in zip(lengths, _SIZES, strict=True)]
            if sum(sizes) > _LARGEST_BLOCK:
                raise CertificateError(f"a block claims {sum(sizes)} bytes")
            content = _unpack(self._blocks.read(length), sum(sizes))
            position += _COUNTS.size + length
            codes = content[: sizes[0]]
            refs = _native_array("i", content[sizes[0] : sizes[0] + sizes[1]])
            yield codes, refs, _native_array("d", content[sizes[0] + sizes[1] :])


class Records:
    """Records in the order in which they were added. Reading past the end is an error, not silence.

    Every code and every multiplier costs work, as much as :meth:`charge` said last.
    """

    def __init__(self, blocks: Iterator[tuple[bytes, array[int], array[float]]], meter: Meter) -> None:
        self.meter = meter
        self._per_code = self._per_multiplier = 1
        self._blocks = blocks
        self._codes: Iterator[int] = iter(())
        self._taken: Iterator[int] = iter(())
        self._refs: Iterator[int] = iter(())
        self._numbers: Iterator[float] = iter(())
        self._pairs = zip(self._refs, self._numbers, strict=False)
        self._are_multipliers = False

    def charge(self, per_code: int, per_multiplier: int) -> None:
        """Say what the reader of the records does with each of them, in units of the meter."""
        self._per_code, self._per_multiplier = per_code, per_multiplier

    def code(self) -> int:
        """Next code."""
        self.meter.spend(self._per_code)
        for code in self._codes:
            return code
        return self._first_of_next_block()

    def in_turn(self) -> Iterator[tuple[int, Multipliers]]:
        """Kind and multipliers of one record after the other, whose codes are kind + 8·n with n multipliers.

        They are charged some at a time, before any of them is given. Past the end is an error.
        """
        while True:
            some = bytes(islice(self._codes, _AT_ONCE)) or bytes([self._first_of_next_block()])
            self.meter.spend(len(some) * self._per_code + sum(code >> 3 for code in some) * self._per_multiplier)
            self._taken = iter(some)
            for code in self._taken:
                yield code & 7, self._pairs_of(code >> 3) if code > 7 else []

    def refs(self, count: int) -> list[int]:
        """Next references."""
        self.meter.spend(count)
        return [self._ref() for _ in range(count)]

    def numbers(self, count: int) -> list[float]:
        """Next numbers, all of them finite."""
        return [self._number() for _ in range(count)]

    def multipliers(self, count: int) -> Multipliers:
        """Next references with their numbers, none of them negative."""
        self.meter.spend(count * self._per_multiplier)
        return self._pairs_of(count)

    def _pairs_of(self, count: int) -> Multipliers:
        pairs = list(islice(self._pairs, count))
        if len(pairs) < count:
            raise CertificateError("a multiplier is missing")
        if not self._are_multipliers:
            for _, number in pairs:
                if not 0.0 <= number < math.inf:
                    raise CertificateError(f"a multiplier is {number}")
        return pairs

    def finish(self) -> None:
        """Complain if anything is left."""
        left = (self._taken, self._codes, self._refs, self._numbers)
        if any(True for part in left for _ in part) or any(self._blocks):
            raise CertificateError("the certificate goes on after the end of the proof")

    def _ref(self) -> int:
        for ref in self._refs:
            return ref
        raise CertificateError("a reference is missing")

    def _number(self) -> float:
        for number in self._numbers:
            if not math.isfinite(number):
                raise CertificateError(f"a number is {number}")
            return number
        raise CertificateError("a number is missing")

    def _first_of_next_block(self) -> int:
        """First code of the next block that has one."""
        while True:
            if any(True for part in (self._refs, self._numbers) for _ in part):
                raise CertificateError("a block has more references or numbers than its codes call for")
            self.meter.spend(1)
            try:
                codes, refs, numbers = next(self._blocks)
            except StopIteration:
                raise CertificateError("the certificate ends before the proof does") from None
            self._codes, self._refs, self._numbers = iter(codes), iter(refs), iter(numbers)
            self._pairs = zip(self._refs, self._numbers, strict=False)
            self._are_multipliers = all(map(math.isfinite, numbers)) and min(numbers, default=0.0) >= 0.0
            for code in self._codes:
                return code


def _parse_header(line: bytes) -> tuple[str, dict[str, Any]]:
    header = members(parse(line), "the header", ("kind", "claim"))
    kind, claim = header["kind"], header["claim"]
    if not isinstance(kind, str) or not isinstance(claim, dict):
        raise CertificateError("the header is damaged")
    return kind, claim


def _unpack(packed: bytes, size: int) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(packed, max_length=size + 1)
    except zlib.error as error:
        raise CertificateError(f"a block is damaged: {error}") from None
    if len(content) != size or not unpacker.eof or unpacker.unused_data:
        raise CertificateError("a block is not as long as it claims")
    return content


def _native_array(kind: str, content: bytes) -> array[Any]:
    values = array(kind)
    values.frombytes(content)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _little_endian(part: bytes, size: int) -> bytes:
    if sys.byteorder == "little" or size == 1:
        return part
    values = array({4: "i", 8: "d"}[size], part)
    values.byteswap()
    return values.tobytes()


def _with_blocks(kind: str, claim: dict[str, Any], blocks: bytes) -> Certificate:
    """A certificate from its packed records."""
    certificate = Certificate(kind, claim)
    certificate._blocks.write(blocks)
    return certificate
