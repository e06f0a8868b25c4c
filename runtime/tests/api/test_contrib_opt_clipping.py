"""`tf.contrib.opt.VariableClippingOptimizer` limits the norms of variables after each update."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

START = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], np.float32)
RATE = 3.0


def clipped(values: Any, axis: int) -> Any:
    norms = np.linalg.norm(values, axis=axis, keepdims=True)
    return values * 2.0 / np.maximum(norms, 2.0)


def trained(
    grad: Any, dims: list[int], is_resource: bool = False, **options: Any
) -> tuple[Any, Any]:
    """Return the values of a clipped variable and of another one after a step."""
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.get_variable("table", initializer=START, use_resource=is_resource)
        other = tf.get_variable("other", initializer=[4.0, 5.0], use_resource=is_resource)
        # The snapshot of the variable is read before the update.
        loss = tf.reduce_sum(table) * 0.0
        optimizer = tf.contrib.opt.VariableClippingOptimizer(
            tf.train.MomentumOptimizer(RATE, 0.9), {table: dims}, 2.0, **options
        )
        with tf.control_dependencies([loss]):
            pairs = [(grad(), table), (tf.constant([0.5, 0.5]), other)]
        step = tf.train.get_or_create_global_step()
        train = optimizer.apply_gradients(pairs, step)
        assert isinstance(train, tf.Operation)
        assert optimizer.get_slot_names() == ["momentum"]
        assert optimizer.get_slot(other, "momentum").shape == (2,)
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(step) == 1
        return session.run([table, other])


def dense() -> Any:
    return tf.constant(np.full((3, 2), 0.1, np.float32))


def sparse() -> Any:
    """A gradient that has row 2 twice."""
    rows = np.array([[0.1, 0.1], [0.05, 0.05], [0.05, 0.05]], np.float32)
    return tf.IndexedSlices(tf.constant(rows), tf.constant([0, 2, 2]), tf.constant([3, 2]))


@pytest.mark.parametrize("is_beside", [False, True])
@pytest.mark.parametrize("is_resource", [False, True])
def test_each_row_of_a_variable_with_a_dense_gradient_is_clipped(
    is_resource: bool, is_beside: bool
) -> None:
    table, other = trained(dense, [1], is_resource, colocate_clip_ops_with_vars=is_beside)
    np.testing.assert_allclose(table, clipped(START - RATE * 0.1, 1), rtol=1e-6)
    np.testing.assert_allclose(other, [4.0 - RATE * 0.5, 5.0 - RATE * 0.5], rtol=1e-6)


@pytest.mark.parametrize("is_resource", [False, True])
def test_only_the_rows_of_a_sparse_gradient_are_clipped_and_each_once(is_resource: bool) -> None:
    table, _ = trained(sparse, [1], is_resource)
    wanted = START.copy()
    wanted[[0, 2]] = clipped(START - RATE * 0.1, 1)[[0, 2]]
    np.testing.assert_allclose(table, wanted, rtol=1e-6)


def test_norms_over_the_rows_of_a_sparse_gradient_clip_the_whole_variable_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    table, _ = trained(sparse, [0])
    updated = START.copy()
    updated[[0, 2]] -= np.float32(RATE * 0.1)
    np.testing.assert_allclose(table, clipped(updated, 0), rtol=1e-6)
    assert "sparse dimension 0" in caplog.text


def test_a_gradient_that_is_none_clips_nothing() -> None:
    table, _ = trained(lambda: None, [1])
    np.testing.assert_array_equal(table, START)
