"""Small programs with queues, accumulators and staging areas, for TensorFlow and Capstan.

Each program takes the module `v1` and returns steps: a fetch, or a fetch and its feeds. If a step
fails, the tests compare its error.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import capstan

Program = Callable[[Any], Sequence[Any]]
_NOISE = re.compile(
    r"\s|Graph execution|Detected at|Original stack|From /job|Additional|\[\[|Node: |\d+ root"
)
_PRIVATE = re.compile(r"\b_\d+_")


def outcome(session: Any, step: Any) -> Any:
    """Return the values of a step, or the class and the first line of its error."""
    fetch, feeds = step if isinstance(step, tuple) else (step, {})
    options = type(session).__module__.startswith("capstan") and capstan.RunOptions()
    try:
        values = session.run(fetch, feeds, options=options or None)
    except Exception as error:  # noqa: BLE001 - the errors are compared
        message = str(getattr(error, "message", error))
        lines = [line for line in message.split("\n") if line and not _NOISE.match(line)]
        # A queue without a shared name has a private name with a number.
        return type(error).__name__, _PRIVATE.sub("", lines[0])
    return [
        value if value is None else (np.asarray(value).dtype.name, np.asarray(value).tolist())
        for value in (values if isinstance(values, list) else [values])
    ]


def outcomes(v1: Any, program: Program, target: str, device: str) -> list[Any]:
    with v1.Graph().as_default(), v1.device(device), v1.Session(target) as session:
        return [outcome(session, step) for step in program(v1)]


def fifo(v1: Any) -> Sequence[Any]:
    q = v1.FIFOQueue(10, [v1.int32, v1.string], [(2,), ()], name="q")
    x = v1.placeholder(v1.int32)
    return [
        q.enqueue(([1, 2], "a")),
        q.enqueue_many(([[3, 4], [5, 6], [7, 8]], ["b", "c", "d"])),
        q.size(),
        q.dequeue(),
        q.dequeue_many(2),
        q.dequeue_many(0),
        (q.enqueue((x, "e")), {x: [1, 2, 3]}),
        (q.enqueue_many((x, ["e"])), {x: [1, 2, 3]}),
        q.is_closed(),
        q.close(),
        q.is_closed(),
        q.enqueue(([1, 2], "a")),
        q.dequeue_many(2),
        q.size(),
        q.dequeue_up_to(5),
        q.dequeue_up_to(5),
        q.dequeue(),
        q.dequeue_many(3),
        q.close(),
        q.close(cancel_pending_enqueues=True),
    ]


def unshaped(v1: Any) -> Sequence[Any]:
    q = v1.FIFOQueue(10, [v1.float32, v1.int64], name="q")
    x, n = v1.placeholder(v1.float32), v1.placeholder(v1.int32)
    y = v1.placeholder(v1.int64)
    return [
        (q.enqueue((x, 1)), {x: [1, 2, 3]}),
        (q.enqueue((x, 2)), {x: 4}),
        q.dequeue(),
        q.dequeue(),
        q.dequeue_many(1),
        (q.dequeue_many(n), {n: -1}),
        (q.dequeue_up_to(n), {n: -1}),
        (q.enqueue_many((x, y)), {x: [1, 2, 3], y: [1]}),
        (q.enqueue_many((x, y)), {x: [1, 2], y: [3, 4]}),
        q.dequeue(),
    ]


def named(v1: Any) -> Sequence[Any]:
    q = v1.FIFOQueue(10, [v1.int32, v1.float32], [(), ()], names=["i", "f"], name="q")
    many = q.dequeue_many(2)
    return [
        q.enqueue({"i": 1, "f": 2.0}),
        q.enqueue_many({"f": [3.0, 4.0], "i": [5, 6]}),
        [q.dequeue()["i"]],
        [many["f"], many["i"]],
    ]


def shuffled(v1: Any) -> Sequence[Any]:
    q = v1.RandomShuffleQueue(20, 2, v1.int32, [()], seed=7, name="q")
    bad = [
        v1.RandomShuffleQueue(5, 6, v1.int32, name="b").size(),
        v1.RandomShuffleQueue(5, -1, v1.int32, name="c").size(),
    ]
    return [
        q.enqueue_many([list(range(20))]),
        *[q.dequeue()] * 5,
        q.dequeue_many(10),
        q.close(),
        q.dequeue_up_to(4),
        q.dequeue_up_to(4),
        q.dequeue_up_to(4),
        *bad,
    ]


def padded(v1: Any) -> Sequence[Any]:
    q = v1.PaddingFIFOQueue(10, [v1.int32, v1.string], [(None, 2), (None,)], name="q")
    x = v1.placeholder(v1.int32)
    return [
        (q.enqueue((x, ["a"])), {x: [[1, 2, 3]]}),
        (q.enqueue_many((x, [["a"]])), {x: [[1, 2, 3]]}),
        q.enqueue(([[1, 2]], ["a"])),
        q.enqueue(([[1, 2], [3, 4]], ["a", "b"])),
        q.enqueue_many(([[[1, 2]], [[3, 4]]], [["a"], ["b"]])),
        q.dequeue_many(2),
        q.dequeue_many(0),
        q.close(),
        q.dequeue_up_to(5),
    ]


def prioritized(v1: Any) -> Sequence[Any]:
    q = v1.PriorityQueue(10, [v1.int32, v1.string], [(), ()], name="q")
    k = v1.placeholder(v1.int64)
    return [
        q.enqueue_many(([3, 1, 2], [30, 10, 20], ["c", "a", "b"])),
        q.enqueue((0, 0, "z")),
        (q.enqueue((k, 1, "")), {k: [1]}),
        (q.enqueue_many((k, [1], [""])), {k: [[1]]}),
        q.dequeue(),
        q.dequeue_many(2),
        q.close(),
        q.dequeue_many(2),
        q.dequeue(),
        q.dequeue(),
    ]


def shared(v1: Any) -> Sequence[Any]:
    fifo_queue, shuffle, padding = v1.FIFOQueue, v1.RandomShuffleQueue, v1.PaddingFIFOQueue
    priority, i = v1.PriorityQueue, v1.int32
    pairs = [
        (fifo_queue(5, i, shared_name="s0"), fifo_queue(5, i, shared_name="s0")),
        (fifo_queue(5, i, shared_name="s1"), fifo_queue(6, i, shared_name="s1")),
        (fifo_queue(5, i, shared_name="s2"), fifo_queue(5, v1.float32, shared_name="s2")),
        (fifo_queue(5, i, [()], shared_name="s3"), fifo_queue(5, i, [(2,)], shared_name="s3")),
        (fifo_queue(5, i, [()], shared_name="s4"), shuffle(5, 1, i, [()], shared_name="s4")),
        (shuffle(5, 1, i, shared_name="s6"), shuffle(5, 2, i, shared_name="s6")),
        (shuffle(5, 1, i, seed=1, shared_name="s7"), shuffle(5, 1, i, seed=2, shared_name="s7")),
        (padding(5, i, [(None,)], shared_name="s8"), padding(5, i, [(None, 3)], shared_name="s8")),
        (padding(5, i, [(None,)], shared_name="s9"), padding(5, i, [(4,)], shared_name="s9")),
        (fifo_queue(5, i, [(3,)], shared_name="s10"), padding(5, i, [(3,)], shared_name="s10")),
        (
            priority(5, [i], [()], shared_name="s11"),
            priority(5, [i, i], [(), ()], shared_name="s11"),
        ),
    ]
    return [q.size() for pair in pairs for q in pair]


def chosen(v1: Any) -> Sequence[Any]:
    queues = [v1.FIFOQueue(5, v1.int32, name=f"q{index}") for index in range(2)]
    index = v1.placeholder(v1.int32, [])
    q = v1.QueueBase.from_list(index, queues)
    enqueue, size, dequeue = q.enqueue(7), q.size(), q.dequeue()
    return [
        (enqueue, {index: 1}),
        (size, {index: 1}),
        (size, {index: 0}),
        (dequeue, {index: 1}),
    ]


def accumulated(v1: Any) -> Sequence[Any]:
    a = v1.ConditionalAccumulator(v1.float32, [2], name="a")
    s = v1.ConditionalAccumulator(v1.float64, name="s", reduction_type="SUM")
    x, n = v1.placeholder(v1.float32), v1.placeholder(v1.int32)
    return [
        a.apply_grad([1.0, 2.0]),
        a.apply_grad([4.0, 6.0], local_step=3),
        a.num_accumulated(),
        (a.apply_grad(x), {x: [1, 2, 3]}),
        a.take_grad(2),
        a.num_accumulated(),
        a.apply_grad([1.0, 2.0], local_step=0),
        a.num_accumulated(),
        a.set_global_step(5),
        a.apply_grad([1.0, 2.0], local_step=4),
        a.apply_grad([1.0, 2.0], local_step=5),
        a.take_grad(1),
        (a.take_grad(n), {n: 0}),
        s.apply_grad([1.0, 2.0]),
        s.apply_grad([3.0]),
        s.apply_grad([3.0, 3.0]),
        s.take_grad(1),
    ]


def accumulated_sparsely(v1: Any) -> Sequence[Any]:
    a = v1.SparseConditionalAccumulator(v1.float32, [None, 2], name="a")
    b = v1.SparseConditionalAccumulator(v1.float32, [3, 2], name="b", reduction_type="SUM")
    i, x = v1.placeholder(v1.int64), v1.placeholder(v1.float32)
    taken = b.take_grad(1)
    return [
        a.apply_grad([0, 2], [[1.0, 2.0], [3.0, 4.0]]),
        a.apply_grad([1, 2], [[5.0, 6.0], [7.0, 9.0]], [4, 2]),
        a.num_accumulated(),
        list(a.take_grad(2)),
        a.apply_grad([0], [[1.0, 2.0]], local_step=0),
        a.num_accumulated(),
        a.set_global_step(7),
        a.apply_indexed_slices_grad(
            v1.IndexedSlices(v1.constant([[1.0, 2.0]]), v1.constant([4]), v1.constant([5, 2])), 7
        ),
        list(a.take_grad(1)),
        (b.apply_grad(i, x), {i: [[0]], x: [[1, 2]]}),
        (b.apply_grad(i, x), {i: [0], x: 1}),
        (b.apply_grad(i, x), {i: [0], x: [[1, 2], [3, 4]]}),
        (b.apply_grad(i, x), {i: [3], x: [[1, 2]]}),
        (b.apply_grad(i, x), {i: [0], x: [[1, 2, 3]]}),
        (b.apply_grad(i, x, [3, 3]), {i: [0], x: [[1, 2]]}),
        (b.apply_grad(i, x, [3]), {i: [0], x: [[1, 2]]}),
        (b.apply_grad(i, x), {i: [2], x: [[1, 2]]}),
        (b.apply_grad(i, x), {i: [0], x: [[1, 2, 3]]}),
        (b.apply_grad(i, x), {i: [0], x: [[3, 4]]}),
        list(taken),
    ]


PROGRAMS: dict[str, Program] = {
    program.__name__: program
    for program in (
        fifo,
        unshaped,
        named,
        shuffled,
        padded,
        prioritized,
        shared,
        chosen,
        accumulated,
        accumulated_sparsely,
    )
}
