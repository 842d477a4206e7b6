"""Questions about possible rows, against brute force over all of them."""

import copy
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from random_tables import all_rows, random_model, random_schema, random_sum

from moet import Box, Column, Mixture, Schema, Tree, verify
from moet.errors import CertificateError, InputError
from moet.verify.checker.meter import Meter
from moet.verify.checking import checked
from moet.verify.exact import ExactMixture, exactly
from moet.verify.rows.balls import Balls
from moet.verify.rows.costs import Costs, weights_of
from moet.verify.rows.domain import rows_of
from moet.verify.rows.pairs import variants


def problem(seed, **settings):
    rng = np.random.default_rng(seed)
    schema = random_schema(rng, **settings)
    return rng, schema, random_model(rng, schema, n_classes=int(rng.integers(2, 4)))


def exact_answers(model, rows):
    exact = ExactMixture(model)
    return [model.classes.tolist()[exact.answer(exactly(x.tolist()))] for x in rows]


def others(schema, name, rows):
    """Values of all other columns, by row."""
    own = schema.place(name).features
    return [tuple(np.delete(x, own)) for x in rows]


@pytest.mark.parametrize("seed", range(30))
def test_always_and_equivalent_are_right_about_all_rows(seed):
    rng, schema, model = problem(seed)
    rows = all_rows(schema)
    label = model.classes.tolist()[0]
    verdict = verify.always(model, answers=[label])
    assert bool(verdict) == all(answer == label for answer in model.predict(rows).tolist())
    assert isinstance(verdict, verify.Proved) or verdict.rows[0] == schema.row(verdict.point)
    other = random_model(rng, schema, n_classes=len(model.classes))
    verdict = verify.equivalent(model, other)
    assert bool(verdict) == (exact_answers(model, rows) == exact_answers(other, rows))
    assert verify.equivalent(model, model.prune()).checked


@pytest.mark.parametrize("factor", [3.0, 0.1, 2.0**-30, 1e-60, 1e300])
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_gates_whose_numbers_are_of_other_sizes_are_compared(kind, factor):
    """Conditions of both models take part in a proof, each in its own units: the same gate, and so many times it."""
    schema = Schema([Column(name, kind, (name,), 0, 5) for name in ("a", "b")])
    leaves = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    gates = [([[0, 0], [k, -k]], [0, -k / 2]) for k in (1.0, factor)]
    first, second = (Mixture(*gate, leaves, ["no", "yes"], schema=schema) for gate in gates)
    assert verify.equivalent(first, second).checked
    assert not verify.equivalent(first, replace(second, gate_bias=[0, -factor * 1.75]))


def test_changes_of_many_columns_are_drawn_and_not_listed():
    """Twenty columns of a thousand values each are 10^60 changes: all nine columns of a loan fitted no memory."""
    rng = np.random.default_rng(0)
    assert list(variants([2, 3], rng)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    drawn = np.array(variants([1000] * 20 + [1], rng))
    assert drawn.shape == (64, 21)
    assert np.all(drawn >= 0)
    assert np.all(drawn < [1000] * 20 + [1])


@pytest.mark.parametrize("seed", range(10))
def test_differences_are_the_rows_that_differ(seed):
    rng, schema, model = problem(seed)
    rows, other = all_rows(schema), random_model(rng, schema, n_classes=len(model.classes))
    differ = [a != b for a, b in zip(exact_answers(model, rows), exact_answers(other, rows), strict=True)]
    found = verify.differences(model, other, limit=10_000)
    assert found.complete
    possible = {tuple(x) for x in rows}
    assert all(tuple(point) in possible for point in found.points)
    assert all(a != b for a, b in found.answers)
    assert not found.unseen
    assert all(any(x in region for region in found.regions) == d for x, d in zip(rows, differ, strict=True))
    assert found.share_interval[0] <= np.mean(differ) <= found.share_interval[1]


def closest_amount(x, threshold, norm, largest):
    schema = Schema([Column("amount", "integer", ("amount",), -largest, largest)])
    tree = Tree([0, -1, -1], [float(threshold), 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0, 1]])
    return verify.closest(Mixture([[0.0]], [0.0], [tree], ["low", "high"], schema=schema), [float(x)], norm)


AMOUNTS = st.integers(-(2**40), 2**40 - 1)


@given(AMOUNTS, AMOUNTS, st.sampled_from(["l1", "linf"]))
@example(1169, 1404, "linf")
@example(0, -1099511626677, "l1")
def test_closest_of_large_whole_numbers_is_exact(x, threshold, norm):
    """A radius just below the distance may not be rounded up to it: 1169 + 235.99999999999997 is no row but 1404.

    Sums of changes are exact up to a billionth.
    """
    found, wanted = closest_amount(x, threshold, norm, 2**40), threshold + (x <= threshold)
    assert found.checked
    assert abs(found.point[0] - wanted) <= (1e-9 * abs(wanted - x) if norm == "l1" else 0.0)
    assert found.distance <= abs(wanted - x) <= found.point_distance


ROUND = [
    (
        "linf",
        [-(2.0**53), 3.0],
        [[-0.1264830052305647, -0.06415740265326547], [1.2907289630252183, -1.0147983511486063]],
        [-507567.4528862236, 1365057.0351779498],
        [(0, 1000.5), (1, 2.5)],
    ),
    (
        "l1",
        [0.0, 5.0],
        [
            [0.8886448803327246, -0.32199919457377885],
            [1.2511640326069204e-06, -2.9481325460363806e-07],
            [-3.1448556388859756e-13, 9.467208716622048e-13],
        ],
        [0.49060881481174134, -0.8324571307578486, -0.27289791081523285],
        [(0, -(2.0**52)), (0, -(2.0**52)), (0, 0.5)],
    ),
]
"""Questions about a column as long as float64 counts, which ended when time did: norm, row, gate and tests."""


@pytest.mark.parametrize(("norm", "x", "weights", "bias", "tests"), ROUND)
def test_a_point_beside_its_region_does_not_make_a_search_go_round(norm, x, weights, bias, tests):
    """A linear program over sides of 2^53 misses others by some units; what is cut there must get smaller."""
    schema = Schema([Column("n", "integer", ("n",), -(2**53), 2**53), Column("m", "integer", ("m",), 0, 5)])
    value = [[0.5, 0.5], [1, 0], [0, 1]]
    trees = [Tree([feature, -1, -1], [at, 0, 0], [1, -1, -1], [2, -1, -1], value) for feature, at in tests]
    found = verify.closest(Mixture(weights, bias, trees, ["no", "yes"], schema=schema), x, norm, cpu_limit=10)
    assert "limit" not in str(getattr(found, "reason", ""))


def test_closest_ends_where_no_number_lies_between_two_distances():
    assert closest_amount(0, 2**53 - 1, "linf", 2**53).point.tolist() == [2.0**53]


@pytest.mark.parametrize("seed", range(30, 60))
def test_monotone_and_ignores_are_right_about_all_pairs(seed):
    rng, schema, model = problem(seed)
    rows = all_rows(schema)
    answers, label = exact_answers(model, rows), model.classes.tolist()[0]
    column = schema.columns[int(rng.integers(len(schema.columns)))]
    keys = others(schema, column.name, rows)
    by_key = Counter(dict.fromkeys(zip(keys, answers, strict=True), 1))
    alike = max(Counter(key for key, _ in by_key).values()) == 1
    verdict = verify.ignores(model, [column.name])
    assert isinstance(verdict, verify.Proved if alike else verify.Refuted)
    if column.kind == "category":
        return
    k = schema.place(column.name).features[0]
    pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if keys[i] == keys[j]]
    for direction, sign in (("increasing", 1), ("decreasing", -1)):
        broken = any(sign * rows[i][k] <= sign * rows[j][k] and answers[i] == label != answers[j] for i, j in pairs)
        verdict = verify.monotone(model, column.name, direction=direction, answer=label)
        assert isinstance(verdict, verify.Refuted if broken else verify.Proved)
        if broken:
            first, second = verdict.points
            assert first.tolist() in rows.tolist()
            assert second.tolist() in rows.tolist()


@pytest.mark.parametrize("seed", range(60, 80))
@pytest.mark.parametrize("cost", [None, "columns", "weights"])
def test_recourse_is_the_cheapest_of_all_rows(seed, cost):
    rng, schema, model = problem(seed)
    rows = all_rows(schema)
    x, wanted = rows[int(rng.integers(len(rows)))], str(rng.choice(model.classes))
    if cost == "weights":
        cost = {column.name: float(rng.integers(0, 4)) for column in schema.columns}
    fixed = [column.name for column in schema.columns if rng.random() < 0.3]
    kept = [k for name in fixed for k in schema.place(name).features]
    domain = rows_of(None, model)
    costs = Costs(*weights_of(cost, domain), domain, x)
    wanted_rows = [
        y
        for y, answer in zip(rows, exact_answers(model, rows), strict=True)
        if answer == wanted and np.array_equal(y[kept], x[kept])
    ]
    found = verify.recourse(model, x, answer=wanted, fixed=fixed, cost=cost)
    assert found.checked
    if not wanted_rows:
        assert found.row is None
        return
    assert found.answer == wanted
    assert Fraction(found.cost) - min(map(costs.of, wanted_rows)) < 1e-8


@pytest.mark.parametrize("seed", range(80, 100))
@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_closest_is_the_nearest_possible_row(seed, norm):
    rng, schema, model = problem(seed)
    rows = all_rows(schema)
    x = rows[int(rng.integers(len(rows)))]
    answers = exact_answers(model, rows)
    own = answers[rows.tolist().index(x.tolist())]
    size = np.abs(rows - x).sum(axis=1) if norm == "l1" else np.abs(rows - x).max(axis=1)
    distances = [d for d, answer in zip(size, answers, strict=True) if answer != own]
    found = verify.closest(model, x, norm)
    assert found.point_distance == pytest.approx(min(distances, default=np.inf), abs=1e-8)
    assert found.distance == pytest.approx(min(distances, default=np.inf), abs=1e-8)


def near(rows, schema, x, radius):
    """Rows that differ from one by no more than a radius in every column."""
    close = np.ones(len(rows), dtype=bool)
    for column, features in schema.places:
        close &= np.abs(rows[:, list(features)] - x[list(features)]).max(axis=1) <= radius[column.name]
    return rows[close]


@pytest.mark.parametrize("seed", range(100, 112))
def test_rows_that_are_robust_are_so(seed):
    rng, schema, model = problem(seed)
    rows = all_rows(schema)
    table = rows[rng.integers(len(rows), size=5)]
    radius = {column.name: float(rng.integers(0, 3)) for column in schema.columns}
    found = verify.robust(model, table, radius)
    assert not found.unknown
    for i, x in enumerate(table):
        assert found.kept[i] == (len(set(model.predict(near(rows, schema, x, radius)).tolist())) == 1)


@pytest.mark.parametrize("seed", range(300, 330))
def test_what_intervals_say_of_balls_is_so_and_the_search_says_no_more(seed, monkeypatch):
    rng, schema, model = problem(seed, numbers=seed % 2 == 1)
    table = rows_of(None, model).sample(40, rng)
    radius = {column.name: float(rng.choice([0.0, 0.25, 1.0])) for column in schema.columns}
    codes = np.array([model.classes.tolist().index(answer) for answer in model.predict(table).tolist()])
    plain = [proof is not None for proof in Balls(model, rows_of(None, model), radius).proofs(table, codes)]
    found = verify.robust(model, table, radius)
    assert found.checked or not found.kept.any()  # the checker accepts records that no search wrote
    assert found.kept[plain].all()
    monkeypatch.setattr(Balls, "proofs", lambda self, X, answers: [None] * len(X))
    assert verify.robust(model, table, radius).kept.tolist() == found.kept.tolist()


def test_every_row_pays_for_all_nodes_of_the_trees_that_are_read_for_it():
    """Short rows of a large model would keep a checker busy for ever otherwise."""
    depth, rows = 300, 20
    inner = list(range(depth))
    tree = Tree(
        [0] * depth + [-1] * (depth + 1),
        [float(-k) for k in inner] + [0.0] * (depth + 1),
        [*range(1, depth), depth] + [-1] * (depth + 1),
        [*range(depth + 1, 2 * depth + 1)] + [-1] * (depth + 1),
        [[1.0, 0.0]] * (2 * depth + 1),
    )
    model = Mixture([[0.0]], [0.0], [tree], ["no", "yes"], schema=Schema([Column("a", "number", ("a",), 0, 5)]))
    found = verify.robust(model, np.linspace(1, 4, rows)[:, None], {"a": 0.5})
    meter = Meter()
    assert found.kept.all()
    assert checked(found.certificate, (model,), meter)
    assert meter.spent > rows * 10 * len(tree.feature)


def test_most_rows_are_plain_where_changes_are_small():
    _, schema, model = problem(3)
    table = all_rows(schema)
    codes = np.array([model.classes.tolist().index(answer) for answer in model.predict(table).tolist()])
    proofs = list(
        Balls(model, rows_of(None, model), {column.name: 0.0 for column in schema.columns}).proofs(table, codes)
    )
    assert np.mean([proof is not None for proof in proofs]) > 0.9


@pytest.mark.parametrize("seed", range(112, 124))
def test_real_columns_are_decided_too(seed):
    rng, schema, model = problem(seed, numbers=True)
    label = model.classes.tolist()[0]
    verdict = verify.monotone(model, "real", answer=label)
    X = rows_of(None, model).sample(300, rng)
    Y = X.copy()
    k = schema.place("real").features[0]
    Y[:, k] = X[:, k] + (2.0 - X[:, k]) * rng.random(len(X))
    broken = np.any((model.predict(X) == label) & (model.predict(Y) != label))
    assert not (broken and isinstance(verdict, verify.Proved))
    found = verify.recourse(model, X[0], answer=label)
    if not isinstance(found, verify.Unknown) and found.row is not None:
        assert model.predict([found.point])[0] == label
        assert found.cost - found.at_least <= 1e-5 * max(1.0, found.cost)


SEX = Column("Sex", "category", ("Sex=f", "Sex=m"), categories=("f", "m"))
AGE = Column("Age", "integer", ("Age",), 19, 75)
HOME = Column("Home", "ordered", ("Home",), categories=("free", "rent", "own"))
SCHEMA = Schema([SEX, AGE, HOME])
STUMP = Tree([2, -1, -1], [40.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0, 1]])
MODEL = Mixture(np.zeros((1, 4)), [0.0], [STUMP], ["bad", "good"], schema=SCHEMA)


def test_conditions_are_read_in_the_words_of_the_table():
    box = Box.where(MODEL, "Sex = m, 25 <= Age < 60, Home in (rent, own)")
    domain = rows_of(box, MODEL)
    assert domain.claim() == {"Sex": ["m"], "Age": [25, 59], "Home": ["rent", "own"]}
    assert rows_of(None, MODEL).claim() == {"Sex": ["f", "m"], "Age": [19, 75], "Home": ["free", "rent", "own"]}
    assert rows_of(Box.where(MODEL, "Home >= rent, Sex != f, Age <= 90"), MODEL).claim() == {
        "Sex": ["m"],
        "Age": [19, 90],
        "Home": ["rent", "own"],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Sex <= m", "have no order"),
        ("Sex = x", "never saw 'x' in column 'Sex'; it knows f, m"),
        ("Home in (free, own)", "leaves a gap"),
        ("Home not in (free, rent, own)", "leaves nothing"),
        ("Age = young", "is not a number"),
        ("Agee = 3", "cannot read the condition"),
        ("Sex = m, Sex = f", "leaves no category of 'Sex'"),
        ("Age <= 30, Age >= 40", "contradict one another at 'Age'"),
        ("Age in (1, 2)", "holds numbers"),
    ],
)
def test_conditions_that_make_no_sense_are_explained(text, message):
    with pytest.raises(InputError, match=message):
        rows_of(Box.where(MODEL, text), MODEL)


def test_a_claim_names_columns_and_not_features():
    verdict = verify.monotone(MODEL, "Age", Box.where(MODEL, "Sex = m"), answer="good")
    assert verdict.claim.splitlines()[:5] == [
        "If a possible row is answered 'good', so is every possible row with a greater value of Age and the same "
        "values of all other columns, in exact arithmetic (the first of equal logits wins).",
        "Possible rows:",
        "  Sex is 'm'",
        "  Age from 19 to 75, whole",
        "  Home is 'free' or 'rent' or 'own'",
    ]


def test_a_certificate_proves_nothing_else():
    verdict = verify.monotone(MODEL, "Age", answer="good")
    assert verify.check(verdict.certificate, MODEL)
    for change in (
        {"column": "Home"},
        {"direction": "decreasing"},
        {"answer": "bad"},
        {"column": "Sex"},
        {"rows": {"Sex": ["f", "m"], "Age": [19.5, 75], "Home": ["own"]}},
        {"rows": {"Sex": ["m", "f"], "Age": [19, 75], "Home": ["own"]}},
        {"rows": {"Sex": [], "Age": [19, 75], "Home": ["own"]}},
        {"rows": {"Age": [19, 75], "Home": ["own"]}},
    ):
        forged = copy.deepcopy(verdict.certificate.claim) | change
        certificate = verify.Certificate("monotone", forged)
        certificate.append(verdict.certificate)
        if change == {"column": "Home"}:  # true as well, and proved by the same records
            continue
        with pytest.raises(CertificateError):
            verify.check(certificate, MODEL)


def test_certificates_come_back_from_their_files(tmp_path):
    for verdict in (
        verify.ignores(MODEL, ["Sex", "Home"]),
        verify.recourse(MODEL, {"Sex": "f", "Age": 30, "Home": "own"}, answer="good", fixed=["Sex"]),
        verify.robust(MODEL, np.array([[1.0, 0.0, 60.0, 1.0]]), {"Age": 5, "Sex": 1}),
        verify.always(MODEL, Box.where(MODEL, "Age > 40"), ["good"]),
    ):
        verdict.certificate.save(tmp_path / "c.moetcert")
        assert verify.check(tmp_path / "c.moetcert", MODEL)


def test_models_without_a_schema_need_bounds():
    bare = Mixture([[0.0]], [0.0], [Tree.leaf([1, 0])], ["a", "b"], ["x"])
    with pytest.raises(InputError, match="no schema that says which rows are possible: bound x"):
        verify.ignores(bare, ["x"])
    assert verify.ignores(bare, ["x"], Box(x=(0, 1))).checked


@pytest.mark.parametrize("seed", range(124, 130))
def test_soft_models_never_show_a_row_that_is_none(seed):
    rng, schema, model = problem(seed)
    trees = [*model.trees, *model.trees]
    weights = rng.normal(size=(len(trees), model.n_features))
    soft = Mixture(weights, rng.normal(size=len(trees)), trees, model.classes, schema=schema, prediction="soft")
    rows = all_rows(schema).tolist()
    verdict = verify.always(soft, answers=[model.classes.tolist()[0]], cpu_limit=2.0)
    assert getattr(verdict, "point", None) is None or verdict.point.tolist() in rows
    found = verify.closest(soft, rows[0], "l1", cpu_limit=2.0)
    assert getattr(found, "point", None) is None or found.point.tolist() in rows


@pytest.mark.parametrize("sums", [False, True], ids=["hard", "sum"])
@pytest.mark.parametrize("seed", range(200, 212))
def test_further_changes_do_without_a_column_of_every_one_before_and_are_the_cheapest_that_do(seed, sums):
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    model = (random_sum if sums else random_model)(rng, schema, n_classes=2)
    rows = all_rows(schema)
    x = rows[int(rng.integers(len(rows)))]
    wanted = next(label for label in model.classes.tolist() if label != model.predict(x[None, :])[0])
    found = verify.recourse(model, x, answer=wanted, n=4)
    if isinstance(found, verify.Unknown):
        return
    domain = rows_of(None, model)
    costs = Costs(*weights_of(None, domain), domain, x)
    before = schema.row(x)
    hits = rows[[label == wanted for label in model.predict(rows).tolist()]]
    changed = [frozenset(name for name, cell in schema.row(y).items() if cell != before[name]) for y in hits]
    earlier = []
    for change in (found, *found.others):
        left = [costs.of(y) for y, names in zip(hits, changed, strict=True) if not any(names >= old for old in earlier)]
        assert change.cost == pytest.approx(float(min(left, default=np.inf)), abs=1e-8)
        assert change.checked
        earlier.append(frozenset(change.changes))


@pytest.mark.parametrize("weights", [[1e10, 0.0], [1.0, 1e-320], [1e300, 5e-324]])
def test_weights_of_a_column_that_hardly_varies_do_not_overflow(weights):
    schema = Schema((Column("a", "number", ("a",), 0.0, 1e-310), Column("new", "boolean", ("new",))))
    leaves = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])]
    gate = [[0.0, 0.0], weights], [0.0, -weights[1]]
    model = Mixture(*gate, leaves, ["no", "yes"], schema.feature_names, schema=schema)
    assert verify.monotone(model, "a", answer="yes").checked
    found = verify.ignores(model, ["new"])
    assert isinstance(found, verify.Refuted) or weights[1] != 1e-320
