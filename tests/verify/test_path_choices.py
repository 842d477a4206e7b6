"""Proofs by paths say who cannot be chosen in few records; the checker believes none of them that is not so."""

from array import array

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.errors import CertificateError
from moet.model.file import digest
from moet.verify import Certificate, Proved, check, safe

from .loops import drifter

OPEN, DEAD, BOTH, VOID = 0, 1, 2, 6
BEHIND = [3, 6]  # expert 1 is behind expert 0 at time 0, and so is expert 2
FAR = 2  # the node beyond 2


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


def test_rows_rule_out_experts_together_and_nodes_are_named():
    assert checked([(VOID, BEHIND), (OPEN, [FAR]), (OPEN, [])]) is True
    assert checked([(VOID, BEHIND[:1]), (VOID, BEHIND[1:]), (OPEN, [FAR]), (OPEN, [])]) is True
    assert checked([(VOID, BEHIND[::-1]), (OPEN, [FAR]), (OPEN, [])]) is True
    assert checked([(OPEN, [FAR]), (DEAD, [3]), (DEAD, [6]), (OPEN, [])]) is True
    assert checked([(VOID, BEHIND[1:]), (OPEN, [FAR]), (DEAD, [3]), (OPEN, [])]) is True


def test_the_search_writes_such_records():
    verdict = safe(steered(), drifter("-3 <= x <= 1.5"), steps=1)
    assert isinstance(verdict, Proved)
    kinds = [(code % 8, code // 8) for codes, _, _ in verdict.certificate._read_blocks() for code in codes]
    assert kinds[:2] == [(VOID, 2), (OPEN, 1)]


@pytest.mark.parametrize("row", [0, 1, 2, 4, 5, 8, 9, 11, 12, 14, -1, -3, 2**31 - 1, -(2**31)])
def test_a_row_that_rules_out_nobody_is_refused(row):
    """Expert 0 is behind nobody, 2 is not behind 1 everywhere, nobody is behind himself; others are other rows."""
    assert "ahead" in (reason := str(checked([(VOID, [row]), *[(OPEN, [])] * 5]))) or "rule out" in reason


@pytest.mark.parametrize("nodes", [[0], [1], [1, FAR], [-1], [5], [2**31 - 1], [FAR, 0]])
def test_a_node_that_somebody_gets_to_or_no_test_leads_to_is_refused(nodes):
    reason = str(checked([(VOID, BEHIND), (OPEN, nodes), (OPEN, [])]))
    assert "may get to node" in reason or "no test leads to node" in reason


def test_whoever_is_not_ruled_out_is_followed():
    assert checked([(VOID, BEHIND), (BOTH, []), (OPEN, []), (OPEN, [])]) is not True  # who goes right may get to 2
    assert checked([(VOID, BEHIND[:1]), (OPEN, [FAR]), (OPEN, [])]) is not True
    assert checked([(VOID, [*BEHIND, 3]), (OPEN, [FAR]), (OPEN, []), (OPEN, [])]) is not True
    assert checked([(VOID, BEHIND), (OPEN, []), (OPEN, [])]) is not True  # its tree does not follow
    assert checked([(VOID, []), (OPEN, [FAR]), (OPEN, [])]) is not True


@pytest.mark.parametrize("number", [0.0, 0.5, 2.0, 5e-324])
def test_names_have_the_multiplier_1(number):
    assert checked([(VOID, BEHIND), (OPEN, [FAR]), (OPEN, [])], number) is not True
    assert checked([(OPEN, [FAR]), (DEAD, [3]), (DEAD, [6]), (OPEN, [])], number) is not True
