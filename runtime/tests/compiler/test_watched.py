"""Nodes that read watched tensors in the memory of a device run after the dumps of the tensors."""

import capstan as tf
from capstan.core import debug_watches
from capstan.graph import prune, watched

TASK = "/job:localhost/replica:0/task:0"


def test_a_merge_waits_for_the_dump_of_the_input_that_it_gets() -> None:
    with tf.device(f"{TASK}/device:GPU:0"):
        x = tf.placeholder(tf.float32, [], name="x")
        tf.cond(x > 0, lambda: tf.identity(x, name="then"), lambda: tf.negative(x, name="else"))
    nodes = {node.name: node for node in tf.get_default_graph().nodes()}
    watch = debug_watches.Watch("*", -1, ("DebugIdentity",), 0, False)
    graph, _ = watched.insert(nodes, [watch], TASK)
    merge = graph["cond/Merge"]
    assert merge.control == ()  # one of two control dependencies would never run
    for edge, side in zip(merge.inputs, ("else", "then"), strict=True):
        dump = f"__dbg_cond/{side}:0_0_DebugIdentity"
        assert {f"cond/{side}", dump} <= prune.prune(graph, (), (edge,), ()).keys()
