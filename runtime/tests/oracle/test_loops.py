"""TensorFlow clients run loops and functions on Capstan's tasks, and get TensorFlow's values."""

from typing import Any

import client_loops
import genuine
import numpy as np
import pytest

pytestmark = genuine.MARKS


@pytest.mark.parametrize(
    "build", client_loops.PROGRAMS, ids=[build.__name__ for build in client_loops.PROGRAMS]
)
def test_a_loop_gives_the_values_of_tensorflow(
    tf: Any, v1: Any, tasks: genuine.Tasks, build: client_loops.Program
) -> None:
    with v1.device("/job:worker/task:0"):
        fetches, feeds = build(v1)
    fetches = [tensor for tensor in tf.nest.flatten(fetches) if tensor is not None]
    initialise = v1.global_variables_initializer()
    with v1.Session(tasks.target()) as session:
        session.run(initialise)
        ours = session.run(fetches, feeds)
        session.run(initialise)
        again = session.run(fetches, feeds)
    graph = v1.get_default_graph().as_graph_def()
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
        for node in nodes:
            node.device = ""
    with tf.Graph().as_default():
        v1.import_graph_def(graph, name="")
        names = {tensor.name: value for tensor, value in feeds.items()}
        with v1.Session() as session:
            session.run(initialise.name)
            theirs = session.run([tensor.name for tensor in fetches], names)
    for mine, second, expected in zip(ours, again, theirs, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(second, mine)
