"""Tests of the global step."""

import pytest

import capstan as tf
from capstan.python.training import training_util as reads


def test_there_is_one_global_step_in_a_graph():
    assert tf.train.get_global_step() is None
    step = tf.train.get_or_create_global_step()
    assert step.name == "global_step:0"
    assert step.dtype.base_dtype == tf.int64
    assert tf.train.get_or_create_global_step() is step
    assert tf.get_collection(tf.GraphKeys.GLOBAL_STEP) == [step]
    assert step not in tf.trainable_variables()
    with pytest.raises(ValueError, match=r'"global_step" already exists\.'):
        tf.train.create_global_step()


def test_scopes_do_not_change_the_name_of_the_global_step():
    with tf.name_scope("tower"):
        assert tf.train.create_global_step().name == "global_step:0"


def test_the_value_of_a_global_step_with_one_element_is_a_number():
    for value in (3, [3]):
        with tf.Session() as session:
            assert tf.train.global_step(session, tf.constant(value)) == 3


def test_the_global_step_starts_at_zero():
    step = tf.train.create_global_step()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert tf.train.global_step(session, step) == 0


def test_each_graph_has_its_own_global_step():
    other = tf.Graph()
    step = tf.train.create_global_step(other)
    assert tf.train.get_global_step(other) is step
    assert tf.train.get_global_step() is None


def test_a_graph_with_several_global_steps_has_none(caplog: pytest.LogCaptureFixture):
    for n in range(2):
        tf.add_to_collection(tf.GraphKeys.GLOBAL_STEP, tf.Variable(n))
    assert tf.train.get_global_step() is None
    assert "Multiple tensors in global_step collection." in caplog.text


@pytest.mark.parametrize(
    "value, message",
    [
        (1.0, 'Existing "global_step" does not have integer type'),
        ([1, 2], 'Existing "global_step" is not scalar'),
    ],
)
def test_a_global_step_that_is_not_an_integer_scalar_is_refused(value: object, message: str):
    tf.Variable(value, name="global_step")
    with pytest.raises(TypeError, match=message):
        tf.train.get_global_step()


def test_a_global_step_that_is_not_a_tensor_is_refused():
    with pytest.raises(TypeError, match="must be a Variable or Tensor: 3"):
        tf.train.assert_global_step(3)


def test_a_graph_reads_its_global_step_once():
    assert reads._get_or_create_global_step_read() is None
    tf.train.create_global_step()
    assert reads._get_global_step_read() is None
    with tf.name_scope("tower"):
        read = reads._get_or_create_global_step_read()
    assert reads._get_or_create_global_step_read() is read
    assert reads._get_global_step_read() is read
    assert read.op.name.startswith("global_step/")
    with tf.Session() as session:
        assert session.run(read) == 0, "the variable is not initialized"
    tf.add_to_collection(reads.GLOBAL_STEP_READ_KEY, tf.constant(0))
    with pytest.raises(RuntimeError, match="multiple items"):
        reads._get_global_step_read()


def test_the_global_step_is_read_before_it_is_incremented():
    with pytest.raises(ValueError, match="Global step tensor should be created"):
        reads._increment_global_step(3)
    tf.train.create_global_step()
    increment = reads._increment_global_step(3)
    read = reads._get_or_create_global_step_read()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in (0, 3, 6):
            assert session.run([read, increment]) == [value, value + 3]
