"""Changes of variables at multi-dimensional indices."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

CHANGES = {
    "scatter_nd_update": [[0.0, 7.0], [0.0, 0.0], [8.0, 0.0]],
    "scatter_nd_add": [[1.0, 8.0], [1.0, 1.0], [9.0, 1.0]],
    "scatter_nd_sub": [[1.0, -6.0], [1.0, 1.0], [-7.0, 1.0]],
}


def variable(use_resource: bool, fill: float = 1.0) -> Any:
    initial = np.full([3, 2], fill, np.float32)
    return tf.get_variable("v", initializer=initial, use_resource=use_resource)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", sorted(CHANGES))
def test_slices_of_a_variable_change_as_the_function_says(name: str, use_resource: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        changed = variable(use_resource, 0.0 if name == "scatter_nd_update" else 1.0)
        change = getattr(tf, name)(changed, [[0, 1], [2, 0]], [7.0, 8.0])
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(tf.identity(change)), CHANGES[name])
        np.testing.assert_array_equal(session.run(changed), CHANGES[name])


@pytest.mark.parametrize("use_resource", [False, True])
def test_the_values_of_a_repeated_index_are_summed(use_resource: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        changed = variable(use_resource, 0.0)
        change = tf.scatter_nd_add(changed, [[1], [1]], [[1.0, 2.0], [3.0, 4.0]])
        session.run(tf.global_variables_initializer())
        session.run(tf.identity(change))
        np.testing.assert_array_equal(session.run(changed), [[0, 0], [4, 6], [0, 0]])


@pytest.mark.parametrize("use_resource", [False, True])
def test_an_index_out_of_range_fails_and_changes_nothing(use_resource: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        changed = variable(use_resource, 0.0)
        change = tf.scatter_nd_update(changed, [[0], [3]], [[1.0, 2.0], [3.0, 4.0]])
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = \[3\] does not"):
            session.run(tf.identity(change))
        np.testing.assert_array_equal(session.run(changed), np.zeros([3, 2]))
