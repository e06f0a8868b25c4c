"""The ops that take bfloat16 are those of TensorFlow, and train as there."""

from typing import Any

import genuine
import numpy as np

import capstan
from capstan.core import dtypes
from capstan.framework import opdef, ops  # noqa: F401 - fills the registry

pytestmark = genuine.MARKS

NEITHER_HALF = frozenset(
    {
        "CollectiveBcastRecv", "CollectiveBcastSend", "CollectiveGather", "CollectiveReduce",
        "Igamma", "Igammac", "MatrixTriangularSolve", "NonDeterministicInts",
        "QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3",
        "QuantizeAndDequantizeV4", "QuantizeAndDequantizeV4Grad", "SparseAdd", "SparseAddGrad",
        "SparseSegmentMean", "SparseSegmentMeanGrad", "SparseSegmentMeanGradV2",
        "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtN", "SparseSegmentSqrtNGrad",
        "SparseSegmentSqrtNGradV2", "SparseSegmentSqrtNWithNumSegments", "SparseSegmentSumGrad",
        "SparseSegmentSumGradV2", "SparseTensorDenseMatMul", "StatefulUniformFullInt",
        "StatefulUniformInt",
    }
)  # fmt: skip
"""Ops that take no bfloat16 in Capstan. `Igamma` and collective ops took none in TensorFlow 1.15.

TensorFlow 1.15 has kernels of `QuantizeAndDequantize` for float32 and float64 alone. Some ops draw
integers, for which TensorFlow names no types.
"""


def test_an_op_takes_bfloat16_if_it_does_in_tensorflow() -> None:
    from tensorflow.python.framework import op_def_registry

    compared = 0
    for row in opdef.all_rows():
        genuine_op = op_def_registry.get(row.name)
        if genuine_op is None or row.name in NEITHER_HALF:
            continue
        for attr in genuine_op.attr:
            known = row.types.get(attr.name)
            # `U` of the newest batch normalization is the type of the statistics. TensorFlow names
            # no types for some shapes.
            is_other = (row.name, attr.name) == ("FusedBatchNormV3", "U")
            if known is None or is_other or attr.name == "shape_dtype":
                continue
            allowed = attr.allowed_values.list.type
            takes_it = not allowed or dtypes.bfloat16.as_datatype_enum in allowed
            assert takes_it == (dtypes.bfloat16 in known), (row.name, attr.name)
            compared += takes_it
    assert compared > 200


def losses(tf: Any, target: str) -> list[float]:
    """Train a small network with variables of bfloat16, and return its losses."""
    draw = np.random.default_rng(4)
    v1 = tf.compat.v1 if hasattr(tf, "compat") else tf
    points = draw.normal(size=(32, 4))
    goals = np.tanh(points @ draw.normal(size=(4, 2)))
    weights = [draw.normal(size=(4, 8)) * 0.5, draw.normal(size=(8, 2)) * 0.5]
    with v1.Graph().as_default(), v1.Session(target) as session:
        hidden = v1.constant(points, v1.bfloat16)
        for index, start in enumerate(weights):
            initial = v1.constant(start, v1.bfloat16)
            factor = v1.get_variable(f"w{index}", initializer=initial, use_resource=False)
            hidden = v1.tanh(v1.matmul(hidden, factor))
        loss = v1.reduce_mean(v1.square(hidden - v1.constant(goals, v1.bfloat16)))
        train = v1.train.MomentumOptimizer(0.5, 0.5).minimize(loss)
        session.run(v1.global_variables_initializer())
        return [float(session.run([loss, train])[0]) for _ in range(30)]


def test_a_network_with_variables_of_bfloat16_learns_as_in_tensorflow(
    tf: Any, tasks: genuine.Tasks
) -> None:
    found, expected = losses(capstan, tasks.target()), losses(tf, "")
    np.testing.assert_allclose(found[:5], expected[:5], rtol=5e-2, atol=1e-2)
    assert found[-1] < found[0] / 4
    np.testing.assert_allclose(found[-1], expected[-1], atol=2e-2)


def test_segments_without_rows_have_the_least_or_the_largest_number(v1: Any) -> None:
    found = {}
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            rows = tf.cast(
                [[1.0, -5.0], [float("nan"), 2.0], [3.0, 4.0], [-7.0, 300.0]], tf.bfloat16
            )
            reduced = [
                reduce(given, [0, 0, 2, 2], 4)
                for reduce in (tf.math.unsorted_segment_max, tf.math.unsorted_segment_min)
                for given in (rows, rows[:, 0])
            ]
            found[tf] = session.run([tf.cast(each, tf.float32) for each in reduced])
    for mine, genuine_one in zip(found[capstan], found[v1], strict=True):
        np.testing.assert_array_equal(mine, genuine_one)
    assert np.isfinite(found[capstan][0][1]).all()
