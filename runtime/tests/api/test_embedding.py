"""Tests of lookups in embedding tables."""

import numpy as np
import pytest

import capstan as tf

TABLE = np.float32([[3, 4], [0.3, 0.4], [6, 8], [0, 0]])
CLIPPED = np.float32([[0.6, 0.8], [0.3, 0.4], [0.6, 0.8], [0, 0]])


@pytest.mark.e2e
@pytest.mark.parametrize("strategy", [None, "mod", "div"])
@pytest.mark.parametrize("shape", [[2, 2], None])
def test_a_lookup_scales_long_rows_down_to_the_norm(strategy: str | None, shape: list[int] | None):
    with tf.Graph().as_default(), tf.Session() as session:
        ids = tf.placeholder(tf.int64, shape)
        parts = {None: [TABLE], "mod": [TABLE[::2], TABLE[1::2]], "div": [TABLE[:2], TABLE[2:]]}
        params = [tf.constant(part) for part in parts[strategy]]
        found = tf.nn.embedding_lookup(params, ids, strategy or "mod", max_norm=1.0)
        wanted = np.array([[2, 1], [3, 0]])
        np.testing.assert_allclose(session.run(found, {ids: wanted}), CLIPPED[wanted], rtol=1e-6)
