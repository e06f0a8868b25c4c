"""Programs with conditionals and loops, which any implementation of `tf` can build.

Each program takes `tf` and returns its fetches. All values are small, so float32 is exact enough.
"""

from collections.abc import Callable, Sequence
from typing import Any

import array_programs

Program = Callable[[Any], Sequence[Any]]


def counting(tf: Any) -> Sequence[Any]:
    i = tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)])
    return [i]


def several_variables(tf: Any) -> Sequence[Any]:
    x = tf.constant([1.0, 2.0])
    i, y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * x + 1.0), [0, x])
    return [i, y, *tf.gradients(y, x)]


def no_iterations(tf: Any) -> Sequence[Any]:
    x = tf.constant(3.0)
    i, y = tf.while_loop(lambda i, y: i < 0, lambda i, y: (i + 1, y * x), [0, x])
    return [i, y, *tf.gradients(y, x)]


def invariant_gradient(tf: Any) -> Sequence[Any]:
    x, w = tf.constant([[1.0, 2.0]]), tf.constant([[0.5, 0.1], [0.2, 0.3]])
    _, y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.matmul(y, w)), [0, x])
    return [y, *tf.gradients(y, [x, w])]


def gradient_of_unused_variable(tf: Any) -> Sequence[Any]:
    x, z = tf.constant(2.0), tf.constant(3.0)
    _, y, _ = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * b, b + a), [0, x, z])
    return [y, *tf.gradients(y, [x, z])]


def gradient_through_both(tf: Any) -> Sequence[Any]:
    x, z = tf.constant([1.0, 2.0]), tf.constant([3.0, -1.0])
    _, y, u = tf.while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * b, b + tf.sigmoid(a)), [0, x, z]
    )
    return [y, u, *tf.gradients([y, u * u], [x, z])]


def weighted_gradients(tf: Any) -> Sequence[Any]:
    x, z = tf.constant([1.0, 2.0]), tf.constant([3.0, -1.0])
    _, y, u = tf.while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * z, b + a * x), [0, x, z]
    )
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(x * z)
    read = array.stack() * array.read(0)
    return [*tf.gradients([y, u], [x, z], grad_ys=[x, z]), *tf.gradients(read, x, grad_ys=z)]


def constant_next_value(tf: Any) -> Sequence[Any]:
    x = tf.constant(2.0)
    _, y, u = tf.while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * b, tf.constant(4.0)), [0, x, x]
    )
    return [y, u, *tf.gradients(y, x)]


def nested(tf: Any) -> Sequence[Any]:
    x = tf.constant(1.5)

    def body(i: Any, y: Any) -> Any:
        _, z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x + y), [0, y])
        return i + 1, z

    _, y = tf.while_loop(lambda i, y: i < 4, body, [0, x])
    return [y, *tf.gradients(y, x)]


def nested_with_unknown_shape(tf: Any) -> Sequence[Any]:
    x = tf.placeholder_with_default(tf.constant([1.0, 0.5]), [None])
    w = tf.placeholder_with_default(tf.constant([0.3, 0.7]), [None])

    def body(i: Any, y: Any) -> Any:
        _, z = tf.while_loop(lambda j, z: j < 2, lambda j, z: (j + 1, z * w + y), [0, y])
        return i + 1, z

    _, y = tf.while_loop(lambda i, y: i < 3, body, [0, x])
    return [y, *tf.gradients(y, [x, w])]


def cond_in_loop(tf: Any) -> Sequence[Any]:
    x = tf.constant(1.1)

    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * x, lambda: y + x * 2.0)

    _, y = tf.while_loop(lambda i, y: i < 5, body, [0, x])
    return [y, *tf.gradients(y, x)]


def cond_in_loop_with_unknown_shape(tf: Any) -> Sequence[Any]:
    x = tf.placeholder_with_default(tf.constant([1.0, 0.5]), [None])

    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(i < 2, lambda: tf.tanh(y) * x, lambda: y + 1.0)

    _, y = tf.while_loop(lambda i, y: i < 5, body, [0, x])
    return [y, *tf.gradients(y, x)]


def nested_conds_in_loop(tf: Any) -> Sequence[Any]:
    x = tf.constant(0.7)

    def body(i: Any, y: Any) -> Any:
        inner = lambda: tf.cond(y > 1.0, lambda: y * x, lambda: y + i_as_float)  # noqa: E731
        i_as_float = tf.cast(i, tf.float32)
        return i + 1, tf.cond(tf.equal(i % 2, 0), inner, lambda: tf.exp(-y))

    _, y = tf.while_loop(lambda i, y: i < 6, body, [0, x])
    return [y, *tf.gradients(y, x)]


def loop_in_cond(tf: Any) -> Sequence[Any]:
    x = tf.constant(1.2)

    def looping() -> Any:
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])
        return y

    results: list[Any] = []
    for flag in (True, False):
        pred = tf.placeholder_with_default(tf.constant(flag), [])
        y = tf.cond(pred, looping, lambda: x * 5.0)
        results += [y, *tf.gradients(y, x)]
    return results


def maximum_iterations(tf: Any) -> Sequence[Any]:
    x = tf.constant(1.2)
    i, y = tf.while_loop(
        lambda i, y: i < 10, lambda i, y: [i + 1, y * x], [0, x], maximum_iterations=4
    )
    one = tf.while_loop(lambda i: i < 10, lambda i: i + 2, [0], maximum_iterations=tf.constant(3))
    return [i, y, one, *tf.gradients(y, x)]


def growing(tf: Any) -> Sequence[Any]:
    x = tf.constant([1.0])
    i, y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, tf.concat([y, y * 2.0], 0)),
        [tf.constant(0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    return [i, y, *tf.gradients(y, x)]


def structures(tf: Any) -> Sequence[Any]:
    x = tf.constant(2.0)
    i, (a, b) = tf.while_loop(
        lambda i, ab: i < 3,
        lambda i, ab: (i + 1, (ab[0] + ab[1], {"k": ab[1]["k"] * x} if 0 else ab[1] * x)),
        (tf.constant(0), (x, tf.constant(1.0))),
    )
    same = tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0], return_same_structure=True)
    return [i, a, b, *same, *tf.gradients(a, x)]


def control_dependencies_in_loop(tf: Any) -> Sequence[Any]:
    x = tf.constant(2.0)
    outside = x * 3.0

    def body(i: Any, y: Any) -> Any:
        with tf.control_dependencies([outside, y]):
            z = tf.identity(y) + tf.constant(1.0)
        z, u = tf.tuple([z, y * 2.0])
        with tf.control_dependencies([tf.group(z, u)]):
            return i + 1, z + u

    with tf.control_dependencies([outside]):
        i, y = tf.while_loop(lambda i, y: i < 3, body, [0, x])
    return [i, y, *tf.gradients(y, x)]


def sparse_gradient(tf: Any) -> Sequence[Any]:
    table = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    _, y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, y * tf.gather(table, i)),
        [0, tf.constant([1.0, 1.0])],
    )
    (grad,) = tf.gradients(y, table)
    return [y, tf.convert_to_tensor(grad)]


def without_gradient(tf: Any) -> Sequence[Any]:
    x = tf.constant(2.0)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x], back_prop=False)
    (grad,) = tf.gradients(y + x, x)
    return [y, grad]


def gradient_inside_loop(tf: Any) -> Sequence[Any]:
    w = tf.constant(3.0)

    def body(i: Any, x: Any) -> Any:
        (grad,) = tf.gradients(x * x * w, x)
        return i + 1, x - 0.1 * grad

    _, x = tf.while_loop(lambda i, x: i < 3, body, [0, tf.constant(1.0)])
    return [x]


def loop_inside_loop_gradient(tf: Any) -> Sequence[Any]:
    def body(i: Any, x: Any) -> Any:
        _, y = tf.while_loop(lambda j, y: j < 2, lambda j, y: (j + 1, y * x), [0, x])
        (grad,) = tf.gradients(y, x)
        return i + 1, x - 0.01 * grad

    _, x = tf.while_loop(lambda i, x: i < 3, body, [0, tf.constant(1.5)])
    return [x]


def stop_gradients(tf: Any) -> Sequence[Any]:
    x = tf.constant(2.0)
    _, y = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.stop_gradient(y) + x), [0, x]
    )
    return [y, *tf.gradients(y, x)]


def two_gradients(tf: Any) -> Sequence[Any]:
    x = tf.constant(2.0)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])
    return [*tf.gradients(y, x), *tf.gradients(y * y, x)]


def loop_after_loop(tf: Any) -> Sequence[Any]:
    x = tf.constant(1.3)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])
    _, z = tf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, z * y + x), [0, y])
    return [z, *tf.gradients(z, [x, y])]


def cases(tf: Any) -> Sequence[Any]:
    x = tf.constant(2.0)

    def body(i: Any, y: Any) -> Any:
        value = tf.case(
            [(tf.equal(i, 0), lambda: y + x), (tf.equal(i, 1), lambda: y * x)],
            default=lambda: y - x,
        )
        return i + 1, value

    _, y = tf.while_loop(lambda i, y: i < 4, body, [0, x])
    return [y, *tf.gradients(y, x)]


def second_order_of_cond(tf: Any) -> Sequence[Any]:
    x = tf.constant(2.0)
    y = tf.cond(x > 1.0, lambda: x * x * x, lambda: x)
    (first,) = tf.gradients(y, x)
    return [first, *tf.gradients(first, x)]


def variable_in_loop(tf: Any) -> Sequence[Any]:
    v = tf.Variable(1.0)

    def body(i: Any, y: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, y)]):
            return i + 1, y + v.read_value()

    with tf.control_dependencies([v.initializer]):
        _, y = tf.while_loop(lambda i, y: i < 3, body, [0, tf.constant(1.0)], parallel_iterations=1)
    with tf.control_dependencies([y]):
        return [y, v.read_value()]


def gradient_of_variable(tf: Any) -> Sequence[Any]:
    w = tf.Variable([1.0, 2.0])
    with tf.control_dependencies([w.initializer]):
        value = w.read_value()
    _, y = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * value), [0, tf.constant([1.0, 3.0])]
    )
    return [y, *tf.gradients(y, w)]


def switch_cases(tf: Any) -> Sequence[Any]:
    x = tf.constant(2.0)
    results = []
    for number in (0, 1, 2, -1):
        index = tf.placeholder_with_default(tf.constant(number), [])
        y = tf.switch_case(index, {0: lambda: x * 2.0, 1: lambda: x * x}, lambda: -x)
        results.append(y)
    return results


def composite_values(tf: Any) -> Sequence[Any]:
    values, two = tf.constant([2.0, 4.0]), tf.constant(2.0)
    x = tf.SparseTensor(tf.constant([[0], [3]], tf.int64), values, tf.constant([10], tf.int64))

    def with_values(x: Any, values: Any) -> Any:
        return tf.SparseTensor(x.indices, values, x.dense_shape)

    def body(i: Any, x: Any, rows: Any) -> Any:
        chosen = tf.cond(
            tf.equal(i % 2, 0),
            lambda: with_values(x, x.values * two),
            lambda: with_values(x, x.values + 1.0),
        )
        return i + 1, chosen, tf.IndexedSlices(rows.values * two, rows.indices)

    rows = tf.IndexedSlices(values, tf.constant([1, 2]))
    _, y, rows = tf.while_loop(lambda i, x, rows: i < 5, body, [0, x, rows])
    results = [y.indices, y.values, y.dense_shape, rows.values, rows.indices]
    return [*results, *tf.gradients([y.values, rows.values], [values, two])]


PROGRAMS: dict[str, Program] = {
    program.__name__.replace("_", " "): program
    for program in (
        counting, several_variables, no_iterations, invariant_gradient,
        gradient_of_unused_variable, gradient_through_both, weighted_gradients,
        constant_next_value, nested,
        nested_with_unknown_shape, cond_in_loop, cond_in_loop_with_unknown_shape,
        nested_conds_in_loop, loop_in_cond, maximum_iterations, growing, structures,
        control_dependencies_in_loop, sparse_gradient, without_gradient, gradient_inside_loop,
        loop_inside_loop_gradient, stop_gradients, two_gradients, loop_after_loop, cases,
        second_order_of_cond, variable_in_loop, gradient_of_variable, switch_cases,
        composite_values,
        *array_programs.PROGRAMS,
    )
}  # fmt: skip
