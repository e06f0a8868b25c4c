"""`wrap_function` and `vectorized_map`: Capstan gives TensorFlow's values."""

from collections.abc import Callable
from typing import Any

import comparison
import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def operations_in_no_order(tf: Any) -> list[Any]:
    variable = tf.get_variable("v", initializer=5.0, use_resource=True)

    def changed(x: Any, adds: bool) -> Any:
        op = variable.assign_add(x) if adds else variable.assign_sub(x)
        with tf.control_dependencies([op]):
            return variable.read_value()

    scalar = tf.TensorSpec((), tf.float32)
    more = tf.wrap_function(changed, [scalar, True])
    less = tf.wrap_function(changed, [scalar, False])
    first = more(tf.constant(1.0))
    with tf.control_dependencies([first]):
        return [first, less(tf.constant(3.0))]


def pruned_graphs(tf: Any) -> list[Any]:
    imported = tf.Graph()
    with imported.as_default():
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.identity(tf.identity(x * 2.0, name="y") + 1.0, name="z")
    whole = tf.wrap_function(lambda: tf.import_graph_def(imported.as_graph_def(), name=""), [])
    one = tf.constant([1.0])
    return [whole.prune("x:0", "z:0")(one), whole.prune(["y:0"], {"z": "z:0"})(one)["z"]]


def mapped_slices(tf: Any) -> list[Any]:
    x = tf.constant(np.arange(6.0).reshape(3, 2))
    y = tf.vectorized_map(lambda row: tf.tensordot(row, row, 0), x)
    return [y, *tf.gradients(y, x)]


def gradients_of_examples(tf: Any) -> list[Any]:
    x = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    weights = tf.Variable([[1.0], [2.0]])

    def of_example(example: Any) -> Any:
        row, label = example
        loss = tf.nn.l2_loss(tf.matmul(row[None], weights) - label)
        return tf.gradients(loss, weights)[0]

    return [tf.vectorized_map(of_example, (x, tf.constant([1.0, 2.0, 3.0])))]


PROGRAMS = (operations_in_no_order, pruned_graphs, mapped_slices, gradients_of_examples)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_wrapped_function_gives_tensorflows_values(
    program: Callable[[Any], list[Any]], v1: Any
) -> None:
    def values(tf: Any) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            fetches = program(tf)
            session.run(tf.global_variables_initializer())
            return list(session.run(fetches))

    for found, wanted in zip(values(capstan), values(v1), strict=True):
        comparison.close(found, wanted, 1e-5)
