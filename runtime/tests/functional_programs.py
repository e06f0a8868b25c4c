"""Programs with conditionals and loops as functions, which TensorFlow builds with control flow v2.

Each program takes TensorFlow 1's API and returns the tensors to fetch. All need the values of
variables to be initialised.
"""

from collections.abc import Callable, Sequence
from typing import Any

import control_flow_programs
import numpy as np

Program = Callable[[Any], Sequence[Any]]


def chosen_case(tf: Any) -> Sequence[Any]:
    x = tf.placeholder_with_default(tf.constant([1.0, 2.0]), [None])
    results: list[Any] = []
    for number in (0, 1, 2, 7, -3):
        index = tf.placeholder_with_default(tf.constant(number), [])
        y = tf.switch_case(
            index, [lambda: x * x, lambda: tf.exp(x) * x, lambda: tf.reduce_sum(x) * x]
        )
        results += [y, *tf.gradients(y, x)]
    return results


def second_order_of_loop(tf: Any) -> Sequence[Any]:
    x = tf.constant(1.5)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y * x), [0, x])
    (first,) = tf.gradients(y, x)
    return [y, first, *tf.gradients(first, x)]


def second_order_of_branches(tf: Any) -> Sequence[Any]:
    x = tf.constant(0.7)
    y = tf.cond(x > 0.5, lambda: tf.cond(x > 0.6, lambda: x**4, lambda: x), lambda: -x)
    (first,) = tf.gradients(y, x)
    return [first, *tf.gradients(first, x)]


def three_levels(tf: Any) -> Sequence[Any]:
    x = tf.constant(1.1)

    def innermost(k: Any, z: Any, y: Any) -> Any:
        return k + 1, tf.cond(z > 4.0, lambda: z - y * x, lambda: z * x + y)

    def inner(j: Any, y: Any) -> Any:
        _, z = tf.while_loop(lambda k, z: k < j, lambda k, z: innermost(k, z, y), [0, y])
        return j + 1, z * 0.5

    def outer(i: Any, y: Any) -> Any:
        _, z = tf.while_loop(lambda j, y: j < i + 1, inner, [0, y])
        return i + 1, z

    _, y = tf.while_loop(lambda i, y: i < 3, outer, [0, x])
    return [y, *tf.gradients(y, x)]


def no_iterations(tf: Any) -> Sequence[Any]:
    x = tf.placeholder_with_default(tf.constant([[1.0, 2.0]]), [None, None])
    limit = tf.placeholder_with_default(tf.constant(0), [])
    _, y = tf.while_loop(lambda i, y: i < limit, lambda i, y: (i + 1, tf.tanh(y) * x), [0, x])
    return [y, *tf.gradients(y, x)]


def array_of_changing_shapes(tf: Any) -> Sequence[Any]:
    x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    array = tf.TensorArray(tf.float32, size=3, infer_shape=False, element_shape=[None])
    array = array.split(x, [3, 1, 2])
    y = array.write(1, x[:4] * 2.0).concat()
    grown = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[])
    _, grown = tf.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, x[i] * x[i + 1])), [0, grown]
    )
    z = grown.stack()
    return [y, z, grown.size(), *tf.gradients([y * y, z], x)]


def scattered(tf: Any) -> Sequence[Any]:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    array = tf.TensorArray(tf.float32, size=4, element_shape=[2]).scatter([2, 0, 3], x * x)
    y = array.gather([3, 3, 1])
    return [y, array.read(2), *tf.gradients([y, array.stack()], x)]


def strings_and_flags(tf: Any) -> Sequence[Any]:
    names = tf.TensorArray(tf.string, size=3, element_shape=[])
    _, names, flags = tf.while_loop(
        lambda i, a, f: i < 3,
        lambda i, a, f: (i + 1, a.write(i, tf.as_string(i)), tf.logical_not(f)),
        [0, names, tf.constant(False)],
    )
    return [names.stack(), flags]


def reference_variable(tf: Any) -> Sequence[Any]:
    return _variable(tf, use_resource=False)


def resource_variable(tf: Any) -> Sequence[Any]:
    return _variable(tf, use_resource=True)


def _variable(tf: Any, *, use_resource: bool) -> Sequence[Any]:
    w = tf.get_variable("w", initializer=np.float32([0.5, 1.5]), use_resource=use_resource)
    x = tf.constant([1.0, 2.0])

    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * w + x, lambda: tf.tanh(y - w))

    _, y = tf.while_loop(lambda i, y: i < 5, body, [0, x])
    return [y, *tf.gradients(y, [w, x])]


def sparse_gradient(tf: Any) -> Sequence[Any]:
    table = tf.get_variable("t", initializer=np.float32([[1, 2], [3, 4]]), use_resource=True)
    y = tf.cond(
        tf.constant(True), lambda: tf.nn.embedding_lookup(table, [1, 1]), lambda: table * 2.0
    )
    (grad,) = tf.gradients(y * y, table)
    return [y, tf.convert_to_tensor(grad)]


def _recurrent(tf: Any, name: str) -> Sequence[Any]:
    from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl

    random = np.random.default_rng(0)
    cell = getattr(rnn_cell_impl, name)(3)
    x = tf.constant(random.standard_normal((2, 4, 5)), tf.float32)
    with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.1), use_resource=True):
        outputs, state = tf.nn.dynamic_rnn(cell, x, [4, 2], dtype=tf.float32)
    weights = tf.trainable_variables()
    return [outputs, *tf.nest.flatten(state), *tf.gradients(outputs, [x, *weights])]


def basic_rnn(tf: Any) -> Sequence[Any]:
    return _recurrent(tf, "BasicRNNCell")


def gru(tf: Any) -> Sequence[Any]:
    return _recurrent(tf, "GRUCell")


def lstm(tf: Any) -> Sequence[Any]:
    return _recurrent(tf, "LSTMCell")


PROGRAMS: dict[str, Program] = {
    **control_flow_programs.PROGRAMS,
    **{
        program.__name__.replace("_", " "): program
        for program in (
            chosen_case, second_order_of_loop, second_order_of_branches, three_levels,
            no_iterations, array_of_changing_shapes, scattered, strings_and_flags,
            reference_variable, resource_variable, sparse_gradient, basic_rnn, gru, lstm,
        )
    },
}  # fmt: skip

REFUSED_BY_TENSORFLOW = frozenset({
    # A captured variable is a value inside of a function, so `assign_add` refuses it.
    "variable in loop",
    # TensorFlow adds the gradients of two lists whose elements have different shapes.
    "array of changing shapes",
})  # fmt: skip

OF_TENSORFLOW = frozenset({"basic rnn", "gru", "lstm"})
"""The programs that import parts of TensorFlow."""
