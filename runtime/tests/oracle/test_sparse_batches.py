"""TensorFlow's client keeps sparse tensors on a task until a later operation takes them."""

from typing import Any

import genuine
import numpy as np
import pytest

pytestmark = genuine.MARKS


def parts(tensor: Any) -> list[Any]:
    return [tensor.indices, tensor.values, tensor.dense_shape]


def results(v1: Any, target: str, build: Any, runs: int = 2) -> list[Any]:
    """Return the values of the tensors in each of some runs, or the error."""
    with v1.Graph().as_default(), v1.device("/job:worker/task:0" if target else ""):
        fetches = build()
        with v1.Session(target) as session:
            try:
                found = [session.run(fetches) for _ in range(runs)]
            except v1.errors.OpError as error:
                return [type(error).__name__, error.message]
    return [[(str(value.dtype), value.tolist()) for value in map(np.asarray, run)] for run in found]


def test_a_sparse_tensor_waits_for_its_batch(tf: Any, v1: Any, tasks: genuine.Tasks) -> None:
    def added(dtype: Any, values: Any, indices: Any, shape: Any, take: Any = None) -> list[Any]:
        many = tf.raw_ops.AddManySparseToTensorsMap(
            sparse_indices=v1.constant(indices, v1.int64), sparse_values=values, sparse_shape=shape,
            shared_name="kept",
        )  # fmt: skip
        one = tf.raw_ops.AddSparseToTensorsMap(
            sparse_indices=v1.constant(indices, v1.int64), sparse_values=values,
            sparse_shape=[2 * size for size in shape], shared_name="other",
        )  # fmt: skip
        return [
            tensor
            for handles, name in ((many, "kept"), (v1.stack([one]), "other"))
            for tensor in tf.raw_ops.TakeManySparseFromTensorsMap(
                sparse_handles=handles, dtype=take or dtype, shared_name=name
            )
        ]

    cases: list[Any] = [
        lambda: added(v1.int64, np.int64([5, 6, 7]), [[0, 1], [2, 0], [2, 3]], [4, 5]),
        lambda: added(v1.string, ["a", "b"], [[0, 1, 0], [1, 0, 2]], [2, 2, 3]),
        lambda: added(v1.float32, np.zeros(0, np.float32), np.zeros((0, 2)), [3, 2]),
    ]
    for build in cases:
        assert results(v1, tasks.target(), build) == results(v1, "", build)
    wrong: list[Any] = [
        (
            lambda: added(v1.int64, np.int64([5]), [[0, 1]], [2, 2], v1.int32),
            "Requested SparseTens",
        ),
        (
            lambda: added(v1.int64, np.int64([5]), [[0]], [2]),
            "Rank of input SparseTensor should be",
        ),
        (
            lambda: tf.raw_ops.TakeManySparseFromTensorsMap(
                sparse_handles=[7], dtype=v1.int64, shared_name="empty"
            ),
            "Unable to find SparseTensor: 7 in map: empty",
        ),
    ]
    for build, message in wrong:
        for target in ("", tasks.target()):
            kind, found = results(v1, target, build)
            assert (kind, message in found) == ("InvalidArgumentError", True), found


def batched(v1: Any, kind: str) -> Any:
    """Return the batch of sparse tensors that a queue runner makes."""
    step = v1.train.range_input_producer(3, shuffle=False).dequeue()
    place = v1.cast(step, v1.int64)
    tensor = v1.SparseTensor(v1.stack([[place, place]]), v1.stack([step]), np.int64([3, 4]))
    if kind == "batch":
        return v1.train.batch([tensor], 2)
    if kind == "rows":
        return v1.train.batch([tensor], 2, enqueue_many=True)
    return v1.train.maybe_batch([tensor], step > 0, 2)


def test_a_sparse_tensor_is_taken_once(tf: Any, v1: Any, tasks: genuine.Tasks) -> None:
    with v1.Graph().as_default(), v1.device("/job:worker/task:0"):
        kept = tf.raw_ops.AddSparseToTensorsMap(
            sparse_indices=np.int64([[0]]), sparse_values=[5], sparse_shape=np.int64([1]),
            shared_name="once",
        )  # fmt: skip
        handles = v1.placeholder(v1.int64, [None])
        taken = tf.raw_ops.TakeManySparseFromTensorsMap(
            sparse_handles=handles, dtype=v1.int32, shared_name="once"
        )
        with v1.Session(tasks.target()) as session:
            number = session.run(kept)
            assert session.run(taken[1], {handles: [number]}).tolist() == [5]
            with pytest.raises(v1.errors.InvalidArgumentError, match="Unable to find SparseTensor"):
                session.run(taken[1], {handles: [number]})


@pytest.mark.parametrize("kind", ["batch", "rows", "some"])
def test_sparse_tensors_are_batched(v1: Any, tasks: genuine.Tasks, kind: str) -> None:
    def found(target: str) -> list[Any]:
        with v1.Graph().as_default(), v1.device("/job:worker/task:0" if target else ""):
            batch = batched(v1, kind)
            with v1.Session(target) as session:
                coordinator = v1.train.Coordinator()
                threads = v1.train.start_queue_runners(session, coordinator)
                values = [session.run(parts(batch)) for _ in range(3)]
                coordinator.request_stop()
                coordinator.join(threads)
        return [[each.tolist() for each in run] for run in values]

    assert found(tasks.target()) == found("")
