import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet.model.bins import MAX_BINS, bin_table

from .tables import make_table, raw_table

SEEDS = st.integers(0, 2**32 - 1)
EXTREMES = [0.0, -0.0, 5e-324, -5e-324, 1e-300, 1.0, np.nextafter(1.0, 2.0), 1e308, -1e308]


def one_column(values, weight=None):
    return raw_table(np.asarray(values, dtype=np.float64)[:, None], np.zeros(len(values)), weight)


def skewed_column(seed, n, n_values):
    """Values of which some are far more frequent than others, with weights over six orders of magnitude."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n_values)[(rng.random(n) ** 3 * n_values).astype(int)]
    return values, 10.0 ** rng.uniform(-3, 3, n)


def assert_ordered_as_values(codes, values):
    """Smaller values never have larger codes, and equal values have equal codes."""
    order = np.argsort(values, kind="stable")
    values, codes = values[order], codes[order].astype(int)
    assert (np.diff(codes) >= 0).all()
    assert (np.diff(codes)[np.diff(values) == 0] == 0).all()


@given(st.lists(st.sampled_from(EXTREMES) | st.integers(-5, 5).map(float), min_size=1, max_size=40))
def test_few_distinct_values_have_a_bin_each(values):
    bins = bin_table(one_column(values))
    assert bins.exact.tolist() == [True]
    assert bins.codes.dtype == np.uint8
    assert (bins.value[bins.codes[:, 0]] == values).all()
    assert bins.value.tolist() == sorted(set(values))
    assert bins.offset.tolist() == [0, len(set(values))]


@pytest.mark.parametrize(("n_distinct", "exact"), [(MAX_BINS, True), (MAX_BINS + 1, False)])
def test_a_byte_holds_the_bins_of_at_most_255_values(n_distinct, exact):
    values = np.random.default_rng(0).permutation(np.repeat(np.arange(n_distinct), 3))
    bins = bin_table(one_column(values))
    assert bins.exact.tolist() == [exact]
    assert bins.offset[-1] <= MAX_BINS
    assert_ordered_as_values(bins.codes[:, 0], values)
    if exact:
        assert (bins.codes[:, 0] == values).all()


@given(SEEDS, st.integers(1, 400), st.integers(1, 400), st.integers(2, 20))
@settings(max_examples=100)
def test_bins_are_ordered_and_balanced_by_weight(seed, n, n_values, max_bins):
    values, weight = skewed_column(seed, n, n_values)
    bins = bin_table(one_column(values, weight), max_bins)
    codes = bins.codes[:, 0]
    assert_ordered_as_values(codes, values)
    n_bins = len(np.unique(codes))
    assert n_bins == bins.offset[-1] <= max_bins
    assert bins.exact[0] == (len(np.unique(values)) == n_bins)
    # a value cannot be cut, so a bin may exceed its share by at most the weight of one value
    heaviest = max(weight[values == value].sum() for value in np.unique(values))
    assert np.bincount(codes, weights=weight).max() <= (weight.sum() / max_bins + heaviest) * (1 + 1e-9)


def test_many_equally_heavy_values_fill_all_bins_evenly():
    bins = bin_table(one_column(np.random.default_rng(0).normal(size=255 * 40)))
    assert bins.exact.tolist() == [False]
    assert np.bincount(bins.codes[:, 0]).tolist() == [40] * 255


@given(SEEDS, st.integers(2, 200), st.integers(2, 20))
@settings(max_examples=50)
def test_weights_are_repetitions(seed, n_values, max_bins):
    rng = np.random.default_rng(seed)
    values = rng.permutation(n_values) / 8
    counts = rng.integers(1, 6, n_values)
    weighted = bin_table(one_column(values, counts), max_bins)
    repeated = bin_table(one_column(np.repeat(values, counts)), max_bins)
    assert (weighted.value == repeated.value).all()
    assert (np.repeat(weighted.codes, counts, axis=0) == repeated.codes).all()


@given(SEEDS)
@settings(max_examples=25)
def test_the_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    values, weight = rng.normal(size=600), rng.integers(1, 100, 600)
    order = rng.permutation(600)
    bins, shuffled = bin_table(one_column(values, weight)), bin_table(one_column(values[order], weight[order]))
    assert (bins.codes[order] == shuffled.codes).all()
    assert (bins.value == shuffled.value).all()


def test_features_are_binned_one_by_one():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(2000, 7.0), rng.integers(0, 2, 2000), rng.normal(size=2000), -rng.random(2000)])
    X.flags.writeable = False
    table = make_table(X, rng.integers(0, 2, 2000))
    bins = bin_table(table)
    assert bins.exact.tolist() == [True, True, False, False]
    assert bins.offset.tolist() == [0, 1, 3, 3 + MAX_BINS, 3 + 2 * MAX_BINS]
    assert (bins.codes[:, 0] == 0).all()
    assert (bins.codes[:, 1] == table.X[table.rows, 1]).all()
    for k in range(4):
        assert_ordered_as_values(bins.codes[:, k], table.X[table.rows, k])


def test_zero_and_minus_zero_share_a_bin():
    assert bin_table(one_column([-1.0, 0.0, -0.0, 1.0])).codes[:, 0].tolist() == [0, 1, 1, 2]


def test_taking_rows_keeps_the_bins():
    bins = bin_table(one_column(np.arange(600.0)))
    part = bins.take(np.array([599, 0, 300]))
    assert part.codes[:, 0].tolist() == [254, 0, int(bins.codes[300, 0])]
    assert part.offset is bins.offset
    assert part.value is bins.value
    assert part.exact is bins.exact


@given(SEEDS, st.integers(1, 400), st.integers(1, 400), st.integers(2, 20))
@settings(max_examples=100)
def test_no_two_bins_hold_more_rows_than_the_crowd(seed, n, n_values, max_bins):
    """Compiled code writes that many rows without asking."""
    values, weight = skewed_column(seed, n, n_values)
    bins = bin_table(one_column(values, weight), max_bins)
    some = np.flatnonzero(np.random.default_rng(seed).random(n) < 0.7)
    for part in (bins, bins.take(some)):
        sizes = np.sort(np.bincount(part.codes[:, 0], minlength=2))
        assert part.crowd >= (0 if bins.exact[0] else sizes[-2:].sum())
    assert bins.crowd <= n
