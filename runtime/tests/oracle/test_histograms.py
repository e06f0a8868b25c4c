"""Values are counted in bins of one width as by TensorFlow."""

from typing import Any

import genuine
import numpy as np
from oracle_tables import compare, outcome

import capstan

pytestmark = genuine.MARKS

VALUES = np.array([[-1.0, 0.0, 1.5], [2.0, 5.0, 15.0]], np.float32)


def fed(tf: Any, value: Any) -> Any:
    return tf.placeholder_with_default(np.asarray(value), None)


def test_the_bins_and_their_counts_are_tensorflows(v1: Any) -> None:
    compare(
        v1,
        [
            lambda tf: tf.histogram_fixed_width(VALUES, [0.0, 5.0], 5),
            lambda tf: tf.histogram_fixed_width(VALUES, [0.0, 5.0], nbins=3, dtype=tf.int64),
            lambda tf: tf.histogram_fixed_width(VALUES[0], [0.0, 5.0]),
            lambda tf: tf.histogram_fixed_width([1, 2, 9], [0, 5], 5),
            lambda tf: tf.histogram_fixed_width([0, 2 * 10**9, 5], [-(10**9), 2 * 10**9], 4),
            lambda tf: tf.histogram_fixed_width([np.inf, 1.0], [0.0, 5.0], 2),
            lambda tf: tf.histogram_fixed_width_bins(VALUES, [0.0, 5.0], nbins=5),
            lambda tf: tf.histogram_fixed_width_bins(VALUES, fed(tf, np.float32([1, 2]))),
        ],
    )


def test_arguments_that_do_not_fit_are_refused_as_by_tensorflow(v1: Any) -> None:
    compare(
        v1,
        [
            lambda tf: tf.histogram_fixed_width(VALUES, [3.0, 3.0], 2),
            lambda tf: tf.histogram_fixed_width([1.0, np.nan], [1.0, 3.0], 2),
            lambda tf: tf.histogram_fixed_width(VALUES, fed(tf, np.float32([3.0])), 2),
            lambda tf: tf.histogram_fixed_width(VALUES, [0.0, 1.0], fed(tf, np.int32(0))),
        ],
    )
    for case in (
        lambda tf: tf.histogram_fixed_width(VALUES, [0.0, 1.0], 0),
        lambda tf: tf.histogram_fixed_width(VALUES, [0.0, 1.0, 2.0], 2),
        lambda tf: tf.histogram_fixed_width_bins(VALUES, [0.0, 1.0], 0),
        lambda tf: tf.histogram_fixed_width_bins([1, 2], [0, 1], 2),
    ):
        assert outcome(capstan, case)[0] == outcome(v1, case)[0]
