"""Assignments to slices of variables."""

import numpy as np
import pytest

import capstan as tf


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_slice_of_a_variable_is_assigned_and_the_result_is_the_variable(
    use_resource: bool,
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=[1.0, 2.0, 3.0, 4.0], use_resource=use_resource)
        change = v[1:3].assign([8.0, 9.0])
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(change), [1, 8, 9, 4])
        np.testing.assert_array_equal(session.run(v), [1, 8, 9, 4])


@pytest.mark.parametrize(
    ("use_resource", "missing", "message"),
    [
        (False, tf.errors.FailedPreconditionError, "uninitialized value v"),
        (True, tf.errors.NotFoundError, "does not exist"),
    ],
)
def test_a_value_that_does_not_fit_the_slice_changes_nothing(
    use_resource: bool, missing: type[Exception], message: str
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=[1.0, 2.0, 3.0, 4.0], use_resource=use_resource)
        change = v[1:3].assign(tf.placeholder_with_default([8.0, 9.0, 7.0], [None]))
        with pytest.raises(missing, match=message):
            session.run(change.op)
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape \[3\].*shape \[2\]"):
            session.run(change.op)
        np.testing.assert_array_equal(session.run(v), [1, 2, 3, 4])


def test_only_a_slice_of_a_variable_can_be_assigned() -> None:
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        assert hasattr(v[0], "assign")
        assert not hasattr(tf.identity(v)[0], "assign")
        assert not hasattr(tf.strided_slice(v, [0], [1]), "assign")
        part = tf.strided_slice(v, [0], [1], var=v, name="part")
        assert part.assign([3.0]).op.name == "part_assign"
