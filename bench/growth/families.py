"""The families of rows. The rows of a family differ only in one size.

    cd bench && FAMILY=workers SIZE=8 ../.venv/bin/python -m growth.families

measures one row and prints it as a line of JSON, as a script of `rows/` does.
"""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import contest
import large
import perceptrons
import sides
import transfers

THINK_S = 0.02
"""The time for which a worker sleeps in each step, in place of a computation on its own machine."""

MODEL = 32
"""The number of variables of 1 MB that a worker pulls from all parameter servers."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family: its title, the meaning of its sizes, its sizes, and the row of a size."""

    title: str
    size: str
    sizes: Sequence[int]
    row: Callable[[int], contest.Row]


def workers(count: int) -> contest.Row:
    """Return the row of asynchronous training with `count` workers, which mostly sleep."""

    def prepare(place: contest.Place) -> contest.Step:
        train = perceptrons.train_between_graphs(place, (784, 10))
        never = threading.Event()

        def step() -> object:
            never.wait(THINK_S)
            return train()

        return step

    variables = (sides.REFERENCE, sides.RESOURCE)
    return contest.Row("", "steps/s", 1, prepare, variables, ps=1, workers=count, window_s=2)


def servers(count: int) -> contest.Row:
    """Return the row of a worker that pulls `MODEL` variables from `count` parameter servers."""

    def prepare(place: contest.Place) -> contest.Step:
        tf = place.tf
        sources = []
        for index in range(MODEL):
            with tf.device(f"/job:ps/task:{index % count}"):
                zeros = tf.zeros_initializer()
                sources.append(tf.get_variable(f"source{index}", [250_000], initializer=zeros))
        return transfers.pull_all(place, sources)

    variables = (sides.REFERENCE, sides.RESOURCE)
    return contest.Row("", "ms", 1, prepare, variables, ps=count, window_s=1)


def sessions(count: int) -> contest.Row:
    """Return the row of a new session whose first step uses `count` parameter servers."""

    def prepare(place: contest.Place) -> contest.Step:
        tf = place.tf
        numbers = []
        for index in range(count):
            with tf.device(f"/job:ps/task:{index}"):
                numbers.append(tf.Variable(1.0, name=f"number{index}"))
        with tf.device(transfers.WORKER):
            total = tf.add_n(numbers)
        place.session().run(tf.global_variables_initializer())

        def step() -> object:
            with place.session() as session:
                return session.run(total)

        return step

    return contest.Row("", "ms", 1, prepare, (sides.REFERENCE,), ps=count, warm_up_steps=1)


def queues(depth: int) -> contest.Row:
    """Return the row of a step that enqueues and dequeues with `depth` elements in the queue."""

    def prepare(place: contest.Place) -> contest.Step:
        tf = place.tf
        queue = tf.FIFOQueue(depth + 1, tf.int32, [()])
        fill = queue.enqueue_many([tf.zeros([depth], tf.int32)])
        enqueue, number = queue.enqueue(1), queue.dequeue()
        session = place.session()
        session.run(fill)

        def step() -> None:
            session.run(enqueue)
            session.run(number)

        return step

    return contest.Row("", "us", 1, prepare, (sides.POOL, sides.CALLER))


def steps(nodes: int) -> contest.Row:
    """Return the row of a step of a chain of `nodes` operations."""
    pools = (sides.POOL, sides.CALLER)
    return contest.Row("", "us", 1, lambda place: large.later_run(place, nodes), pools)


def first_runs(nodes: int) -> contest.Row:
    """Return the row of the first run of a chain of `nodes` operations, in a new session."""
    return contest.Row(
        "", "ms", 1, lambda place: large.first_run(place, nodes), (sides.POOL,), warm_up_steps=1
    )


def builds(nodes: int) -> contest.Row:
    """Return the row of building a chain of `nodes` operations."""
    return contest.Row(
        "", "ms", 1, lambda place: large.built(place, nodes), (sides.POOL,), warm_up_steps=1
    )


_GRAPHS = (10, 100, 1000, 10_000)

FAMILIES: Mapping[str, Family] = {
    "workers": Family(
        f"async training, softmax 784-10, 1 ps; a worker sleeps {THINK_S * 1000:.0f} ms a step",
        "workers",
        (1, 2, 4, 8),
        workers,
    ),
    "servers": Family(f"a worker pulls {MODEL} x 1 MB", "ps", (1, 2, 4), servers),
    "sessions": Family(
        "a new session and its first step, with a variable on each ps", "ps", (1, 4, 16), sessions
    ),
    "queues": Family(
        "enqueue and dequeue a scalar, local queue", "elements", (1, 1000, 1_000_000), queues
    ),
    "builds": Family("build a graph", "nodes", _GRAPHS, builds),
    "first_runs": Family("first run of a graph", "nodes", _GRAPHS, first_runs),
    "steps": Family("step of a graph", "nodes", _GRAPHS, steps),
}


def main() -> None:
    """Measure the row that `FAMILY` and `SIZE` name, or run one of its processes."""
    family = FAMILIES[os.environ["FAMILY"]]
    contest.main(family.row(int(os.environ["SIZE"])), __spec__)


if __name__ == "__main__":
    main()
