"""`slim.utils`: what is known of sizes and conditions while a graph is built."""

from collections.abc import Callable
from typing import Any

import pytest

import capstan as tf

utils = tf.contrib.slim.utils
Shape = tf.TensorShape


def test_the_two_modules_are_the_same() -> None:
    from capstan.contrib.layers.python.layers import utils as inner

    assert inner is utils


def test_sizes_of_axes_are_numbers() -> None:
    shape = Shape([None, 3, 5])
    assert utils.last_dimension(shape, min_rank=3) == 5
    assert utils.channel_dimension(shape, "channels_first") == 3
    assert utils.channel_dimension(shape, "channels_last", min_rank=2) == 5


def test_a_number_stands_for_several() -> None:
    assert utils.two_element_tuple(3) == (3, 3)
    assert utils.two_element_tuple([3, 4]) == (3, 4)
    assert utils.two_element_tuple(Shape([3, 4])) == (3, 4)
    assert utils.n_positive_integers(3, 2) == (2, 2, 2)
    assert utils.n_positive_integers(2, Shape([4, 1])) == (4, 1)


def test_the_value_of_a_constant_is_known() -> None:
    assert utils.constant_value(tf.constant([1.5, 2.0])).tolist() == [1.5, 2.0]
    assert utils.constant_value(3, tf.float32) == 3
    assert utils.constant_value(tf.placeholder(tf.float32, []), tf.float32) is None
    assert utils.constant_value(tf.get_variable("v", [1]), tf.float32) is None


def test_a_condition_that_is_known_calls_one_function() -> None:
    for condition in (True, tf.constant(True), 1):
        assert utils.smart_cond(condition, lambda: "then", lambda: "else") == "then"
    assert utils.static_cond([], lambda: "then", lambda: "else") == "else"
    condition = tf.placeholder(tf.bool, [])
    chosen = utils.smart_cond(condition, fn1=lambda: tf.constant(1), fn2=lambda: tf.constant(2))
    with tf.Session() as session:
        assert [session.run(chosen, {condition: value}) for value in (True, False)] == [1, 2]


@pytest.mark.parametrize(
    "use, error, message",
    [
        (lambda: utils.last_dimension(Shape(None)), ValueError, "must be known but is None"),
        (lambda: utils.last_dimension(Shape([2, None])), ValueError, "dimension -1 of shape"),
        (lambda: utils.last_dimension(Shape([2]), 2), ValueError, "at least 2 not: 1"),
        (lambda: utils.two_element_tuple([1]), ValueError, "list with 2 elements"),
        (lambda: utils.two_element_tuple(Shape([1])), ValueError, "length 2"),
        (lambda: utils.n_positive_integers(0, 1), ValueError, "n must be a positive"),
        (lambda: utils.n_positive_integers(2, 0), ValueError, "positive integer, but received 0"),
        (lambda: utils.n_positive_integers(2, [1]), ValueError, "sequence of 2 positive"),
        (lambda: utils.n_positive_integers(1, "a"), ValueError, "sequence of 1 positive"),
        (lambda: utils.constant_value(None), ValueError, "cannot be None"),
        (lambda: utils.constant_value(tf.constant(1), tf.float32), ValueError, "wrong type"),
        (lambda: utils.static_cond(True, 1, int), TypeError, "fn1 must be callable"),
        (lambda: utils.static_cond(True, int, 1), TypeError, "fn2 must be callable"),
    ],
)
def test_wrong_uses_are_refused(
    use: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        use()
