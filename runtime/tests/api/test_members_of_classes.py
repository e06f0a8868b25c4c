"""Members of classes that programs seldom use."""

import pytest

import capstan as tf


def test_the_state_of_an_lstm_has_a_type() -> None:
    zeros = tf.zeros([1, 2])
    assert tf.nn.rnn_cell.LSTMStateTuple(zeros, zeros).dtype == tf.float32
    with pytest.raises(TypeError, match=r"Inconsistent internal state: .*float32.* vs .*float64"):
        _ = tf.nn.rnn_cell.LSTMStateTuple(zeros, tf.cast(zeros, tf.float64)).dtype
    assert tf.nn.rnn_cell.LSTMStateTuple(1, 2)._replace(h=3) == (1, 3)


def test_slices_know_the_operations_that_read_them() -> None:
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]))
    assert slices.consumers() == []
    read = [tf.identity(slices.values).op, tf.identity(slices.indices).op]
    assert slices.consumers() == read


def test_a_dense_table_has_two_names_for_its_changes() -> None:
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, 0, -1, -2)
    keys = tf.constant([1, 2], tf.int64)
    with tf.Session() as session:
        session.run(table.insert_or_assign(keys, keys + 10))
        session.run(table.erase(keys[:1]))
        assert session.run(table.lookup(keys)).tolist() == [0, 12]


def test_a_callback_knows_its_metric_and_whether_it_rests() -> None:
    early = tf.keras.callbacks.EarlyStopping("loss")
    assert early.get_monitor_value({"loss": 2.0}) == 2.0
    assert early.get_monitor_value({}) is None
    plateau = tf.keras.callbacks.ReduceLROnPlateau("loss", cooldown=2)
    assert plateau.in_cooldown() is False
    plateau.cooldown_counter = 1
    assert plateau.in_cooldown() is True
