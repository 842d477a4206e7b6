"""Proofs by paths say who cannot be chosen in few records; the checker believes none of them that is not so."""

from array import array

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.errors import CertificateError
from moet.model.file import digest
from moet.verify import Certificate, Proved, check, safe

from .loops import drifter

OPEN, DEAD, BOTH, VOID, SURE = 0, 1, 2, 6, 7
BEHIND = [3, 6]  # expert 1 is behind expert 0 at time 0, and so is expert 2
FAR = 9 + 2  # the node beyond 2, of the tree of expert 0


def steered() -> Mixture:
    """Expert 0 goes left up to 2, which is always, then right or left; the others, always behind it, go right."""
    value = np.eye(2)[[0, 0, 1, 1, 0]]
    tree = Tree([0, -1, 0, -1, -1], [2.0, 0, 3.0, 0, 0], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], value)
    right = Tree.leaf([0, 1])
    return Mixture([[0.0], [1.0], [0.0]], [0, -5, -4], [tree, right, right], ["left", "right"], feature_names=["x"])


def checked(records: list[tuple[int, list[int]]], number: float = 1.0) -> bool | str:
    """Whether these records prove that one step is safe; else why not."""
    claim = {"model": digest(steered()), "system": drifter("-3 <= x <= 1.5").digest, "name": "drift", "steps": 1}
    certificate = Certificate("safe", claim)
    refs = array("i", [ref for _, names in records for ref in names])
    certificate.add(bytes(kind + 8 * len(names) for kind, names in records), refs, array("d", [number] * len(refs)))
    try:
        return check(certificate, steered(), drifter("-3 <= x <= 1.5"))
    except CertificateError as error:
        return str(error)


def test_names_rule_out_experts_and_nodes():
    names = [*BEHIND, FAR]
    assert checked([(OPEN, names), (OPEN, [])]) is True
    assert checked([(OPEN, names[::-1]), (OPEN, [])]) is True
    assert checked([(OPEN, [*names, FAR, 3]), (OPEN, [])]) is True
    assert checked([(VOID, names[:2]), (OPEN, names[2:]), (OPEN, [])]) is True
    assert checked([(VOID, names), (OPEN, []), (OPEN, [])]) is True
    assert checked([(DEAD, names[:1]), (VOID, []), (DEAD, names[1:2]), (OPEN, names[2:]), (OPEN, [])]) is True


def test_the_search_writes_such_records():
    verdict = safe(steered(), drifter("-3 <= x <= 1.5"), steps=1)
    assert isinstance(verdict, Proved)
    kinds = [(code % 8, code // 8) for codes, _, _ in verdict.certificate._read_blocks() for code in codes]
    assert kinds == [(OPEN, 3), (SURE, 0)]


@pytest.mark.parametrize("kind", [VOID, DEAD, OPEN])
@pytest.mark.parametrize("name", [*range(3), 4, 5, *range(7, 11), 12, 14, 15, 16, -1, -3, 2**31 - 1, -(2**31)])
def test_a_name_of_somebody_who_may_be_there_or_of_nobody_is_refused(kind, name):
    """Expert 0 is behind nobody, 2 not behind 1 everywhere; of the nodes 9 to 15 three are roots."""
    reason = str(checked([(kind, [name]), *[(OPEN, [])] * 5]))
    expected = ("nobody can be called", "somebody may be", "do not add up to a contradiction", "does not exist yet")
    assert any(part in reason for part in expected)


def test_whoever_is_not_ruled_out_is_followed():
    assert checked([(OPEN, BEHIND), (OPEN, []), (OPEN, [])]) is not True  # who goes right may get to 2
    assert checked([(OPEN, [BEHIND[0], FAR]), (OPEN, [])]) is not True
    assert checked([(OPEN, [*BEHIND, FAR]), (OPEN, []), (OPEN, [])]) is not True
    assert checked([(VOID, [*BEHIND, FAR]), (OPEN, [])]) is not True


@pytest.mark.parametrize("number", [0.0, 0.5, 2.0, 5e-324])
def test_names_of_many_have_the_multiplier_1(number):
    assert checked([(OPEN, [*BEHIND, FAR]), (OPEN, [])], number) is not True
    assert checked([(VOID, [*BEHIND, FAR]), (OPEN, []), (OPEN, [])], number) is not True


@pytest.mark.parametrize("number", [0.5, 2.0, 3.0])
def test_the_row_of_one_name_may_be_taken_as_often_as_one_likes(number):
    dead = [(DEAD, [name]) for name in (*BEHIND, FAR)]
    assert checked([*dead, (OPEN, []), (OPEN, [])], number) is True
    assert checked([*dead, (OPEN, []), (OPEN, [])], 0.0) is not True
    assert checked([(DEAD, []), *dead, (OPEN, []), (OPEN, [])]) is not True


def test_a_name_said_many_times_takes_no_time():
    """No list of names is looked through for every node, or for every name."""
    names = [*BEHIND, *[FAR] * 31]
    many = [(VOID, names[i : i + 31]) for i in range(0, len(names), 31)] * 2000
    assert checked([*many, (OPEN, []), (OPEN, [])]) is True


@pytest.mark.parametrize("kind", [3, 4, 5, 7, BOTH])
def test_other_kinds_are_refused_where_names_are_due(kind):
    assert checked([(kind, []), (OPEN, [*BEHIND, FAR]), (OPEN, [])]) is not True


def test_more_names_than_a_record_can_hold_are_written_in_several():
    """Forty experts behind the first one."""
    leaves = [Tree.leaf([1, 0]), *[Tree.leaf([0, 1])] * 40]
    model = Mixture([[0.0]] * 41, [0.0] + [-1.0] * 40, leaves, ["left", "right"], feature_names=["x"])
    verdict = safe(model, drifter("-9 <= x <= 1.5"), steps=2)
    assert verdict.checked
    codes = b"".join(codes for codes, _, _ in verdict.certificate._read_blocks())
    assert VOID + 8 * 31 in codes
    assert OPEN + 8 * 9 in codes
