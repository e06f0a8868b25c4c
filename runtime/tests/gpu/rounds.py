"""A process that trains on a GPU for many rounds, and prints what it holds before and after them.

    rounds.py steps|sessions WARM COUNT

A round is a step, or a session with some steps. The variables are on a parameter server without a
GPU and on a worker with one. The process prints two lines of JSON: what it holds after WARM rounds,
and after all COUNT rounds. It fails if it holds more at the end.
"""

import gc
import json
import sys
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import accelerated
import clusters
import numpy as np
import psutil
import strict_array

import capstan as tf
from capstan.executor import program, repeats

STEPS_OF_A_SESSION = 8
"""Enough to record and repeat a step with each size of batch."""
TRACED_ROUNDS = 10
UNTIL_DROPPED = 2 * program._SHRINK_AFTER
"""If a step begins before the memory of the step before it is free, it gets memory of its own. This
memory is free after so many steps."""

NUMPY = "growth of NumPy's arrays"
SLACK = {
    # A block is free later if the host is ahead of the GPU, or if the collector runs late. A leak
    # of a block in each of 10 000 rounds exceeds this.
    "bytes of the pool": 4 << 20,
    "free blocks of pinned memory": 4,
    # The libraries of CUDA keep some, and other programs may use the GPU.
    "bytes of the device": 64 << 20,
    # The allocator keeps some. A leak of a kilobyte in each of 10 000 rounds exceeds this.
    "bytes of the process": 8 << 20,
    # A pool starts a thread if all others are busy at that moment, and keeps it.
    "threads": 4,
    # A task may connect to another one now and then, to ask whether it is there.
    "objects of Capstan": 20,
}
"""By how much a figure may grow. The others may not grow at all."""

Held = dict[str, int]


def held(memory: accelerated.Memory) -> Held:
    """Return what this process holds: bytes, or numbers of objects."""
    used = memory.used_bytes()
    objects = gc.get_objects()
    runs = [item for item in objects if type(item) is repeats.Repeats]
    return {
        "bytes of the GPU": used,
        "arrays of the GPU": sum(type(item) is strict_array.StrictArray for item in objects),
        "runs": len(runs),
        "recordings": sum(len(run._recordings) for run in runs),
        "objects of Capstan": sum(is_of_capstan(type(item)) for item in objects),
        "threads": threading.active_count(),
        **(held_on_a_real_gpu() if accelerated.IS_REAL else {}),
    }


def is_of_capstan(kind: type) -> bool:
    # In some types of the standard library, `__module__` is no string.
    return str(kind.__module__).startswith("capstan.")


def held_on_a_real_gpu() -> Held:
    import cupy

    free, total = cupy.cuda.runtime.memGetInfo()
    return {
        "bytes of the pool": cupy.get_default_memory_pool().total_bytes(),
        "free blocks of pinned memory": cupy.get_default_pinned_memory_pool().n_free_blocks(),
        "bytes of the device": total - free,
        "bytes of the process": psutil.Process().memory_info().rss,
    }


def numpy_growth(once: Callable[[], None]) -> int:
    """Return by how many bytes the arrays of NumPy grow in some rounds. Tracing makes them slow."""

    def traced_bytes() -> int:
        for _ in range(TRACED_ROUNDS):
            once()
        gc.collect()
        snapshot = tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)]
        )
        return sum(trace.size for trace in snapshot.traces)

    tracemalloc.start()
    try:
        before = traced_bytes()  # In its rounds, traced arrays take the places of others.
        return traced_bytes() - before
    finally:
        tracemalloc.stop()


def grown_and_held(kind: str, once: Callable[[], None], memory: accelerated.Memory) -> Held:
    """Return what this process holds, and the growth of NumPy's arrays in some steps."""
    growth = numpy_growth(once) if kind == "steps" else 0
    return {NUMPY: growth, **held(memory)}


def grown(kind: str, before: Held, after: Held) -> list[str]:
    """Return the names of the figures that have grown."""
    # For some hundred sessions, the process keeps something, which `cluster/soak.py` measures.
    checked = before.keys() - ({"bytes of the process"} if kind == "sessions" else set())
    return [name for name in checked if after[name] > before[name] + SLACK.get(name, 0)]


class Training:
    """A model that a worker trains on its GPU."""

    def __init__(self, target: str) -> None:
        """`target` is the target of the worker."""
        self._target = target
        self._images = tf.placeholder(tf.float32, [None, 8])
        self._labels = tf.placeholder(tf.float32, [None, 4])
        with tf.device("/job:ps/cpu:0"):
            first = tf.get_variable("first", [8, 32])
        with tf.device("/job:worker/gpu:0"):
            hidden = tf.nn.dropout(tf.nn.relu(tf.matmul(self._images, first)), 0.5)
            logits = tf.layers.dense(hidden, 4)
            self._loss = tf.losses.softmax_cross_entropy(self._labels, logits)
            self._update = tf.train.AdamOptimizer().minimize(self._loss)
            self._start = tf.global_variables_initializer()
        self._count = 0

    def session(self) -> Any:
        """Return a session of the worker, whose variables have values."""
        session = tf.Session(self._target, config=tf.ConfigProto(allow_soft_placement=True))
        session.run(self._start)
        return session

    def step(self, session: Any) -> None:
        """Train with a batch of one of two sizes."""
        self._count += 1
        rows = 16 - 8 * (self._count % 2)
        images = np.full((rows, 8), self._count, np.float32)
        labels = np.eye(4, dtype=np.float32)[np.arange(rows) % 4]
        session.run([self._loss, self._update], {self._images: images, self._labels: labels})


def rounds(kind: str, target: str) -> Callable[[], None]:
    """Return the function that runs a round."""
    training = Training(target)
    if kind == "steps":
        session = training.session()
        return lambda: training.step(session)

    def once() -> None:
        with training.session() as session:
            for _ in range(STEPS_OF_A_SESSION):
                training.step(session)

    return once


def main(kind: str, warm: int, count: int) -> bool:
    """Run the rounds. Return whether the process holds no more after them."""
    with accelerated.gpu() as memory:
        servers = clusters.start(ps=1, worker=1)
        once = rounds(kind, servers["worker:0"].target.replace("localhost", "127.0.0.1"))
        for _ in range(warm):
            once()
        before = {NUMPY: 0, **held(memory)}
        for _ in range(count - warm):
            once()
        after = grown_and_held(kind, once, memory)
        if grown(kind, before, after):
            for _ in range(UNTIL_DROPPED if kind == "steps" else 1):
                once()
            after = grown_and_held(kind, once, memory)
        print(json.dumps(before))
        print(json.dumps(after))
        return not grown(kind, before, after)


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])) else 1)
