"""What the checker of paths computes with: sets of leaves and functions in one integer, against definitions."""

import itertools

import numpy as np
import pytest
from verify_loop_honesty import random_loop

from moet import Mixture, Tree
from moet.errors import CertificateError
from moet.verify import Proved, safe
from moet.verify.checker.documents.model import plain_model
from moet.verify.checker.documents.system import read_system
from moet.verify.checker.loops.claims import Paths
from moet.verify.checker.loops.paths.functions import Functions
from moet.verify.checker.loops.paths.pieces import ACROSS, FINE, WITHIN, Pieces
from moet.verify.checker.loops.paths.proof import MOST_TIMES_BITS, SHORT_BITS, _Walk
from moet.verify.checker.loops.paths.rows import ClosedLoop
from moet.verify.checker.meter import Meter

from .loops import drifter


@pytest.mark.parametrize("bits", [1, 2, 7, 64, 300])
@pytest.mark.parametrize("d", range(1, 10))
def test_functions_are_what_their_coefficients_are(d, bits):
    rng, functions = np.random.default_rng(d), Functions(d, bits)
    ends = [-(2**bits) + 1, -1, 0, 1, 2**bits - 1]
    for _ in range(200):
        a = [ends[rng.integers(5)] if rng.random() < 0.5 else int(rng.integers(-1, 2)) for _ in range(d)]
        b = int(rng.integers(-1000, 1000)) << int(rng.integers(0, 2 * bits))
        function = functions.of(a, b)
        assert functions.coefficients(function) == a
        assert functions.least(function) == b - sum(map(abs, a))
        assert functions.least(-function) == -b - sum(map(abs, a))


def test_sums_of_functions_fill_their_lanes_and_no_more():
    functions, most = Functions(3, 10), 2**10 - 1
    one = functions.of([600, -600, 423], 5)
    other = functions.of([most - 600, 600 - most, 600], -7)
    assert functions.least(one + other) == -2 - 3 * most


def loop_and_pieces(seed: int, coarse: int):
    small = random_loop(np.random.default_rng(seed))
    model, system = plain_model(small.mixture), read_system(small.system)
    loop = ClosedLoop(model, system, Paths(small.steps, None, coarse), Meter(), exact=False)
    return loop, Pieces(loop, coarse)


def leaves_of(tree, node=0, tests=()):
    """Leaves from left to right, each with the nodes above it and itself, and with its tests."""
    if tree.left[node] < 0:
        return [({node}, list(tests))]
    sides = ((tree.left[node], True), (tree.right[node], False))
    found = []
    for child, below in sides:
        test = (tree.feature[node], below, tree.threshold[node])
        found += [(above | {node}, all_tests) for above, all_tests in leaves_of(tree, child, (*tests, test))]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_names_stand_for_the_leaves_that_one_gets_to(seed):
    loop, pieces = loop_and_pieces(seed, FINE)
    leaves = [(e, nodes) for e, tree in enumerate(loop.trees) for nodes, _ in leaves_of(tree)]
    for e, j in itertools.permutations(range(loop.n_experts), 2):
        expected = sum(1 << i for i, (expert, _) in enumerate(leaves) if expert == e)
        assert pieces.named[loop.n_experts * e + j][:2] == (expected, loop.n_experts * e + j)
        assert pieces.expert[expected] == e
    first = loop.n_experts**2
    for e, tree in enumerate(loop.trees):
        with pytest.raises(CertificateError, match="nobody can be called"):
            pieces.named[first]
        for node in range(1, len(tree.label)):
            expected = sum(1 << i for i, (expert, nodes) in enumerate(leaves) if expert == e and node in nodes)
            assert pieces.named[first + node][0] == expected
        first += len(tree.label)


@pytest.mark.parametrize("coarse", [FINE, WITHIN, ACROSS])
@pytest.mark.parametrize("seed", range(20))
def test_pieces_have_all_leaves_that_are_left_and_their_weakest_tests(seed, coarse):
    loop, pieces = loop_and_pieces(seed, coarse)
    all_leaves = [(e, *leaf) for e, tree in enumerate(loop.trees) for leaf in leaves_of(tree)]
    actions = [loop.action_of[loop.trees[e].label[max(nodes)]] for e, nodes, _ in all_leaves]
    rng = np.random.default_rng(seed)
    for _ in range(20):
        out = sum(1 << i for i in range(len(all_leaves)) if rng.random() < 0.4)
        found = pieces.left[out]
        groups = [[i for i in range(len(all_leaves)) if piece.leaves >> i & 1] for piece in found]
        assert sorted(itertools.chain(*groups)) == [i for i in range(len(all_leaves)) if not out >> i & 1]
        assert [group[0] for group in groups] == sorted(group[0] for group in groups)
        for piece, group in zip(found, groups, strict=True):
            assert {actions[i] for i in group} == {piece.action}
            assert len({all_leaves[i][0] for i in group}) == 1 or pieces.expert[piece.leaves] is None
            for state, below in itertools.product(range(loop.d), (True, False)):
                each = [[t for k, b, t in all_leaves[i][2] if (k, b) == (state, below)] for i in group]
                if all(each):
                    tight, weak = (min, max) if below else (max, min)
                    assert pieces.limit[piece.leaves, state, below] == weak(map(tight, each))
                else:
                    with pytest.raises(CertificateError, match="no test"):
                        pieces.limit[piece.leaves, state, below]


def test_of_anybody_nothing_is_known():
    _, pieces = loop_and_pieces(0, FINE)
    assert pieces.expert[0] is None
    with pytest.raises(CertificateError, match="no test"):
        pieces.limit[0, 0, True]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("number", [0.0, 5e-324, 0.1, 0.5, 1.0, 3.0, 2.0**24, 1e30, 1e308])
def test_multipliers_never_fill_a_lane(number, exact):
    small = random_loop(np.random.default_rng(0))
    model, system = plain_model(small.mixture), read_system(small.system)
    loop = ClosedLoop(model, system, Paths(small.steps, None, FINE), Meter(), exact=exact)
    walk = _Walk(loop, safe(*at_rest(), steps=1).certificate.records(), FINE)
    for numbers in ([number] * 31, [number, 0.3], [number]):
        factors, once = walk._factors([(0, value) for value in numbers])
        assert sum(factors) + once < 2**MOST_TIMES_BITS
        assert all(factor >= 0 for factor in factors)
    if number in (0.5, 1.0, 3.0):
        assert walk._factors([(0, number)]) == ([int(number * 2**SHORT_BITS)], 2**SHORT_BITS)


def at_rest():
    """A policy, three experts of which the first one answers, with left, and the plant it acts on."""
    value = np.eye(2)[[0, 0, 1, 1, 0]]
    tree = Tree([0, -1, 0, -1, -1], [2.0, 0, 3.0, 0, 0], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], value)
    trees = [tree, Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    mixture = Mixture([[0.0], [1.0], [0.0]], [0, -5, -4], trees, ["left", "right"], feature_names=["x"])
    return mixture, drifter("-3 <= x <= 1.5")


def test_names_that_no_proof_needs_are_not_written():
    """Expert 1 goes left, as expert 0 does, so nobody has to know that it is not chosen; expert 2 goes right."""
    verdict = safe(*at_rest(), steps=1)
    assert isinstance(verdict, Proved)
    ((codes, refs, _),) = verdict.certificate._read_blocks()
    assert [(code % 8, code // 8) for code in codes] == [(0, 2), (7, 0)]
    assert sorted(ref // 3 for ref in refs[:1]) == [2]
    assert refs[1] == 9 + 2
