from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet.model.table import _row_hashes, canonical_table, split

from .tables import make_table, random_problem, table_bits

VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 5e-324, 1e300])
SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def counted_rows(draw):
    """Rows (some equal) with labels, and how often each occurs: at least one occurs at all."""
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    X = np.array(draw(st.lists(VALUES, min_size=n * d, max_size=n * d))).reshape(n, d)
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=np.int32)
    counts = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    counts[draw(st.integers(0, n - 1))] += 1
    return X, y, counts


@given(counted_rows())
def test_a_table_holds_every_distinct_row_once_with_its_total_weight(rows):
    X, y, counts = rows
    expected = Counter()
    for x, label, count in zip(X, y, counts, strict=True):
        expected[(*(x + 0.0).tolist(), int(label))] += int(count)
    table = make_table(X, y, counts, 3)
    found = [(*(x + 0.0).tolist(), int(label)) for x, label in zip(table.X[table.rows], table.y, strict=True)]
    assert len(found) == len(set(found)) == len(table)
    assert dict(zip(found, table.weight, strict=True)) == {row: count for row, count in expected.items() if count}


@given(counted_rows())
def test_weights_are_repetitions(rows):
    X, y, counts = rows
    repeated = make_table(np.repeat(X, counts, axis=0), np.repeat(y, counts), n_classes=3)
    assert table_bits(repeated) == table_bits(make_table(X, y, counts, 3))


@given(counted_rows(), SEEDS)
def test_the_order_of_rows_does_not_matter(rows, seed):
    X, y, counts = rows
    rng = np.random.default_rng(seed)
    shuffled, group = rng.permutation(len(y)), rng.integers(0, 3, len(y))
    table = make_table(X, y, counts, 3, group)
    assert table_bits(make_table(X[shuffled], y[shuffled], counts[shuffled], 3, group[shuffled])) == table_bits(table)


def test_the_order_of_rows_does_not_matter_in_a_large_table_of_repeated_rows():
    X, y = random_problem(0, 20_000, d=4, n_values=6)
    shuffled = np.random.default_rng(1).permutation(len(y))
    table = make_table(X, y)
    assert len(table) == len(np.unique(np.column_stack([X, y]), axis=0)) < len(y)
    assert table_bits(make_table(X[shuffled], y[shuffled])) == table_bits(table)


@pytest.mark.parametrize("n_values", [2, 12, 10**6])
def test_hashes_tell_rows_of_small_whole_numbers_apart(n_values):
    """Only the top bits of such floats differ: a careless hash would pile them up, and equal hashes break the order."""
    X, y = random_problem(0, 200_000, d=8, n_values=n_values)
    rows = np.unique(np.column_stack([X, y]), axis=0)
    X, y = np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(np.int32)
    X.flags.writeable = False
    assert len(np.unique(_row_hashes(X, y, np.arange(len(X), dtype=np.int32)))) == len(X)


def test_rows_of_weight_zero_are_dropped():
    X, y = random_problem(0, 100)
    weight = np.arange(100) % 2 * 0.5
    table = make_table(X, y, weight, 3)
    assert (table.rows % 2 == 1).all()
    assert table_bits(table) == table_bits(make_table(X[1::2], y[1::2], weight[1::2], 3))


def test_minus_zero_is_zero():
    zeros = np.tile([0.0, -0.0], 100)
    table = make_table(np.column_stack([zeros, np.repeat(np.arange(100), 2)]), np.zeros(200))
    assert table.weight.tolist() == [2.0] * 100


def test_equal_rows_with_different_labels_stay_apart():
    table = make_table([[1.0], [1.0], [1.0]], [0, 1, 0])
    assert sorted(zip(table.y, table.weight, strict=True)) == [(0, 2.0), (1, 1.0)]


def test_fractional_weights_of_equal_rows_add_up():
    table = make_table([[1.0], [2.0], [1.0], [1.0]], [0, 0, 0, 0], [0.25, 3.0, 0.5, 0.125])
    assert sorted(table.weight) == [0.875, 3.0]


@pytest.mark.parametrize("writable", [True, False])
def test_the_users_rows_are_neither_copied_nor_changed(writable):
    X, y = random_problem(0, 50)
    before = X.copy()
    X.flags.writeable = writable
    table = canonical_table(X, y, np.ones(50), 3)
    assert np.shares_memory(table.X, X)
    assert not table.X.flags.writeable
    assert X.flags.writeable is writable
    assert (before == X).all()


def test_taking_rows_keeps_rows_labels_and_weights_together():
    X, y = random_problem(0, 50)
    table = make_table(X, y, np.arange(1, 51))
    part = table.take(np.array([7, 3, 20]))
    assert len(part) == 3
    assert part.n_classes == table.n_classes
    assert part.X is table.X
    for taken, original in enumerate([7, 3, 20]):
        row = part.rows[taken]
        assert row == table.rows[original]
        assert part.y[taken] == y[row]
        assert part.weight[taken] == row + 1


@given(SEEDS, st.floats(0, 0.99))
@settings(max_examples=50)
def test_a_split_holds_out_the_fraction_of_every_class_but_never_all_of_it(seed, fraction):
    counts = np.array([1, 2, 30, 200])
    y = np.repeat(np.arange(4), counts)
    table = make_table(np.arange(len(y))[:, None], y)
    taught, asked = split(table, fraction, np.random.default_rng(seed))
    assert ((taught == 0) | (asked == 0)).all()
    assert (taught + asked == table.weight).all()
    by_class = np.bincount(table.y[asked > 0], minlength=4)
    assert by_class.tolist() == [int(fraction * count) for count in counts]


def test_a_split_shares_no_row_even_if_rows_are_repeated():
    X, y = random_problem(0, 3000, d=3, n_values=8)
    table = make_table(X, y)
    assert len(table) < len(X)
    weights = split(table, 0.3, np.random.default_rng(0))
    content = np.column_stack([table.X[table.rows], table.y])
    outside, inside = ({tuple(row) for row in content[weight > 0]} for weight in weights)
    assert inside
    assert not inside & outside


def test_a_split_depends_on_the_seed_alone():
    X, y = random_problem(0, 500)
    table = make_table(X, y)
    first, again, other = (split(table, 0.2, np.random.default_rng(seed))[1] for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@given(SEEDS, st.floats(0, 0.99))
@settings(max_examples=50)
def test_a_split_never_cuts_a_group(seed, fraction):
    X, y = random_problem(0, 1000)
    table = make_table(X, y, group=np.arange(1000) ** 2 // 20_000)
    _, group, share = table.groups
    taught, asked = split(table, fraction, np.random.default_rng(seed))
    assert (share == 1).all()
    assert not set(group[taught > 0]) & set(group[asked > 0])
    sizes = np.bincount(group) / len(table)
    assert fraction - sizes.max() < (asked > 0).mean() <= max(fraction, sizes.min())


def test_the_smallest_group_is_held_out_if_none_is_small_enough():
    X, y = random_problem(0, 1000)
    table = make_table(X, y, group=np.repeat([0, 1, 2], [400, 250, 350]))
    _, asked = split(table, 0.1, np.random.default_rng(0))
    assert set(table.groups.name[asked > 0]) == {1}
    assert (asked > 0).sum() == 250
    assert not split(make_table(X, y, group=np.zeros(1000, int)), 0.1, np.random.default_rng(0))[1].any()


def entries(table):
    """What was met where: row, group, weight."""
    row, name, share = table.groups
    return sorted(zip(table.X[table.rows[row], 0], name, table.weight[row] * share, strict=True))


def test_a_row_counts_in_every_group_that_it_was_met_in():
    x, group, weight = [1.0, 2.0, 1.0, 2.0, 1.0], [2, 0, 1, 0, 2], [1.0, 1.0, 2.0, 4.0, 1.0]
    table = make_table(np.transpose([x]), [0] * 5, weight, group=group)
    assert entries(table) == [(1.0, 1, 2.0), (1.0, 2, 2.0), (2.0, 0, 5.0)]
    assert entries(table.take(np.array([1, 0]))) == entries(table)
    only = np.flatnonzero(table.X[table.rows, 0] == 1.0)
    assert entries(table.take(only)) == entries(table)[:2]
    without, within = table.parted(table.groups.name == 1)
    assert dict(zip(table.X[table.rows, 0], zip(without, within, strict=True), strict=True)) == {
        1.0: (2.0, 2.0),
        2.0: (5.0, 0.0),
    }


def test_games_that_repeat_are_judged_as_often_as_they_repeat():
    """Nine groups of ten are one game: who knows it by heart is right as often in the next one."""
    X, y = random_problem(0, 2000)
    group = np.repeat(np.arange(10), 1000)
    game = np.concatenate([np.tile(np.arange(1000), 9), np.arange(1000, 2000)])
    table = make_table(X[game], y[game], group=group)
    met = [split(table, 0.3, np.random.default_rng(seed)) for seed in range(20)]
    known = [float(asked[taught > 0].sum() / asked.sum()) for taught, asked in met]
    assert all(asked.sum() == 3000 for _, asked in met)
    assert set(np.round(known, 6)) == {1.0, round(2 / 3, 6)}


def test_class_shares_are_weighted():
    table = make_table([[0.0], [1.0], [2.0]], [0, 2, 2], [1.0, 1.0, 6.0], 4)
    assert table.class_shares.tolist() == [0.125, 0.0, 0.875, 0.0]
