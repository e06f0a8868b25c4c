"""Input functions turn arrays into batches, and receiver functions make the inputs of exports."""

import collections
from types import SimpleNamespace

import numpy as np
import pytest

import capstan as tf
from capstan.estimator import export, inputs

pytestmark = pytest.mark.e2e


def batches(input_fn):
    """Return all batches of an input function without end of its own."""
    found = []
    with tf.Graph().as_default():
        tensors = input_fn()
        with tf.train.MonitoredSession() as session:
            while not session.should_stop():
                found.append(session.run(tensors))
    return found


def test_arrays_come_in_order_epoch_after_epoch():
    x, y = np.arange(5.0), np.arange(5)
    found = batches(inputs.numpy_input_fn({"x": x}, y, batch_size=4, num_epochs=2, shuffle=False))
    features, labels = zip(*found, strict=True)
    assert [len(each) for each in labels] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate(labels), [*range(5), *range(5)])
    np.testing.assert_array_equal(np.concatenate([each["x"] for each in features]), [*x, *x])


def test_shuffled_examples_come_once_in_each_epoch_and_keep_their_labels():
    x = np.arange(40).reshape(20, 2)
    found = batches(inputs.numpy_input_fn(x, x[:, 0], batch_size=8, shuffle=True, num_threads=3))
    rows = np.concatenate([features for features, _ in found])
    labels = np.concatenate([each for _, each in found])
    np.testing.assert_array_equal(rows[:, 0], labels)
    assert collections.Counter(labels) == collections.Counter(x[:, 0])
    assert list(labels) != list(x[:, 0])


def test_texts_and_dictionaries_of_labels_keep_their_structure():
    x = {"word": np.array(["a", "b"]), "id": np.array([1, 2])}
    y = {"first": np.array([1.0, 2.0]), "second": np.array([3.0, 4.0])}
    ((features, labels),) = batches(inputs.numpy_input_fn(x, y, shuffle=False))
    assert features["word"].tolist() == [b"a", b"b"]
    assert features["id"].tolist() == [1, 2]
    assert labels["second"].tolist() == [3.0, 4.0]
    (alone,) = batches(inputs.numpy_input_fn(np.array([1, 2]), shuffle=False))
    assert alone.tolist() == [1, 2]


@pytest.mark.parametrize(
    "x, y, error, message",
    [
        ({}, None, ValueError, "x cannot be an empty dict"),
        (np.zeros([0]), None, ValueError, "x cannot be an empty array"),
        ([1], None, TypeError, "x must be a dict or array"),
        (np.zeros(2), {}, ValueError, "y cannot be empty dict"),
        (np.zeros(2), np.zeros(3), ValueError, "mismatched"),
        ({"a": np.zeros(2)}, {"a": np.zeros(2)}, ValueError, "duplicate keys"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(x, y, error, message):
    with tf.Graph().as_default(), pytest.raises(error, match=message):
        inputs.numpy_input_fn(x, y, shuffle=False)()


def test_shuffle_must_be_given():
    with pytest.raises(ValueError, match="shuffle must be provided"):
        inputs.numpy_input_fn(np.zeros(2))


class Frame(dict):
    """Looks like a DataFrame of one index."""

    index = (0, 1)

    @property
    def columns(self):
        return list(self)

    def __getitem__(self, name):
        values = super().__getitem__(name)
        return SimpleNamespace(to_numpy=lambda: np.array(values))


def test_the_columns_of_a_frame_are_features():
    target = SimpleNamespace(index=(0, 1), to_numpy=lambda: np.array([5, 6]))
    frame = Frame(a=[1, 2], b=[3.0, 4.0])
    ((features, labels),) = batches(inputs.pandas_input_fn(frame, target, shuffle=False))
    assert {name: each.tolist() for name, each in features.items()} == {"a": [1, 2], "b": [3, 4]}
    assert labels.tolist() == [5, 6]
    target.index = (1, 2)
    with pytest.raises(ValueError, match="Index for x and y are mismatched"):
        inputs.pandas_input_fn(frame, target, shuffle=False)()
    with pytest.raises(ValueError, match="Cannot use name a"):
        inputs.pandas_input_fn(frame, target, shuffle=False, target_column="a")()
    with pytest.raises(TypeError, match="must be a pandas DataFrame"):
        inputs.pandas_input_fn([1], shuffle=False)


def test_receivers_parse_examples_or_take_raw_features():
    example = tf.train.Example()
    example.features.feature["x"].float_list.value.append(2.0)
    with tf.Graph().as_default():
        spec = {"x": tf.FixedLenFeature([1], tf.float32)}
        parsed = export.build_parsing_serving_input_receiver_fn(spec)()
        x = tf.zeros([7, 3], name="x")
        raw = export.build_raw_serving_input_receiver_fn({"x": x}, default_batch_size=2)()
        with tf.Session() as session:
            feed = {parsed.receiver_tensors["examples"]: [example.SerializeToString()]}
            assert session.run(parsed.features["x"], feed).tolist() == [[2.0]]
    assert raw.receiver_tensors["x"].shape.as_list() == [2, 3]
    assert raw.features == raw.receiver_tensors
    assert raw.features is not raw.receiver_tensors
