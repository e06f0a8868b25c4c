"""`tf.contrib.opt.MultitaskOptimizerWrapper` leaves variables without a gradient as they are."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

opt = tf.contrib.opt
START = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    "optimizer", [lambda: tf.train.MomentumOptimizer(2.0, 0.9), lambda: tf.train.AdamOptimizer()]
)
def test_gradients_of_zeros_change_nothing(
    use_resource: bool, is_sparse: bool, optimizer: Any
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        slope = tf.placeholder(tf.float32, [2, 2])
        grad = tf.IndexedSlices(slope, tf.constant([0, 1]), tf.constant([2, 2]))
        one, other = (tf.Variable(START, use_resource=use_resource) for _ in range(2))
        plain, wrapped = optimizer(), opt.MultitaskOptimizerWrapper(optimizer())
        trains = [
            each.apply_gradients([(grad if is_sparse else slope, variable)])
            for each, variable in ((plain, one), (wrapped, other))
        ]
        assert wrapped.get_slot_names() == plain.get_slot_names()
        slots = [wrapped.get_slot(other, name) for name in wrapped.get_slot_names()]
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(trains, {slope: [[0.1, 0.2], [0.0, 0.3]]})
        first, second, kept = session.run([one, other, slots])
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, START)
        session.run(trains, {slope: np.zeros((2, 2))})
        again, still, same = session.run([one, other, slots])
        assert not np.array_equal(again, first)
        np.testing.assert_array_equal(still, second)
        np.testing.assert_array_equal(same, kept)


def test_only_an_optimizer_is_wrapped() -> None:
    with pytest.raises(TypeError, match=r"must be an instance of tf\.train\.Optimizer"):
        opt.MultitaskOptimizerWrapper(3)


@pytest.mark.parametrize(("limit", "factor"), [(20.0, 1.0), (1.0, 0.2)])
def test_gradients_are_clipped_by_the_norm_of_all(limit: float, factor: float) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variables = [tf.Variable(0.0) for _ in range(3)]
        grads = [tf.constant([3.0, 0.0]), tf.zeros([2]), None, tf.constant(4.0)]
        pairs = list(zip(grads, [*variables, variables[0]], strict=True))
        clipped, norm = opt.clip_gradients_by_global_norm(pairs, limit)
        assert [variable for _, variable in clipped] == [variable for _, variable in pairs]
        assert clipped[2][0] is None
        found = session.run([norm, clipped[0][0], clipped[1][0], clipped[3][0]])
    assert found[0] == 5
    np.testing.assert_allclose(found[1], [3 * factor, 0], rtol=1e-6)
    np.testing.assert_allclose(found[2], [0, 0])
    np.testing.assert_allclose(found[3], 4 * factor, rtol=1e-6)
