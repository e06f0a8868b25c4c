"""DebugNumericSummaryV2 describes a tensor in each mode as TensorFlow does."""

from typing import Any

import genuine
import ml_dtypes
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

MIXED = np.array([[1.5, -2, 0, -0.0], [np.inf, -np.inf, np.nan, 3]], np.float32)
TENSORS = {
    "mixed": MIXED,
    "half": MIXED.astype(np.float16),
    "bfloat16": MIXED.astype(ml_dtypes.bfloat16),
    "double": -MIXED.astype(np.float64),
    "empty": MIXED[:0],
    "integers": np.array([[1, -2, 0]], np.int32),
    "bytes": np.array([0, 255], np.uint8),
    "booleans": np.array([True, False]),
    "scalar": np.float32(2),
    "many axes": np.zeros((1, 2, 1, 2, 3, 1, 2, 2)),
}


def summary(tf: Any, tensor: Any, mode: int, output: Any, number: int = 7) -> Any:
    return tf.raw_ops.DebugNumericSummaryV2(
        input=tf.constant(tensor), output_dtype=output, tensor_debug_mode=mode, tensor_id=number
    )


@pytest.mark.parametrize("output", ["float32", "float64"])
@pytest.mark.parametrize("mode", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("name", TENSORS)
def test_each_mode_has_tensorflows_numbers(
    v1: Any, tasks: genuine.Tasks, name: str, mode: int, output: str
) -> None:
    found = []
    for tf, target in ((v1, ""), (capstan, ""), (v1, tasks.target())):
        with tf.Graph().as_default(), tf.device("/job:worker/task:0" if target else None):
            result = summary(tf, TENSORS[name], mode, getattr(tf, output))
            assert result.shape.ndims is None
            with tf.Session(target) as session:
                found.append(session.run(result))
    for value in found[1:]:
        assert value.dtype == found[0].dtype
        np.testing.assert_array_equal(value, found[0])


def test_other_modes_and_numbers_that_round_are_refused(v1: Any) -> None:
    for tf in (capstan, v1):
        for mode, number, error in (
            (0, 7, tf.errors.UnimplementedError),
            (6, 7, tf.errors.UnimplementedError),
            (2, 2**24 + 1, tf.errors.InvalidArgumentError),
        ):
            with tf.Graph().as_default(), tf.Session() as session:
                result = summary(tf, MIXED, mode, tf.float32, number)
                with pytest.raises(error):
                    session.run(result)
