"""A partial run whose step and whose portions meet at chosen moments."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import background
import numpy as np

import capstan as tf
from capstan.core import cancellation
from capstan.core import node as ir
from capstan.framework.raw import raw
from capstan.graph import portion
from capstan.resources import staging_map
from capstan.services import partial_run

PATIENCE_S = 60.0
FED, FETCHED = ir.Edge("fed"), ir.Edge("fetched")


class Fetches(tuple[ir.Edge, ...]):
    """Fetches that call `after` when they have been read."""

    after: Callable[[], None]

    def __iter__(self) -> Iterator[ir.Edge]:
        yield from super().__iter__()
        self.after()


class Lock(threading.Condition):
    """A lock that stops the thread of the step, after its first use, until the test lets it go."""

    def __init__(self) -> None:
        super().__init__()
        self.step: threading.Thread | None = None
        self.may_go_on = threading.Event()
        self.uses = 0

    def __enter__(self) -> bool:
        self.uses += threading.current_thread() is self.step
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if threading.current_thread() is self.step:
            assert self.may_go_on.wait(PATIENCE_S)


def test_a_step_that_ends_while_the_last_portion_begins_keeps_the_fetch() -> None:
    with tf.Graph().as_default() as graph:
        tf.identity(tf.placeholder(tf.float32, [], name="fed"), name="fetched")
    nodes = {node.name: node for node in graph.nodes()}
    setup = portion.set_up(nodes, [FED], [FETCHED], [], "container", "name")
    areas = {
        edge: staging_map.StagingMap(area.name, area.types, 0, 0, is_ordered=False)
        for edge, area in setup.areas.items()
    }
    lock = Lock()

    def run_step(_: Any) -> None:
        lock.step = threading.current_thread()
        values = [np.float32(2), np.int32(1)]
        areas[FETCHED].put(
            1, setup.areas[FETCHED].indices(), values, lambda *_: True, cancellation.Cancellation()
        )

    def go_on() -> None:
        """Let the step's thread go on until it waits for the lock or ends."""
        if not partial._unfetched:
            lock.may_go_on.set()
            background.until(lambda: lock.uses == 2 or not (lock.step and lock.step.is_alive()))

    partial = partial_run.PartialRun(setup, areas, 1, run_step)
    partial._changed = lock
    assert partial.run({FED: np.float32(2)}, [], None) == []
    background.until(lambda: partial._is_done)
    fetches = Fetches([FETCHED])
    fetches.after = go_on
    assert partial.run({}, fetches, None) == [2.0]


def test_a_variant_is_kept_for_a_later_portion() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [2])
        held = raw.TensorListFromTensor(fed, np.zeros(0, np.int32), element_dtype=tf.float32)
        count = raw.TensorListLength(held)
        handle = session.partial_run_setup([held, count], [fed])
        assert session.partial_run(handle, count, {fed: [1.0, 2.0]}) == 2
        assert type(session.partial_run(handle, held)) is type(session.run(held, {fed: [1.0, 2.0]}))
