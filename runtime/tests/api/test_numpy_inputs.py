"""Datasets of arrays that a strategy keeps out of the graph."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

LARGE = np.arange(100_000, dtype=np.float64).reshape(4, -1)


@pytest.mark.parametrize(
    "make",
    [
        tf.distribute.get_strategy,
        lambda: tf.distribute.OneDeviceStrategy("/cpu:0"),
        lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]),
    ],
)
@pytest.mark.parametrize("is_inside", [False, True])
def test_arrays_become_datasets_without_a_copy_in_the_graph(make: Any, is_inside: bool) -> None:
    with tf.Graph().as_default() as graph:
        strategy = make()
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Session(config=config) as session:
            arrays = {"x": (LARGE, [[1], [2], [3], [4]]), "y": np.array([b"a", b"b", b"c", b"d"])}
            if is_inside:
                with strategy.scope():
                    dataset = strategy.experimental_make_numpy_dataset(arrays)
            else:
                dataset = strategy.extended.experimental_make_numpy_dataset(arrays, session)
            assert graph.as_graph_def().ByteSize() < LARGE.nbytes / 10
            iterator = tf.data.make_initializable_iterator(dataset)
            element = iterator.get_next()
            session.run(iterator.initializer)
            for row in range(4):
                found = session.run(element)
                np.testing.assert_array_equal(found["x"][0], LARGE[row])
                assert (found["x"][1].tolist(), found["y"]) == ([row + 1], b"abcd"[row : row + 1])
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(element)


def test_arrays_need_a_session() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="session"):
        tf.distribute.get_strategy().experimental_make_numpy_dataset(np.ones(3))
