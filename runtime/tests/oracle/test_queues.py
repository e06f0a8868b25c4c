"""Queues, accumulators, barriers and staging areas behave as in TensorFlow."""

from collections.abc import Sequence
from typing import Any

import genuine
import oracle_data_flow
import pytest
from oracle_data_flow import outcome, outcomes

import capstan

pytestmark = genuine.MARKS

PS = "/job:ps/task:0"


@pytest.mark.parametrize("name", oracle_data_flow.PROGRAMS)
def test_a_program_gives_the_same_results_as_in_tensorflow(
    v1: Any, tasks: genuine.Tasks, name: str
) -> None:
    program = oracle_data_flow.PROGRAMS[name]
    expected = outcomes(v1, program, "", "")
    assert outcomes(v1, program, tasks.target(), PS) == expected
    assert outcomes(capstan, program, "", "") == expected
    assert outcomes(capstan, program, tasks.target(), PS) == expected


def references(v1: Any, ops: Any) -> Sequence[Any]:
    """Use every op that takes the reference to a queue, as TensorFlow's first versions did."""
    i, f = v1.int32, ops.fifo_queue([v1.int32], [[]], 10, name="f")
    others = [
        ops.padding_fifo_queue([i], [[]], 10, name="p"),
        ops.random_shuffle_queue([i], [[]], 10, seed=1, seed2=2, name="r"),
    ]
    priority = ops.priority_queue([[]], [i], 10, name="q")
    steps: list[Any] = []
    for q in (f, *others):
        steps += [
            ops.queue_enqueue(q, [1]),
            ops.queue_enqueue_many(q, [[2, 3, 4, 5]]),
            ops.queue_size(q),
            ops.queue_dequeue(q, [i])[0],
            ops.queue_dequeue_many(q, 2, [i])[0],
            ops.queue_is_closed(q),
            ops.queue_close(q),
            ops.queue_is_closed(q),
            ops.queue_dequeue_up_to(q, 5, [i])[0],
            ops.queue_dequeue(q, [i])[0],
            ops.queue_enqueue(q, [1]),
            ops.queue_dequeue(q, [v1.float32])[0],
            ops.queue_enqueue(q, [1.5]),
        ]
    steps += [
        ops.queue_enqueue(priority, [v1.constant(2, v1.int64), 20]),
        ops.queue_enqueue(priority, [v1.constant(1, v1.int64), 10]),
        list(ops.queue_dequeue(priority, [v1.int64, i])),
    ]
    return steps


def handles(v1: Any, ops: Any) -> Sequence[Any]:
    """Use ops whose types do not fit the queue behind the handle."""
    i, q = v1.int32, v1.FIFOQueue(5, v1.int32, [()], name="q").queue_ref
    return [
        ops.queue_enqueue_v2(q, [1.5]),
        ops.queue_dequeue_v2(q, [v1.float32])[0],
        ops.queue_enqueue_v2(q, [1, 2]),
        ops.queue_enqueue_many_v2(q, [[1.5]]),
        ops.queue_dequeue_many_v2(q, 1, [v1.float32])[0],
        ops.queue_dequeue_v2(q, [i], timeout_ms=5)[0],
    ]


def accumulators(v1: Any, ops: Any) -> Sequence[Any]:
    """Use every op that takes the reference to an accumulator."""
    a = ops.conditional_accumulator(v1.float32, [2], name="a")
    zero = v1.constant(0, v1.int64)
    return [
        ops.accumulator_apply_gradient(a, zero, [1.0, 2.0]),
        ops.accumulator_num_accumulated(a),
        ops.accumulator_take_gradient(a, 1, v1.float32),
        ops.accumulator_set_global_step(a, v1.constant(4, v1.int64)),
        ops.accumulator_apply_gradient(a, zero, [1.0, 2.0]),
        ops.accumulator_num_accumulated(a),
        ops.accumulator_apply_gradient(a, zero, v1.constant([1.0], v1.float64)),
    ]


def barrier(v1: Any, ops: Any) -> Sequence[Any]:
    b = ops.barrier([v1.float32, v1.int32], [[], [2]], name="b")
    keys = v1.placeholder(v1.string)
    values = v1.placeholder(v1.float32)

    def take(count: int, *, small: bool = False) -> Any:
        taken = ops.barrier_take_many(b, count, [v1.float32, v1.int32], small)
        return [taken.indices, taken.keys, *taken[2]]

    return [
        ops.barrier_insert_many(b, ["x", "y", "z"], [1.0, 2.0, 3.0], 0),
        ops.barrier_ready_size(b),
        ops.barrier_incomplete_size(b),
        ops.barrier_insert_many(b, ["y"], [[1, 2]], 1),
        ops.barrier_insert_many(b, ["y", "w"], [5.0, 6.0], 0),
        ops.barrier_insert_many(b, ["y"], [7.0], 0),
        ops.barrier_insert_many(b, ["x", "w"], [[3, 4], [5, 6]], 1),
        [ops.barrier_ready_size(b), ops.barrier_incomplete_size(b)],
        take(2),
        ops.barrier_insert_many(b, ["x"], [1.0], 2),
        ops.barrier_insert_many(b, ["x"], [1], 0),
        (ops.barrier_insert_many(b, keys, values, 0), {keys: ["v"], values: [4.0]}),
        ops.barrier_close(b),
        ops.barrier_close(b),
        ops.barrier_insert_many(b, ["new"], [1.0], 0),
        ops.barrier_insert_many(b, ["z"], [[7, 8]], 1),
        take(1),
        take(9),
        take(9, small=True),
        ops.barrier_close(b, cancel_pending_enqueues=True),
        ops.barrier_insert_many(b, ["new"], [1.0], 0),
        take(1),
        ops.barrier_close(b, cancel_pending_enqueues=True),
    ]


def staging(v1: Any, ops: Any) -> Sequence[Any]:
    area = {"dtypes": [v1.int32, v1.string], "shared_name": "s", "memory_limit": 200}
    wrong = {**area, "dtypes": [v1.int32]}
    large = v1.zeros([300], v1.int32)
    return [
        ops.stage([1, "a"], shared_name="s", memory_limit=200),
        ops.stage([2, "b"], shared_name="s", memory_limit=200),
        ops.stage([large, "b"], shared_name="s", memory_limit=200),
        ops.stage_size(**area),
        list(ops.stage_peek(1, **area)),
        list(ops.unstage(**area)),
        list(ops.unstage(**wrong)),
        ops.stage_clear(**area),
        ops.stage_size(**area),
    ]


def mapped(v1: Any, ops: Any) -> Sequence[Any]:
    area = {"dtypes": [v1.int32, v1.float32], "shared_name": "m"}
    first, second = v1.constant(1, v1.int64), v1.constant(2, v1.int64)
    steps: list[Any] = []
    for prefix in ("", "ordered_"):
        stage, unstage = getattr(ops, f"{prefix}map_stage"), getattr(ops, f"{prefix}map_unstage")
        peek, size = getattr(ops, f"{prefix}map_peek"), getattr(ops, f"{prefix}map_size")
        incomplete = getattr(ops, f"{prefix}map_incomplete_size")
        some = {**area, "dtypes": [v1.float32]}
        steps += [
            stage(second, [0], [20], **area),
            stage(second, [0], [20], **area),
            [size(**area), incomplete(**area)],
            stage(second, [1], [21.0], **area),
            stage(first, [0, 1], [10, 11.0], **area),
            list(peek(second, [0, 1], **area)),
            [size(**area), incomplete(**area)],
            list(unstage(second, [1], **some)),
            list(unstage(second, [1], **some)),
            list(unstage(second, [0], **{**area, "dtypes": [v1.int32]})),
            list(getattr(ops, f"{prefix}map_unstage_no_key")([0, 1], **area)[1]),
            stage(first, [0, 1], [10, 11.0], **area),
            getattr(ops, f"{prefix}map_clear")(**area),
            size(**area),
        ]
    return steps


@pytest.mark.parametrize("program", [references, handles, accumulators, barrier, staging, mapped])
def test_a_tensorflow_client_gets_the_results_of_tensorflow(
    tf: Any, v1: Any, tasks: genuine.Tasks, program: Any
) -> None:
    from tensorflow.python.ops import gen_data_flow_ops as ops

    def run(module: Any) -> Sequence[Any]:
        steps: Sequence[Any] = program(module, ops)
        return steps

    expected = outcomes(v1, run, "", "")
    assert outcomes(v1, run, tasks.target(), PS) == expected


def test_session_handles_live_as_long_as_the_session(v1: Any, tasks: genuine.Tasks) -> None:
    from tensorflow.python.ops import gen_data_flow_ops as ops

    with v1.Graph().as_default(), v1.device(PS), v1.Session(tasks.target()) as session:
        get = v1.identity(ops.get_session_handle(v1.constant([1.0, 2.0]), name="h"))
        holder = v1.placeholder(v1.string, [])
        tensor = ops.get_session_tensor(holder, v1.float32)
        delete = ops.delete_session_tensor(holder)
        handle = session.run(get)
        assert handle.decode().split(";")[0] == "h"
        assert session.run(tensor, {holder: handle}).tolist() == [1, 2]
        session.run(delete, {holder: handle})
        for fetch, begin in ((tensor, "The tensor with handle"), (delete, "Failed to delete")):
            name, message = outcome(session, (fetch, {holder: handle}))
            assert name == "InvalidArgumentError"
            assert message == f"{begin} '{handle.decode()}' is not in the session store.".replace(
                "Failed to delete '", "Failed to delete a tensor with handle '"
            ).replace("' is not in", "' in" if begin.startswith("Failed") else "' is not in")
