"""`python.ops.control_flow_util` tells programs which loop they are building."""

from typing import Any

import capstan as tf
from capstan.python.ops import control_flow_util


def test_the_loop_around_a_conditional_is_found() -> None:
    found: list[Any] = []

    def note() -> Any:
        context = tf.get_default_graph()._get_control_flow_context()
        op = tf.constant(1).op
        assert op._get_control_flow_context() is context
        op._set_control_flow_context(None)
        assert op._get_control_flow_context() is op.control_flow_context is None
        found.append(context)
        found.append(control_flow_util.GetContainingWhileContext(context))
        found.append(control_flow_util.GetContainingWhileContext(context, stop_ctxt=context))
        assert control_flow_util.GetContainingXLAContext(context) is None
        return tf.constant(1)

    with tf.Graph().as_default() as graph:
        assert graph._get_control_flow_context() is None
        assert control_flow_util.GetContainingWhileContext(None) is None
        tf.while_loop(
            lambda i: i < 3, lambda i: i + tf.cond(i < 1, note, lambda: tf.constant(2)), [0]
        )
    branch, loop, stopped = found
    assert (branch.is_loop, loop.is_loop) == (False, True)
    assert stopped is branch
