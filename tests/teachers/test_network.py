import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet.errors import InputError, TeacherError
from moet.teachers.network import Layer, Network, NetworkTeacher, log_probabilities

from .networks import a_network, networks, random_layers, reference_outputs

SEEDS = st.integers(0, 2**32 - 1)


def rows_for(network, seed, n_rows=40):
    return np.random.default_rng(seed).normal(scale=3.0, size=(n_rows, network.n_inputs))


@settings(max_examples=60)
@given(networks(), SEEDS)
def test_outputs_are_those_of_matrix_products(network, seed):
    rows = rows_for(network, seed)
    np.testing.assert_allclose(network.outputs(rows), reference_outputs(network, rows), rtol=1e-10, atol=1e-12)


@settings(max_examples=60)
@given(networks(), SEEDS, st.integers(1, 40))
def test_scores_of_a_row_do_not_depend_on_its_batch_to_the_bit(network, seed, size):
    teacher = NetworkTeacher(network)
    rows = rows_for(network, seed)
    scores = teacher.scores(rows)
    order = np.random.default_rng(seed).permutation(len(rows))
    parts = [teacher.scores(rows[order[k : k + size]]) for k in range(0, len(rows), size)]
    assert np.array_equal(np.concatenate(parts), scores[order])
    assert np.array_equal([teacher.act(row[None])[0] for row in rows], teacher.act(rows))


@settings(max_examples=60)
@given(networks(), SEEDS)
def test_the_action_is_one_of_largest_score(network, seed):
    teacher = NetworkTeacher(network)
    rows = rows_for(network, seed)
    scores, actions = teacher.scores(rows), teacher.act(rows)
    assert actions.dtype == np.int64
    assert np.array_equal(scores[np.arange(len(rows)), actions], scores.max(axis=1))
    assert np.array_equal(actions, network.outputs(rows).argmax(axis=1))


def test_among_equals_the_first_action_is_taken():
    network = Network([], [Layer(np.zeros((2, 3)), [1.0, 2.0, 2.0])], activation="relu", meaning="logits")
    assert NetworkTeacher(network).act(np.ones((4, 2))).tolist() == [1, 1, 1, 1]


@settings(max_examples=60)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5))
def test_log_probabilities_are_finite_and_clipped_as_published(logits):
    scores = log_probabilities(np.array([logits]))
    shifted = np.exp(np.array(logits) - max(logits))
    np.testing.assert_allclose(scores[0], np.log(shifted / shifted.sum() + 1e-10), rtol=1e-12, atol=1e-12)
    assert scores.min() >= np.log(1e-10)


def test_inputs_are_normalised_as_said():
    plain = a_network()
    offset, scale = np.array([1.0, -2.0, 0.5]), np.array([2.0, 0.25, 4.0])
    normalised = a_network(offset=offset, scale=scale, clip=1.5)
    rows = rows_for(plain, 0)
    inputs = np.clip((rows - offset) / scale, -1.5, 1.5)
    assert np.any(np.abs(inputs) == 1.5)
    assert np.array_equal(normalised.outputs(rows), plain.outputs(inputs))


def test_what_is_asked_is_left_as_it_was_and_may_be_any_numbers():
    teacher = NetworkTeacher(a_network())
    rows = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    scores = teacher.scores(rows)
    frozen = rows.astype(np.float64)
    frozen.flags.writeable = False
    for same in (frozen, rows.tolist(), np.asfortranarray(rows)):
        assert np.array_equal(teacher.scores(same), scores)
    assert teacher.scores(np.zeros((0, 3))).shape == (0, 4)


def test_features_are_made_of_what_the_environment_shows():
    pong = pytest.importorskip("moet.envs.pong_features")
    head = random_layers(np.random.default_rng(0), len(pong.TEACHER_NAMES), 3)
    teacher = NetworkTeacher(Network([], head, activation="relu", meaning="q_values", features="pong"))
    assert teacher.n_features == len(pong.OBSERVATION_NAMES)
    rows = np.random.default_rng(1).integers(0, 160, size=(5, teacher.n_features)).astype(float)
    assert np.array_equal(teacher.scores(rows), teacher.network.outputs(pong.teacher_features(rows)))


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 1)])
def test_observations_of_another_shape_are_refused(shape):
    with pytest.raises(TeacherError, match=r"expects observations of shape \(rows, 3\), got \("):
        NetworkTeacher(a_network()).act(np.zeros(shape))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("activation", ["relu", "elu", "tanh"])
def test_observations_that_are_not_finite_are_refused(bad, activation):
    rows = np.zeros((5, 3))
    rows[[2, 4], 1] = bad
    with pytest.raises(InputError, match=r"NaN or infinity in 2 of 5 rows, the first is row 2"):
        NetworkTeacher(a_network(activation=activation)).scores(rows)


@pytest.mark.parametrize("activation", ["relu", "elu"])
def test_a_network_that_overflows_says_so(activation):
    huge = [Layer(np.array([[1e308, -1e308], [1e308, -1e308]]), np.zeros(2))] * 2
    teacher = NetworkTeacher(Network([], huge, activation=activation, meaning="q_values"))
    with pytest.raises(TeacherError, match="scores must be finite: NaN or infinity in 1 of 2 rows, the first is row 1"):
        teacher.act(np.array([[0.0, 0.0], [9.0, 9.0]]))
    assert teacher.act(np.zeros((1, 2))).tolist() == [0]


@settings(max_examples=30)
@given(networks(), SEEDS)
def test_a_pickled_network_is_the_same_and_as_frozen(network, seed):
    copy = pickle.loads(pickle.dumps(network))
    rows = rows_for(network, seed)
    assert copy.digest == network.digest
    assert np.array_equal(copy.outputs(rows), network.outputs(rows))
    with pytest.raises(ValueError, match="read-only"):
        copy.head[0].bias[0] = 1.0


def test_everything_a_network_is_changes_its_digest():
    base = a_network(dueling=True)
    moved = [Layer(base.head[0].kernel, base.head[0].bias + 2**-50), *base.head[1:]]
    variants = [
        a_network(1, dueling=True),
        a_network(dueling=False),
        a_network(dueling=True, activation="tanh"),
        a_network(dueling=True, meaning="logits"),
        a_network(dueling=True, clip=5.0),
        a_network(dueling=True, offset=np.ones(3)),
        a_network(dueling=True, scale=np.ones(3)),
        a_network(dueling=True, head=moved),
    ]
    digests = [network.digest for network in (base, *variants)]
    assert len(set(digests)) == len(digests)
    assert a_network(dueling=True).digest == base.digest
    assert NetworkTeacher(base).digest == base.digest


def test_the_layers_before_the_last_of_a_plain_network_are_hidden_ones():
    network = a_network()
    same = Network(network.hidden[:1], network.hidden[1:] + network.head, activation="elu", meaning="q_values")
    assert same.digest == network.digest


def test_networks_say_what_they_are():
    assert repr(NetworkTeacher(a_network())) == "NetworkTeacher(Network(plain, 3-5-6-4, elu, q_values))"
    assert repr(a_network(dueling=True)) == "Network(dueling, 3-5-6-4, elu, q_values)"


LAYER = Layer(np.ones((3, 4)), np.ones(4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head": []}, "at least one layer"),
        ({"hidden": [Layer(np.ones((3, 4)), np.ones(5))]}, r"layer 1 has a kernel of shape \(3, 4\) and 5 biases"),
        ({"hidden": [Layer(np.ones((3, 4)), np.ones(4))]}, "layer 1 gives 4 numbers, layer 2 takes 6"),
        ({"hidden": [Layer(np.ones((3, 4, 1)), np.ones(4))]}, "kernel 1 of hidden must have 2 dimension"),
        ({"hidden": [Layer(np.full((3, 6), np.nan), np.ones(6))]}, "kernel 1 of hidden must hold finite numbers"),
        ({"hidden": [Layer(np.ones((0, 6)), np.ones(6))]}, "kernel 1 of hidden must hold finite numbers, at least one"),
        ({"hidden": [Layer("abc", np.ones(6))]}, "kernel 1 of hidden must be an array of numbers"),
        ({"value": [Layer(np.ones((6, 2)), np.ones(2))]}, "the value of a dueling network is one number, got 2"),
        ({"value": [Layer(np.ones((5, 1)), np.ones(1))]}, "layer 2 gives 6 numbers, layer 3 takes 5"),
        ({"activation": "glu"}, "activation must be one of relu, elu, tanh, .*, got 'glu'"),
        ({"meaning": "rewards"}, "meaning must be one of q_values, logits, actions, got 'rewards'"),
        ({"features": "os.system"}, "features must be one of None, pong, got 'os.system'"),
        ({"offset": np.ones(2)}, "offset has 2 numbers, the network 3 inputs"),
        ({"scale": np.ones(4)}, "scale has 4 numbers, the network 3 inputs"),
        ({"scale": np.array([1.0, 0.0, 1.0])}, "scale must not be zero"),
        ({"clip": -1.0}, "clip must be positive, got -1.0"),
        ({"clip": "wide"}, "clip must be an array of numbers"),
    ],
)
def test_networks_that_contradict_themselves_are_refused(change, message):
    with pytest.raises(TeacherError, match=message):
        a_network(**change)


def test_the_streams_of_a_dueling_network_without_hidden_layers_see_the_same():
    with pytest.raises(TeacherError, match="both streams of a dueling network must take the same numbers"):
        Network([], [LAYER], [Layer(np.ones((2, 1)), np.ones(1))], activation="relu", meaning="q_values")
