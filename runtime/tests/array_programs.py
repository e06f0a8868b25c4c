"""Programs with TensorArrays, and with the functions that use them, such as `tf.map_fn`.

Any implementation of `tf` can build them. Each program takes `tf` and returns its fetches.
"""

from collections.abc import Sequence
from typing import Any


def arrays(tf: Any) -> Sequence[Any]:
    x = tf.constant([1.0, 2.0, 3.0])
    array = tf.TensorArray(tf.float32, size=3)

    def body(i: Any, array: Any) -> Any:
        return i + 1, array.write(i, x[i] * x[i])

    i, array = tf.while_loop(lambda i, a: i < 3, body, [0, array])
    y = array.stack()
    return [i, y, array.size(), *tf.gradients(y, x)]


def array_reading(tf: Any) -> Sequence[Any]:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    array = tf.TensorArray(tf.float32, size=2).unstack(x)
    _, y = tf.while_loop(
        lambda i, y: i < 2,
        lambda i, y: (i + 1, y * array.read(i) + 1.0),
        [0, tf.constant([1.0, 1.0])],
    )
    return [y, *tf.gradients(y, x)]


def array_methods(tf: Any) -> Sequence[Any]:
    x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    parts = tf.TensorArray(tf.float32, size=3, infer_shape=False, clear_after_read=False)
    parts = parts.split(x * 2.0, [1, 2, 3])
    joined = parts.concat()
    scattered = tf.TensorArray(tf.float32, size=6).scatter([5, 4, 3, 2, 1, 0], x)
    gathered = scattered.gather([0, 2])
    grown = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
    grown = grown.write(0, x[0]).write(1, x[1] * x[2])
    return [
        joined, gathered, grown.stack(), grown.read(1), grown.size(),
        *tf.gradients(joined * joined, x), *tf.gradients(gathered * 3.0, x),
        *tf.gradients(grown.stack(), x),
    ]  # fmt: skip


def split_array_that_grows(tf: Any) -> Sequence[Any]:
    x = tf.constant([1.0, 2.0, 3.0])
    array = tf.TensorArray(tf.float32, size=3, dynamic_size=True)
    y = array.split(x * x, [1, 1, 1]).write(3, [4.0]).concat()
    return [y, *tf.gradients(y, x)]


def mapping(tf: Any) -> Sequence[Any]:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = tf.map_fn(lambda row: row * row + 1.0, x)
    a, b = tf.map_fn(
        lambda pair: (pair[0] + pair[1], tf.cast(tf.reduce_sum(pair[1]), tf.int32)),
        (x, x * 2.0),
        dtype=(tf.float32, tf.int32),
    )
    return [y, a, b, *tf.gradients([y, a], x)]


def scanning(tf: Any) -> Sequence[Any]:
    x = tf.constant([1.0, 2.0, 3.0])
    return [
        tf.scan(lambda a, v: a * v, x),
        tf.scan(lambda a, v: a + v, x, reverse=True),
        tf.scan(lambda a, v: a * 0.5 + v, x, initializer=tf.constant(1.0)),
        *tf.scan(lambda a, v: (a[1], a[0] + v), x, initializer=(0.0, 1.0)),
        *tf.gradients(tf.scan(lambda a, v: a * v + 1.0, x), x),
    ]


def folding(tf: Any) -> Sequence[Any]:
    x = tf.constant([1.0, 2.0, 3.0])
    return [
        tf.foldl(lambda a, v: a * 2.0 + v, x),
        tf.foldr(lambda a, v: a * 2.0 + v, x),
        tf.foldl(lambda a, v: a - v, x, initializer=10.0),
        tf.foldr(lambda a, v: a - v * v, x, initializer=10.0),
        *tf.gradients(tf.foldl(lambda a, v: a * v, x), x),
        *tf.gradients(tf.foldr(lambda a, v: a * v * v, x), x),
    ]


def nested_mapping(tf: Any) -> Sequence[Any]:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    y = tf.map_fn(lambda row: tf.map_fn(lambda v: v * v, row), x)
    return [y, *tf.gradients(y, x)]


def arrays_of_unknown_shape(tf: Any) -> Sequence[Any]:
    x = tf.placeholder_with_default(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [None, None])
    y = tf.map_fn(lambda row: row * row, x)
    z = tf.scan(lambda a, row: a * row, x)
    return [y, z, *tf.gradients([y, z], x)]


def slices_of_unknown_rank(tf: Any) -> Sequence[Any]:
    x = tf.placeholder_with_default([[1.0, 2.0], [3.0, 4.0]], None)
    results = [
        tf.map_fn(lambda row: row * row, x),
        tf.scan(lambda total, row: total * row, x),
        tf.foldl(lambda total, row: total - row, x),
        tf.foldr(lambda total, row: total + tf.reduce_sum(row), x, initializer=0.0),
        tf.while_loop(lambda y: y < 99.0, lambda y: y * tf.reduce_max(x), [1.0]),
    ]
    return [*results, *(tf.gradients(y, x)[0] for y in results)]


def unwritten_array(tf: Any) -> Sequence[Any]:
    x, count = tf.constant([1.0, 2.0]), tf.placeholder_with_default(0, [])
    array = tf.TensorArray(tf.float32, 3)
    _, array = tf.while_loop(
        lambda i, _: i < count, lambda i, array: (i + 1, array.write(i, x * x)), [0, array]
    )
    y = array.stack()
    return [y, *tf.gradients(y, x)]


def arrays_in_cond(tf: Any) -> Sequence[Any]:
    x = tf.constant([1.0, 2.0])
    array = tf.TensorArray(tf.float32, 2).write(0, x[0])
    array = tf.cond(
        x[1] > 0.0, lambda: array.write(1, x[1] * 2.0), lambda: array.write(1, tf.constant(0.0))
    )
    y = array.stack()
    return [y, *tf.gradients(y, x)]


def closing(tf: Any) -> Sequence[Any]:
    array = tf.TensorArray(tf.float32, 2).unstack(tf.constant([1.0, 2.0]))
    y = array.stack()
    with tf.control_dependencies([y]), tf.control_dependencies([array.close()]):
        return [tf.identity(y)]


PROGRAMS = (
    arrays, array_reading, array_methods, mapping, scanning, folding, nested_mapping,
    arrays_of_unknown_shape, slices_of_unknown_rank, arrays_in_cond, closing,
    split_array_that_grows, unwritten_array,
)  # fmt: skip
