"""`InteractiveSession`: the default session of a shell."""

import pytest

import capstan as tf


def test_it_is_the_default_session_from_its_constructor_to_its_close() -> None:
    session = tf.InteractiveSession(graph=tf.Graph())
    with session.graph.as_default():
        x = tf.constant(2.0) * 3.0
        assert x.eval() == 6.0
        session.close()
        with pytest.raises(ValueError, match="No default session"):
            x.eval()
    assert tf.get_default_session() is None


def test_a_second_one_may_be_closed_before_the_first() -> None:
    first = tf.InteractiveSession()
    with pytest.warns(UserWarning, match="already active"):
        second = tf.InteractiveSession()
    assert tf.get_default_session() is second
    first.close()
    assert tf.get_default_session() is second
    second.close()
    assert tf.get_default_session() is None
