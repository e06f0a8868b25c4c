"""The functions of `tf.contrib.training` that choose elements at random.

All seeds are fixed, so the numbers are the same in every run.
"""

from typing import Any

import numpy as np
import pytest
from fresh_sessions import drained

import capstan as tf

training = tf.contrib.training
THIRDS = [1 / 3] * 3


def number(limit: int) -> Any:
    """Return a tensor that counts from 0 below a limit."""
    return tf.train.range_input_producer(limit, num_epochs=1, shuffle=False).dequeue()


def numbers(limit: int) -> Any:
    """Return a batch with the numbers below a limit, for one step."""
    return tf.train.limit_epochs(tf.range(limit), 1)


def is_odd(element: list[Any]) -> Any:
    return tf.cast(element[0] % 2, tf.float32)


def initialized() -> tf.Session:
    """Return a session of the default graph after its variables are initialized."""
    session = tf.Session()
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    return session


def test_elements_that_are_accepted_make_batches_in_their_order() -> None:
    value = number(11)
    batch = training.rejection_sample([value, -value], is_odd, 2, runtime_checks=True)
    assert [tensor.shape.as_list() for tensor in batch] == [[2], [2]]
    values, negatives = zip(*drained(batch), strict=True)
    assert np.array_equal(values, [[1, 3], [5, 7]])
    assert np.array_equal(negatives, [[-1, -3], [-5, -7]])


def test_batches_are_split_before_their_elements_are_accepted() -> None:
    batch = training.rejection_sample([numbers(9)], is_odd, 2, enqueue_many=True)
    assert isinstance(batch, list)
    assert np.array_equal(drained(batch), [[[1, 3]], [[5, 7]]])


def test_an_element_is_accepted_with_its_probability() -> None:
    tf.set_random_seed(3)
    batch = training.rejection_sample([numbers(400)], lambda _: 0.25, 1, enqueue_many=True)
    assert 60 < len(drained(batch)) < 140


@pytest.mark.parametrize("probability", [-0.1, 1.1])
def test_a_probability_that_is_none_fails_the_step_if_asked(probability: float) -> None:
    fed = tf.placeholder(tf.float32, [])
    training.rejection_sample([0.0], lambda _: fed, 1, runtime_checks=True, name="drawn")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run("drawn/prob_with_checks:0", {fed: probability})


def test_batches_to_reject_from_must_have_the_same_size() -> None:
    for wrong in ([tf.zeros([])], [tf.zeros([5, 1]), tf.zeros([4, 1])]):
        with pytest.raises(ValueError, match=r"must|compatible"):
            training.rejection_sample(wrong, is_odd, 1, enqueue_many=True)


def test_a_class_without_a_target_is_dropped_and_the_others_stay_in_order() -> None:
    value = number(10)
    (batch,), labels = training.stratified_sample(
        [value], value % 3, [0.5, 0.5, 0], 3, init_probs=THIRDS
    )
    steps = drained([batch, labels])
    assert np.array_equal(steps, [[[0, 1, 3], [0, 1, 0]], [[4, 6, 7], [1, 0, 1]]])


def test_the_rarer_class_is_kept_and_the_other_one_gets_its_target_probability() -> None:
    tf.set_random_seed(5)
    values = numbers(200)
    (batch,), labels = training.stratified_sample(
        [values], values % 2, [0.75, 0.25], 1, init_probs=[0.5, 0.5], enqueue_many=True
    )
    values, classes = np.squeeze(drained([batch, labels])).T
    assert np.array_equal(values % 2, classes)
    assert np.count_nonzero(classes == 0) == 100
    assert 15 < np.count_nonzero(classes == 1) < 55


def test_the_target_probabilities_need_no_probabilities_of_the_data() -> None:
    tf.set_random_seed(5)
    values = tf.tile([4, 5], [10])
    (batch,), labels = training.stratified_sample(
        [values], values % 2, [0.75, 0.25], 50, enqueue_many=True
    )
    with tf.train.MonitoredSession() as session:
        found, classes = np.concatenate([session.run([batch, labels]) for _ in range(4)], 1)
    assert np.array_equal(found % 2, classes)
    assert 20 < np.count_nonzero(classes) < 85


def test_the_probabilities_of_the_data_are_estimated_from_all_labels_until_now() -> None:
    """The estimate begins with 10 examples of each class."""
    labels = tf.placeholder(tf.int32, [4])
    training.stratified_sample(
        [tf.zeros([4])], labels, [0.5, 0.5], 1, enqueue_many=True, name="drawn"
    )
    graph = tf.get_default_graph()
    (counts,) = tf.global_variables()
    assert counts.op.name == "drawn/class_count"
    assert not tf.trainable_variables()
    (estimate,) = (
        op
        for op in graph.get_operations()
        if op.type == "RealDiv" and op.inputs[0].dtype == tf.float64
    )
    with initialized() as session:
        assert session.run(estimate.outputs[0], {labels: [1, 1, 1, 0]}).tolist() == [
            11 / 24,
            13 / 24,
        ]
        assert session.run(estimate.outputs[0], {labels: [0, 0, 0, 0]}).tolist() == [
            15 / 28,
            13 / 28,
        ]


def test_many_rejections_are_reported(capfd: pytest.CaptureFixture[str]) -> None:
    value = number(4)
    training.stratified_sample([value], value % 2, [1.0, 0.0], 2, init_probs=[0.25, 0.75])
    _, labels = training.stratified_sample([value], value % 2, [1, 0], 2, init_probs=[0.25, 0.75])
    drained(labels)
    assert "Proportion of examples rejected by sampler is high.[1 0]" in capfd.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"labels": [0, -1, 1]},
        {"labels": [3, 1, 1]},
        {"labels": [0, 1]},
        {"initial": [0.5, 0.2, 0.2]},
        {"initial": [-0.5, 1, 0.5]},
        {"initial": [0, 0.5, 0.5]},
    ],
)
def test_labels_and_probabilities_that_are_wrong_fail_the_step(change: dict[str, Any]) -> None:
    fed = {"labels": tf.placeholder(tf.int32, [None]), "initial": tf.placeholder(tf.float32, [3])}
    result = training.stratified_sample(
        [tf.zeros([3])], fed["labels"], THIRDS, 1, init_probs=fed["initial"], enqueue_many=True
    )
    (runner, _) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    right = {"labels": [0, 1, 2], "initial": THIRDS}
    rates = result[1].graph.get_operations()
    gathered = next(op for op in rates if op.type == "GatherV2").inputs[0]
    with tf.Session() as session:
        feeds = {fed[key]: value for key, value in {**right, **change}.items()}
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run([runner.enqueue_ops[0], gathered], feeds)


def test_arguments_of_a_stratified_sample_that_do_not_fit_are_errors() -> None:
    values = [tf.zeros([1, 3])]
    many = {"enqueue_many": True}
    unknown = tf.placeholder(tf.float32, [None])
    wrong: list[tuple[type[Exception], Any]] = [
        (ValueError, (values, tf.zeros([], tf.int32), THIRDS, 1, THIRDS, many)),
        (ValueError, (values, [0, 1], THIRDS, 1, THIRDS, {})),
        (ValueError, ([tf.zeros([2, 1])], [0], THIRDS, 1, THIRDS, many)),
        (ValueError, (values, 0, 1, 1, THIRDS, {})),
        (ValueError, (values, 0, unknown, 1, None, {})),
        (ValueError, (values, 0, [0.5, 0.5], 1, THIRDS, {})),
        (TypeError, (values, 0.5, THIRDS, 1, THIRDS, {})),
        (TypeError, (values[0], 0, THIRDS, 1, THIRDS, {})),
    ]
    for kind, (*arguments, options) in wrong:
        with pytest.raises(kind):
            training.stratified_sample(*arguments, **options)


def test_each_element_is_copied_at_its_rate() -> None:
    values = tf.constant([7, 8, 9])
    rates = tf.constant([0.0, 3.0, 30.0], tf.float64)
    first, second = training.resample_at_rate([values, values * 2], rates, seed=2)
    assert first.shape.as_list() == [None]
    counts = np.zeros(3)
    with tf.Session() as session:
        for _ in range(20):
            found, doubled = session.run([first, second])
            assert np.array_equal(found * 2, doubled)
            assert np.array_equal(found, np.sort(found))
            counts += np.bincount(found, minlength=10)[7:]
    assert counts[0] == 0
    assert 35 < counts[1] < 90
    assert 480 < counts[2] < 720


def test_a_batch_of_any_shape_may_become_empty() -> None:
    values, rates = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
    (result,) = training.resample_at_rate([values], rates)
    with tf.Session() as session:
        assert session.run(result, {values: np.ones((4, 2)), rates: np.zeros(4)}).shape == (0, 2)
        assert session.run(result, {values: np.ones((0, 2)), rates: np.zeros(0)}).shape == (0, 2)


def test_a_gradient_reaches_each_element_once_for_each_copy() -> None:
    values = tf.constant([1.0, 2.0, 3.0])
    (result,) = training.resample_at_rate([values], [2.0, 0.0, 5.0], seed=4)
    gradient = tf.convert_to_tensor(tf.gradients(result, values)[0])
    with tf.Session() as session:
        found, copies = session.run([result, gradient])
    assert np.array_equal(found, np.repeat([1.0, 2.0, 3.0], copies.astype(int)))
    assert len(found) > 0


def test_the_rates_of_weights_follow_the_average_weight_of_the_batches() -> None:
    weights = tf.placeholder(tf.float32, [2])
    (copies,), rates = training.weighted_resample(
        [tf.range(2)], weights, 8.0, mean_decay=0.5, seed=6
    )
    (mean,) = tf.local_variables("estimate_mean/estimated_mean:0")
    with initialized() as session:
        found = [session.run([copies, rates, mean], {weights: fed}) for fed in ([1, 3], [6, 10])]
    averages = [2, (2 / 4 + 8 / 2) / 0.75]
    for (drawn, given, average), fed, expected in zip(
        found, ([1, 3], [6, 10]), averages, strict=True
    ):
        assert average == pytest.approx(expected)
        assert set(drawn) == {0, 1}
        np.testing.assert_allclose(given, 8 * np.take(fed, drawn) / expected, rtol=1e-6)
