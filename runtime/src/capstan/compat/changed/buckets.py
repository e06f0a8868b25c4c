"""The parts of a histogram, as the plugin of TensorBoard wants them."""

import sys
from typing import Any

from capstan.core import dtypes

# An import would be a cycle, as the package names all its parts. It is loaded before them.
tf: Any = sys.modules["capstan"]


def counts(data: Any, number: Any) -> Any:
    """Return the left edge, the right edge and the count of `number` equal parts [number, 3].

    The parts reach from the smallest to the largest element. If all elements are equal, so are all
    edges, and the last part has all elements. Without elements, everything is 0. float64.
    """
    values = tf.cast(tf.reshape(data, [-1]), dtypes.float64)
    number = tf.maximum(0, number)
    return tf.cond(
        tf.logical_or(tf.equal(tf.size(values), 0), tf.less_equal(number, 0)),
        lambda: tf.zeros([number, 3], dtypes.float64),
        lambda: _filled(values, number),
    )


def _filled(values: Any, number: Any) -> Any:
    low, high = tf.reduce_min(values), tf.reduce_max(values)
    width = (high - low) / tf.cast(number, dtypes.float64)
    at = tf.cast(tf.floor(tf.math.divide_no_nan(values - low, width)), dtypes.int32)
    last = number - 1
    at = tf.cond(tf.equal(low, high), lambda: tf.fill(tf.shape(at), last), lambda: at)
    ones = tf.ones_like(values)
    found = tf.unsorted_segment_sum(ones, tf.minimum(at, last), number)
    inner = tf.cast(tf.range(number), dtypes.float64)
    edges = tf.concat([low + width * inner, [high]], 0)
    return tf.stack([edges[:-1], edges[1:], found], 1)
