"""TensorFlow's client crosses features on a task as TensorFlow does itself."""

from typing import Any

import genuine
import numpy as np
import pytest

pytestmark = genuine.MARKS


def results(v1: Any, target: str, build: Any) -> Any:
    """Return the type and the value of each tensor of `build`, or the class of the error."""
    with v1.Graph().as_default(), v1.device("/job:worker/task:0" if target else ""):
        fetches = build()
        with v1.Session(target) as session:
            try:
                found = session.run(fetches)
            except v1.errors.OpError as error:
                return type(error).__name__
    return [(value.dtype.kind, value.tolist()) for value in map(np.asarray, found)]


def inputs(v1: Any) -> list[Any]:
    """Return columns of strings and integers for three examples, of which one lacks a feature."""
    texts = v1.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0]], ["a", "b", "", "ä" * 40], [3, 2])
    numbers = v1.SparseTensor(
        [[0, 0], [2, 0], [2, 1]], v1.constant([7, -1, 2**40], v1.int64), [3, 4]
    )
    return [texts, v1.constant([["x", "y"], ["z", ""], ["w", "v"]]), numbers]


def parts(tensor: Any) -> list[Any]:
    return [tensor.indices, tensor.values, tensor.dense_shape]


def crossed(tf: Any, v1: Any, **options: Any) -> list[Any]:
    """Return the outputs of SparseCrossHashed, which no public function makes."""
    texts, dense, numbers = inputs(v1)
    sparse = [texts, numbers][: options.pop("count", 2)]
    found = tf.raw_ops.SparseCrossHashed(
        indices=[each.indices for each in sparse],
        values=[each.values for each in sparse],
        shapes=[each.dense_shape for each in sparse],
        dense_inputs=[dense] if options.pop("has_dense", True) else [],
        **options,
    )
    return list(found)


def test_sparse_features_are_crossed(tf: Any, v1: Any, tasks: genuine.Tasks) -> None:
    cases = [
        lambda: parts(tf.sparse.cross(inputs(v1))),
        lambda: parts(tf.sparse.cross(inputs(v1), separator="-")),
        lambda: parts(tf.sparse.cross(inputs(v1)[:1], separator="")),
        lambda: parts(tf.sparse.cross_hashed(inputs(v1), num_buckets=100)),
        lambda: crossed(tf, v1, num_buckets=0, strong_hash=False, salt=np.int64([1, 2])),
        lambda: crossed(tf, v1, num_buckets=1000, strong_hash=True, salt=np.int64([1, -2])),
        lambda: crossed(
            tf, v1, num_buckets=9, strong_hash=True, salt=np.int64([1, 2]), count=1, has_dense=False
        ),
    ]
    for number, build in enumerate(cases):
        assert results(v1, tasks.target(), build) == results(v1, "", build), f"case {number}"


@pytest.mark.parametrize("splits", ["int32", "int64"])
def test_ragged_features_are_crossed(tf: Any, v1: Any, tasks: genuine.Tasks, splits: str) -> None:
    def columns() -> list[Any]:
        texts, dense, numbers = inputs(v1)
        rows = tf.ragged.constant([["p"], [], ["q", "r"]], row_splits_dtype=splits)
        return [numbers, rows, dense, texts, rows]

    def cross(some: slice, **options: Any) -> Any:
        function = tf.ragged.cross_hashed if options else tf.ragged.cross
        found = function(columns()[some], **options)
        return [found.values, found.row_splits]

    cases = [
        lambda: cross(slice(None)),
        lambda: cross(slice(1, 3)),
        lambda: cross(slice(1, 2)),
        lambda: cross(slice(None), num_buckets=100),
        lambda: cross(slice(0, 3), num_buckets=0, hash_key=5),
    ]
    for number, build in enumerate(cases):
        assert results(v1, tasks.target(), build) == results(v1, "", build), f"case {number}"


def test_batches_of_other_sizes_are_refused(tf: Any, v1: Any, tasks: genuine.Tasks) -> None:
    def build() -> Any:
        dense = v1.placeholder_with_default([["x"]], None)
        return parts(tf.sparse.cross([inputs(v1)[0], dense]))

    for target in ("", tasks.target()):
        assert results(v1, target, build) == "InvalidArgumentError"
