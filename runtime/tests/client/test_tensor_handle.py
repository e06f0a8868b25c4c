"""Tensors that a session keeps between its steps."""

import gc

import pytest

import capstan as tf


def test_a_fetched_handle_gives_the_tensor_in_later_steps() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.constant([1.0, 2.0])
        handle = session.run(tf.get_session_handle(value))
        assert str(handle) == handle.handle
        assert handle.handle.startswith("GetSessionHandle;0;/job:localhost/replica:0/task:0")
        holder, tensor = tf.get_session_tensor(handle.handle, tf.float32)
        doubled = tensor * 2.0
        assert session.run(doubled, {holder: handle.handle}).tolist() == [2, 4]
        assert session.run(doubled, {holder: handle}).tolist() == [2, 4]
        assert handle.eval().tolist() == [1, 2]
        placeholder = tf.placeholder(tf.float32, [2])
        assert session.run(placeholder + 1.0, {placeholder: handle}).tolist() == [2, 3]


def test_a_deleted_tensor_is_gone() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        handle = session.run(tf.get_session_handle(tf.constant(1)))
        holder, tensor = tf.get_session_tensor(handle.handle, tf.int32)
        handle.delete()
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
            session.run(tensor, {holder: handle.handle})
        with pytest.raises(TypeError, match="may have already been deleted"):
            handle.eval()


def test_a_raw_handle_lives_until_it_is_deleted() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        raw = session.run(tf.get_session_handle(tf.constant(7))).get_raw_handle()
        holder, tensor = tf.get_session_tensor(raw, tf.int32)
        assert session.run(tensor, {holder: raw}) == 7
        holder, delete = tf.delete_session_tensor(raw)
        session.run(delete, {holder: raw})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Failed to delete"):
            session.run(delete, {holder: raw})


@pytest.mark.e2e
def test_tensors_without_handles_are_deleted() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        get = tf.get_session_handle(tf.constant(7))
        handles = [session.run(get) for _ in range(10)]
        texts = [handle.handle for handle in handles]
        del handles
        gc.collect()
        session.run(get)
        holder, tensor = tf.get_session_tensor(texts[0], tf.int32)
        for text in texts:
            with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
                session.run(tensor, {holder: text})


def test_only_a_tensor_has_a_handle() -> None:
    with pytest.raises(TypeError, match=r"`data` must be of type Tensor\."):
        tf.get_session_handle(3)
