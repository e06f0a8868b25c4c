"""`tf.hessians`."""

import numpy as np
import pytest

import capstan as tf


@pytest.mark.e2e
def test_a_hessian_has_the_second_derivatives_by_each_pair_of_elements() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant([[1.0, 2.0]]), tf.constant([2.0, 5.0, 7.0])
        y = tf.reduce_sum(x * x * x * w[1]) + w[0] * w[0] * w[2]
        of_x, of_w = session.run(tf.hessians(y, [x, w]))
        (of_one,) = session.run(tf.hessians([y, y], w))
        with pytest.raises(ValueError, match="None values not supported"):
            tf.hessians(tf.reduce_sum(x), x)
    assert np.array_equal(of_x, [[[[30.0, 0.0]], [[0.0, 60.0]]]])
    assert np.array_equal(of_w, [[14.0, 0.0, 4.0], [0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    assert np.array_equal(of_one, 2 * of_w)
