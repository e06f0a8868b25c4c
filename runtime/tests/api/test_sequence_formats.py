"""Convolutions and pools of sequences with the channels before the width."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

RANDOM = np.random.RandomState(6)
SEQUENCES = RANDOM.rand(2, 9, 3).astype(np.float32)
FILTERS = RANDOM.rand(2, 3, 4).astype(np.float32)

BUILDS: dict[str, Callable[[Any, str], Any]] = {
    "conv1d": lambda x, layout: tf.nn.conv1d(x, FILTERS, 2, "VALID", data_format=layout),
    "conv1d, dilated": lambda x, layout: tf.nn.conv1d(
        x, FILTERS, 1, "SAME", data_format=layout, dilations=[3]
    ),
    "conv1d_transpose": lambda x, layout: tf.nn.conv1d_transpose(
        x,
        FILTERS.transpose(0, 2, 1),
        [2, 18, 4] if layout == "NWC" else [2, 4, 18],
        2,
        data_format=layout,
    ),
    "max_pool1d": lambda x, layout: tf.nn.max_pool1d(x, 3, 2, "SAME", data_format=layout),
    "avg_pool1d": lambda x, layout: tf.nn.avg_pool1d(x, [3], [2], "VALID", data_format=layout),
    "avg_pool_v2": lambda x, layout: tf.nn.avg_pool_v2(x, 3, 2, "VALID", data_format=layout),
    "pool": lambda x, layout: tf.nn.pool(x, [3], "MAX", "VALID", strides=[2], data_format=layout),
}


@pytest.mark.parametrize("name", BUILDS)
def test_a_sequence_has_the_same_results_in_both_formats(name: str) -> None:
    build = BUILDS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        last = build(tf.constant(SEQUENCES), "NWC")
        first = build(tf.constant(SEQUENCES.transpose(0, 2, 1)), "NCW")
        expected, found = session.run([last, first])
    assert first.shape == found.shape
    np.testing.assert_allclose(found, expected.transpose(0, 2, 1), rtol=1e-6)


@pytest.mark.parametrize(("old", "new"), [("NHWC", "NWC"), ("NCHW", "NCW")])
def test_conv1d_takes_the_old_name_of_a_format(old: str, new: str) -> None:
    x = SEQUENCES if new == "NWC" else SEQUENCES.transpose(0, 2, 1)
    with tf.Graph().as_default(), tf.Session() as session:
        found, expected = session.run(
            [tf.nn.conv1d(x, FILTERS, 2, "SAME", data_format=layout) for layout in (old, new)]
        )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.nn.conv1d(x, FILTERS, 2, "SAME", data_format="CWN"),
        lambda x: tf.nn.conv1d_transpose(x, FILTERS, [2, 18, 4], 2, data_format="NHWC"),
        lambda x: tf.nn.max_pool1d(x, 3, 2, "SAME", data_format="NHWC"),
    ],
)
def test_another_format_is_refused(build: Callable[[Any], Any]) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="'NWC' or 'NCW', not"):
        build(tf.constant(SEQUENCES))
