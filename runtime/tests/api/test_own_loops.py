"""Programs with their own cells and loops find what they import from TensorFlow."""

import numpy as np
import pytest

import capstan as tf
from capstan.python.ops.rnn_cell_impl import _like_rnncell, _Linear

LEFT, RIGHT = np.ones((2, 3), np.float32), np.full((2, 1), 2, np.float32)


@pytest.mark.parametrize("build_bias", [True, False])
def test_linear_multiplies_joined_arguments_by_its_kernel(build_bias: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("gates"):
            linear = _Linear(
                [tf.constant(LEFT), tf.constant(RIGHT)],
                5,
                build_bias,
                bias_initializer=tf.constant_initializer(7.0),
                kernel_initializer=tf.ones_initializer(),
            )
        names = [variable.op.name for variable in tf.global_variables()]
        session.run(tf.global_variables_initializer())
        found = session.run(linear([tf.constant(LEFT), tf.constant(RIGHT)]))
    assert names == ["gates/kernel", "gates/bias"][: 1 + build_bias]
    assert (found == 3 + 2 + 7 * build_bias).all()


@pytest.mark.parametrize(
    "args, message",
    [
        ([], "must be specified"),
        (None, "must be specified"),
        ([np.ones(3)], "2D arguments"),
        ("unknown", "to be provided"),
    ],
)
def test_linear_refuses_other_arguments(args: object, message: str) -> None:
    with tf.Graph().as_default():
        if args == "unknown":
            args = [tf.placeholder(tf.float32, [None, None])]
        elif args:
            args = [tf.constant(each) for each in args]
        with pytest.raises(ValueError, match=message):
            _Linear(args, 2, build_bias=True)


def test_an_object_with_the_members_of_a_cell_is_like_a_cell() -> None:
    assert _like_rnncell(tf.nn.rnn_cell.GRUCell(3))
    assert not _like_rnncell(len)


def test_sizes_that_are_unknown_are_joined_only_as_a_list() -> None:
    concat = tf.python.ops.rnn_cell_impl._concat
    with tf.Graph().as_default():
        assert concat(tf.TensorShape([None]), 3, static=True) == [None, 3]
        assert concat(tf.TensorShape(None), 3, static=True) is None
        with pytest.raises(ValueError, match="prefix or suffix of None"):
            concat(tf.TensorShape([None]), 3)


def test_a_tensor_of_sizes_is_its_own_stack() -> None:
    with tf.Graph().as_default():
        sizes = tf.constant([2, 3])
        assert tf.stack(sizes) is sizes
