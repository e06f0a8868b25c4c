"""Partial runs and callables, with a master in this process, over links and over gRPC."""

import threading
from collections.abc import Callable
from typing import Any

import background
import clusters
import examples
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.transport import interfaces

PLACES = ["in process", "cluster", "wire"]
SERVERS: list[Any] = []
PATIENCE_S = 60.0


def target(place: str) -> str:
    """Return the target of a session: this process, a server in this process, or the same server
    over gRPC.
    """
    if place == "in process":
        return ""
    if not SERVERS:
        SERVERS.extend(clusters.start(ps=1, worker=1).values())
    local = str(SERVERS[-1].target)
    return local if place == "cluster" else local.replace("localhost", "127.0.0.1")


@pytest.fixture(params=PLACES)
def session(request: pytest.FixtureRequest) -> Any:
    with tf.Graph().as_default(), tf.Session(target(request.param)) as made:
        yield made


def inputs(*names: str) -> list[Any]:
    return [tf.placeholder(tf.float32, [], name=name) for name in names]


def refused(words: str, call: Callable[[], object]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        call()
    assert caught.value.message == words


@pytest.mark.e2e
def test_a_step_is_fed_and_fetched_in_portions(session: Any) -> None:
    a, b, c = inputs("a", "b", "c")
    first = a + b
    second = first * c
    for _ in range(3):
        handle = session.partial_run_setup([first, second], [a, b, c])
        assert session.partial_run(handle, first, {a: 1, b: 2}) == 3.0
        assert session.partial_run(handle, {"x": [second]}, {c: 5}) == {"x": [15.0]}


def test_a_portion_may_have_no_feeds_or_no_fetches(session: Any) -> None:
    a, b = inputs("a", "b")
    known, total = tf.constant([1, 2]), a + b
    handle = session.partial_run_setup([known, total], [a, b])
    assert session.partial_run(handle, [], {a: 1}) == []
    assert session.partial_run(handle, known).tolist() == [1, 2]
    assert session.partial_run(handle, total, {b: 2}) == 3.0


# The messages are those of TensorFlow 2.21's server.
@pytest.mark.e2e
def test_the_errors_of_a_portion_are_tensorflows(session: Any) -> None:
    a, b, c = inputs("a", "b", "c")
    first = tf.add(a, b, name="first")
    second = tf.multiply(first, c, name="second")

    def begun() -> str:
        handle = session.partial_run_setup([first, second], [a, b, c])
        session.partial_run(handle, first, {a: 1, b: 2})
        return str(handle)

    run, handle = session.partial_run, begun()
    refused("The fetch first:0 has already been fetched.", lambda: run(handle, first))
    refused("The feed a:0 has already been fed.", lambda: run(handle, second, {a: 1}))
    refused(
        "Fetch c:0 can't be computed from the feeds that have been fed so far.",
        lambda: run(handle, second),
    )
    refused(
        "The feed first:0 was not specified in partial_run_setup.",
        lambda: run(handle, second, {c: 1, first: 17}),
    )
    other = session.partial_run_setup([first], [a, b])
    refused(
        "The fetch second:0 was not specified in partial_run_setup.",
        lambda: run(other, second, {a: 1, b: 2}),
    )
    # The refused calls did not change the partial run.
    assert run(handle, second, {c: 5}) == 15.0
    for gone in (handle, "unheard of"):
        refused(
            "Must run PartialRunSetup before performing partial runs",
            lambda gone=gone: run(gone, second),  # type: ignore[misc]
        )
    refused(
        "Must specify at least one target to fetch or execute.",
        lambda: session.partial_run_setup([], [a]),
    )
    refused("a:0 is both fed and fetched.", lambda: session.partial_run_setup([first, a], [a, b]))
    with pytest.raises(RuntimeError, match="requires empty target_list"):
        run(begun(), second.op, {c: 1})


@pytest.mark.e2e
def test_a_variable_changes_once_and_before_the_nodes_that_depend_on_the_change(
    session: Any,
) -> None:
    with tf.device("/job:ps/task:0" if session.sess_str else ""):
        variable = tf.Variable(1.0)
        delta, scale = inputs("delta", "scale")
        change = tf.assign_add(variable, delta)
        with tf.control_dependencies([change]):
            after = tf.identity(variable) * scale
        through = change * scale
    session.run(tf.global_variables_initializer())
    handle = session.partial_run_setup([after, through], [delta, scale])
    session.partial_run(handle, [], {delta: 2})
    # A portion without fetches does not wait for the nodes that its feeds make runnable.
    background.until(lambda: session.run(variable) == 3.0)
    assert session.partial_run(handle, [after, through], {scale: 10}) == [30.0, 30.0]
    assert session.run(variable) == 3.0


@pytest.mark.e2e
def test_targets_run_with_the_portion_that_completes_them(session: Any) -> None:
    variable = tf.Variable(0.0)
    a, b = inputs("a", "b")
    change = tf.assign(variable, a + b)
    session.run(tf.global_variables_initializer())
    handle = session.partial_run_setup([change.op, a + 1.0], [a, b])
    session.partial_run(handle, [], {a: 1})
    assert session.run(variable) == 0.0
    session.partial_run(handle, [], {b: 2})
    background.until(lambda: session.run(variable) == 3.0)


def test_a_portion_that_fails_ends_the_run(session: Any) -> None:
    a = tf.placeholder(tf.float32, [None])
    b = tf.placeholder(tf.float32, [None])
    total = tf.add(a, b, name="total")
    handle = session.partial_run_setup([total], [a, b])
    session.partial_run(handle, [], {a: [1, 2]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes") as caught:
        session.partial_run(handle, total, {b: [1, 2, 3]})
    assert caught.value.op is total.op
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must run PartialRunSetup"):
        session.partial_run(handle, total)


def test_the_caller_may_change_its_arrays_between_portions(session: Any) -> None:
    a = tf.placeholder(tf.float32, [3])
    b = tf.placeholder(tf.float32, [3])
    double = a + a
    both = a + double + b
    handle = session.partial_run_setup([double, both], [a, b])
    fed = np.ones(3, np.float32)
    got = session.partial_run(handle, double, {a: fed})
    fed[:] = 100
    got[:] = 100
    assert session.partial_run(handle, both, {b: np.zeros(3)}).tolist() == [3.0, 3.0, 3.0]


@pytest.mark.e2e
@settings(max_examples=examples.share(60), deadline=None)
@given(data=st.data())
def test_portions_return_the_values_of_one_step_and_run_no_node_twice(data: st.DataObject) -> None:
    with tf.Graph().as_default(), tf.Session(target("cluster")) as session:
        feeds = inputs(*(f"f{number}" for number in range(data.draw(st.integers(1, 4)))))
        tensors, counters = list(feeds), []
        for number in range(data.draw(st.integers(1, 10))):
            task = data.draw(st.sampled_from(["/job:ps/task:0", "/job:worker/task:0"]))
            some = st.sampled_from(tensors)
            with tf.device(task), tf.control_dependencies([data.draw(some).op]):
                made = data.draw(some) * 0.5 + data.draw(some)
                if data.draw(st.booleans()):
                    counters.append(tf.Variable(0.0, name=f"count{number}"))
                    change = tf.assign_add(counters[-1], 1.0)
                    made = made + change if data.draw(st.booleans()) else made
                    with tf.control_dependencies([change]):
                        made = tf.identity(made)
            tensors.append(made)
        fetches = tensors[len(feeds) :]
        values = {feed: float(place + 1) for place, feed in enumerate(feeds)}
        session.run(tf.global_variables_initializer())
        expected = session.run(fetches, values)
        session.run(tf.global_variables_initializer())
        handle = session.partial_run_setup(fetches, feeds)
        for feed in data.draw(st.permutations(feeds)):
            session.partial_run(handle, [], {feed: values[feed]})
        assert session.partial_run(handle, fetches) == expected
        assert session.run(counters) == [1.0] * len(counters)


def test_a_callable_takes_its_feeds_in_order(session: Any) -> None:
    a, b = inputs("a", "b")
    less = session.make_callable(a - b, [a, b])
    assert [less(3, 1), less(1, 3)] == [2.0, -2.0]
    with pytest.raises(TypeError, match="takes 2 values, but got 1"):
        less(1)
    with pytest.raises(TypeError, match="`feed_list` must be a list"):
        session.make_callable(a, feed_list=a)


@pytest.mark.parametrize("place", ["cluster", "wire"])
def test_a_master_remembers_steps_until_they_are_released(place: str) -> None:
    options = interfaces.StepOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Graph().as_default(), tf.Session(target(place)) as session:
        a, b = inputs("a", "b")
        tf.subtract(a, b, name="less")
        session.run(tf.constant(1))
        master, handle = session._master, session._connection.handle
        less = master.make_callable(handle, ["a:0", "b:0"], ["less:0"], [], options)
        for value in (3, 1):
            fed = [np.float32(value), np.float32(1)]
            values, metadata = master.run_callable(handle, less, fed)
            assert values == [value - 1]
            assert "less" in {
                entry.node_name
                for device in metadata.step_stats.dev_stats
                for entry in device.node_stats
            }
        refused(
            "Expected 2 feeds, but got 1",
            lambda: master.run_callable(handle, less, [np.float32(1)]),
        )
        with pytest.raises(tf.errors.NotFoundError, match="nobody"):
            master.make_callable(handle, [], ["nobody:0"], [], options)
        master.release_callable(handle, less)
        master.release_callable(handle, less)
        refused(f"No such callable handle: {less}", lambda: master.run_callable(handle, less, fed))
        with pytest.raises(tf.errors.AbortedError, match="is not found"):
            master.run_callable("gone", less, fed)


def held(session: Any) -> Any:
    """Return the session of the master."""
    master = SERVERS[-1].master if session.sess_str else session._master
    return master._sessions.get(session._connection.handle)


class WaitingRun:
    """A partial run of which one portion waits for an element of a queue."""

    def __init__(self, session: Any) -> None:
        self.session = session
        with tf.device("/job:ps/task:0" if session.sess_str else ""):
            elements = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
        self.put = elements.enqueue(3.0)
        (a, self.b), self.c = inputs("a", "b"), tf.placeholder(tf.int32, [])
        with tf.control_dependencies([tf.identity(a)]):
            taken = elements.dequeue() + a
        self.total, self.quotient = taken * self.b, 8 // self.c
        fetches = [taken, self.total, self.quotient]
        self.handle = session.partial_run_setup(fetches, [a, self.b, self.c])
        self.ends: list[Any] = []
        self.waiting = self.begin(taken, {a: 1})
        background.until(lambda: held(self.session)._steps._runs)

    def begin(self, fetch: Any, feeds: Any) -> threading.Thread:
        thread = threading.Thread(target=self._run, args=(fetch, feeds))
        thread.start()
        return thread

    def _run(self, fetch: Any, feeds: Any) -> None:
        try:
            self.ends.append(self.session.partial_run(self.handle, fetch, feeds))
        except tf.errors.OpError as error:
            self.ends.append(error)

    def portions(self) -> int:
        """Return how many portions run or wait."""
        (partial,) = held(self.session).partial_runs._runs.values()
        return int(partial._running)


@pytest.mark.e2e
def test_a_portion_runs_while_another_waits(session: Any) -> None:
    run = WaitingRun(session)
    assert session.partial_run(run.handle, run.quotient, {run.c: 4}) == 2
    # This portion needs the value that the first one waits for.
    dependent = run.begin(run.total, {run.b: 10})
    assert not run.ends
    session.run(run.put)
    for thread in (run.waiting, dependent):
        thread.join(PATIENCE_S)
    assert sorted(run.ends) == [4.0, 40.0]


@pytest.mark.e2e
def test_a_portion_that_fails_ends_the_portions_that_wait(session: Any) -> None:
    run = WaitingRun(session)
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        session.partial_run(run.handle, run.quotient, {run.c: 0})
    run.waiting.join(PATIENCE_S)
    assert [type(end) for end in run.ends] == [tf.errors.InvalidArgumentError]


def test_the_next_portion_raises_the_error_of_a_step_that_failed_between_portions(
    session: Any,
) -> None:
    a, divisor = inputs("a")[0], tf.placeholder(tf.int32, [])
    quotient = 8 // divisor
    handle = session.partial_run_setup([a + 1.0, quotient], [a, divisor])
    session.partial_run(handle, [], {divisor: 0})
    (partial,) = held(session).partial_runs._runs.values()
    background.until(lambda: partial._fault)
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero") as caught:
        session.partial_run(handle, quotient)
    assert caught.value.op is quotient.op
    refused(
        "Must run PartialRunSetup before performing partial runs",
        lambda: session.partial_run(handle, quotient),
    )


@pytest.mark.e2e
def test_closing_the_session_ends_every_portion(session: Any) -> None:
    run = WaitingRun(session)
    dependent = run.begin(run.total, {run.b: 10})
    background.until(lambda: run.portions() == 2)
    session.close()
    for thread in (run.waiting, dependent):
        thread.join(PATIENCE_S)
    assert tf.errors.CancelledError in [type(end) for end in run.ends]
    assert len(run.ends) == 2


@pytest.mark.e2e
def test_concurrent_portions_of_one_run_feed_one_step(session: Any) -> None:
    feeds = inputs(*"abcdefgh")
    total = tf.add_n(feeds)
    handle = session.partial_run_setup([total], feeds)
    threads = [
        threading.Thread(target=session.partial_run, args=(handle, [], {feed: 1})) for feed in feeds
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.partial_run(handle, total) == 8.0
