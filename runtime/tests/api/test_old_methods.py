"""Methods that TensorFlow keeps beside newer ones: their results are those of the newer methods."""

import numpy as np

import capstan as tf


def test_datasets_call_legacy_functions() -> None:
    numbers = tf.data.Dataset.range(6)
    doubled = numbers.map_with_legacy_function(lambda n: n * 2, num_parallel_calls=2)
    kept = doubled.filter_with_legacy_function(lambda n: tf.equal(n % 4, 0)).batch(9)
    with tf.Session() as session:
        found = session.run(kept.make_one_shot_iterator().get_next())
    np.testing.assert_array_equal(found, [0, 4, 8])


def test_a_dropout_wrapper_has_its_cell() -> None:
    cell = tf.nn.rnn_cell.LSTMCell(3)
    assert tf.nn.rnn_cell.DropoutWrapper(cell, 0.5).wrapped_cell is cell
