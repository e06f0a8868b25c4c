"""Large one-hot tensors are the comparisons of indices with classes."""

from typing import Any

import numpy as np
import pytest

import capstan as tf


@pytest.mark.parametrize("index_type", [np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (400,), (3, 200)])
@pytest.mark.parametrize("on, off", [(1.5, -2.0), (b"on", b"off")])
@pytest.mark.parametrize("has_known_shape", [False, True])
def test_elements_are_on_where_the_index_is_that_of_the_class(
    index_type: Any, axis: int, shape: tuple[int, ...], on: Any, off: Any, has_known_shape: bool
) -> None:
    axis = min(axis, len(shape))
    indices = np.random.default_rng(7).integers(-2, 60, shape).astype(index_type)
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(index_type, shape if has_known_shape else None)
        found = session.run(tf.one_hot(given, 50, on, off, axis), {given: indices})
    place = len(shape) if axis == -1 else axis
    is_on = np.moveaxis(indices[..., np.newaxis] == np.arange(50), -1, place)
    np.testing.assert_array_equal(found, np.where(is_on, on, off).astype(found.dtype))
