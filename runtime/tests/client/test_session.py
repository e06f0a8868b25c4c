"""A session and its master agree on the graph, and a session can be closed at any time."""

import gc
import pathlib
import pickle
import socket
import threading
import weakref
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.executor import program

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[tf.train.Server]:
    made = clusters.start(worker=1)["worker:0"]
    yield made
    made.stop()


@pytest.fixture(params=["in process", "wire"])
def target(request: pytest.FixtureRequest, server: tf.train.Server) -> str:
    return "" if request.param == "in process" else over_the_wire(server)


def over_the_wire(server: tf.train.Server) -> str:
    """Return a target that a session of this process reaches over gRPC."""
    return str(server.target).replace("localhost", "127.0.0.1")


class GrowingGraph(tf.Graph):
    """A graph to which another thread adds an operation while a session reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.additions = 0

    def nodes(self, since: int = 0) -> list[Any]:
        if self.additions:
            self.additions -= 1
            builder = threading.Thread(target=self.add_constant)
            builder.start()
            builder.join(PATIENCE_S)
        return super().nodes(since)

    def add_constant(self) -> None:
        with self.as_default():
            tf.constant(0.0)


def test_an_operation_added_while_the_graph_is_sent_is_sent_once(target: str) -> None:
    graph = GrowingGraph()
    with graph.as_default(), tf.Session(target) as session:
        graph.additions = 1
        assert session.run(tf.constant(1.0)) == 1.0
        graph.additions = 1
        assert session.run(tf.constant(2.0)) == 2.0
        assert session.run(tf.constant(3.0)) == 3.0


@pytest.mark.e2e
def test_threads_build_a_graph_while_others_run_it(target: str) -> None:
    with tf.Graph().as_default() as graph, tf.Session(target) as session:

        def build_and_run(first: int) -> None:
            with graph.as_default():
                for number in range(first, first + 25):
                    assert session.run(tf.constant(number)) == number

        with futures.ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(build_and_run, 100 * number) for number in range(4)]:
                done.result(PATIENCE_S)


def test_an_invalid_class_attribute_fails_only_the_steps_that_need_its_node(target: str) -> None:
    with tf.Graph().as_default() as graph, tf.Session(target) as session:
        assert session.run(tf.constant(1.0)) == 1.0
        damaged = tf.constant(2.0)
        damaged.op._set_attr("_class", [b"loc:@\xff"])
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=damaged.op.name) as caught:
                session.run(damaged)
            assert caught.value.op is damaged.op
        assert session.run(tf.constant(3.0)) == 3.0
        assert len(graph.get_operations()) == 3


def multiply(a: Any, b: Any) -> Any:
    return tf.matmul(a, b, name="product")


def test_an_error_shows_the_lines_that_created_the_operation(target: str) -> None:
    here = pathlib.Path(__file__).name
    with tf.Graph().as_default(), tf.Session(target) as session:
        a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        result = multiply(a, b) + 1.0
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(result, {a: np.zeros((2, 3)), b: np.zeros((4, 5))})
    error = caught.value
    assert error.op.name == "product"
    caller, called = error.op.traceback[-2:]
    assert caller.line == "result = multiply(a, b) + 1.0"
    assert called.line == 'return tf.matmul(a, b, name="product")'
    shown = str(error).removeprefix(error.message).splitlines()
    assert shown[1] == "  'product' was created here:"
    assert shown[-2].endswith(f'{here}", line {called.lineno}, in multiply')
    assert all(line.startswith(" ") for line in shown[1:])
    assert "{{node product}}" in error.message
    assert "created" not in error.message
    assert str(pickle.loads(pickle.dumps(error))) == error.message


def test_an_error_in_a_gradient_also_shows_the_lines_of_the_operation(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        a, b, weights = (tf.placeholder(tf.float32) for _ in range(3))
        result = tf.multiply(a, b, name="scaled")
        with tf.name_scope("train"):
            (slope,) = tf.gradients(result, [a], grad_ys=weights)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(slope, {a: np.zeros(64), b: np.zeros(10), weights: np.zeros(64)})
    error = caught.value
    assert error.op.name.startswith("train/gradients/scaled_grad/")
    found, title, built = (
        str(error).removeprefix(error.message).partition("\n  It is in the gradient of 'scaled':\n")
    )
    assert title
    assert f"line {error.op.traceback[-1].lineno}," in found.splitlines()[-2]
    assert f"line {result.op.traceback[-1].lineno}," in built.splitlines()[-2]
    assert [result.op._original_op, weights.op._original_op] == [None, None]


def test_an_operation_keeps_no_frame_of_the_program_alive() -> None:
    class Large:
        pass

    def build() -> "weakref.ref[Large]":
        local = Large()
        tf.constant(1.0, name="kept")
        return weakref.ref(local)

    with tf.Graph().as_default() as graph:
        assert build()() is None
        names = [frame.name for frame in graph.get_operation_by_name("kept").traceback]
        assert names[-2:] == ["test_an_operation_keeps_no_frame_of_the_program_alive", "build"]


def test_the_devices_of_a_session_with_an_empty_graph_are_listed(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        device, *_ = session.list_devices()
        assert device.device_type == "CPU"
        assert session.run(tf.constant(1.0)) == 1.0


def compiled_parts() -> set[str]:
    """Return the parts of graphs that this process has compiled and holds."""
    # `isinstance` would fail for weak proxies of objects that are gone.
    return {found._filename for found in gc.get_objects() if type(found) is program.Program}


def test_a_step_is_compiled_once_whatever_the_order_of_its_feeds(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, y, z = (tf.placeholder(tf.float32, [], name=name) for name in "xyz")
        result = x + 10.0 * y + 100.0 * z
        assert session.run(result, {x: 1.0, y: 2.0, z: 3.0}) == 321.0
        before = compiled_parts()
        assert session.run(result, {z: 3.0, x: 1.0, y: 2.0}) == 321.0
        assert session.run(result, {y: 5.0, z: 6.0, x: 4.0}) == 654.0
        assert compiled_parts() <= before


def test_a_step_is_compiled_once_whatever_the_order_of_its_fetches(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32, [])
        one, two = x + 1.0, x + 2.0
        assert session.run([one, two, x], {x: 0.0}) == [1.0, 2.0, 0.0]
        before = compiled_parts()
        assert session.run([x, two, one], {x: 3.0}) == [3.0, 5.0, 4.0]
        assert session.run({"b": two, "a": [x, one, two]}, {x: 0.0}) == {
            "b": 2.0,
            "a": [0.0, 1.0, 2.0],
        }
        assert compiled_parts() <= before


def test_feeds_of_several_shapes_reach_their_tensors_in_any_order(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        rows = tf.placeholder(tf.float32, [None, 2], name="rows")
        bias = tf.placeholder(tf.float32, [None], name="bias")
        total = tf.reduce_sum(rows + bias)
        for count in (1, 2, 3):
            feeds = {rows: np.ones((count, 2)), bias: np.ones(2)}
            reordered = dict(reversed(list(feeds.items())))
            assert session.run(total, feeds) == session.run(total, reordered) == 4 * count


@pytest.mark.e2e
@pytest.mark.parametrize("place", ["master of this process", "wire"])
def test_closing_a_session_cancels_its_creation_while_it_waits_for_a_task(place: str) -> None:
    cluster = clusters.spec(ps=1, worker=1)
    host, _, port = cluster["ps"][0].rpartition(":")
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    target = server.target if place == "master of this process" else over_the_wire(server)
    with socket.create_server((host, int(port))) as mute, tf.Graph().as_default():
        mute.settimeout(PATIENCE_S)
        session = tf.Session(target)
        with futures.ThreadPoolExecutor(2) as threads:
            step = threads.submit(session.run, tf.constant(1.0))
            connection, _ = mute.accept()  # the master calls the ps, which does not answer
            threads.submit(session.close).result(PATIENCE_S)
            with pytest.raises(tf.errors.CancelledError, match="Session"):
                step.result(PATIENCE_S)
            connection.close()
        with pytest.raises(RuntimeError, match="closed Session"):
            session.run(tf.constant(1.0))
    server.stop()


class ClosingGraph(tf.Graph):
    """A graph that closes `session` when its version is read for the last of `reads` times."""

    session: tf.Session | None = None
    reads = 0

    @property
    def version(self) -> int:
        if self.session is not None:
            self.reads -= 1
            if not self.reads:
                self.session.close()
        return super().version


@pytest.mark.parametrize("reads", [1, 2])
def test_a_step_whose_session_is_closed_meanwhile_does_not_report_a_lost_task(
    target: str, reads: int
) -> None:
    graph = ClosingGraph()
    with graph.as_default():
        one = tf.constant(1.0)
        session = tf.Session(target)
        assert session.run(one) == 1.0
        graph.session, graph.reads = session, reads
        with pytest.raises((tf.errors.CancelledError, RuntimeError), match=r"closed|Close\(\)"):
            session.run(one)
        assert graph.reads <= 0, "the session was not closed during the step"


def test_the_devices_of_this_process_have_short_names() -> None:
    from capstan.python.client import device_lib

    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    found = device_lib.list_local_devices(config)
    assert [(each.name, each.device_type) for each in found] == [
        ("/device:CPU:0", "CPU"),
        ("/device:CPU:1", "CPU"),
    ]


def test_the_error_of_a_step_holds_no_array_of_the_step() -> None:
    x = tf.placeholder(tf.float32, [2])
    checked = tf.check_numerics(x, "is not finite")
    with tf.Session() as session:
        fed = np.full(2, np.nan, np.float32)
        is_free = weakref.ref(fed)
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(checked, {x: fed})
        kept = raised.value.with_traceback(None)  # The caller's frames hold the feed, too.
        del fed, raised
        gc.collect()
        assert is_free() is None, kept


def test_a_callable_without_feeds_resolves_its_fetches_when_it_is_made() -> None:
    x = tf.constant(1.0)
    with tf.Session() as session:
        assert session.make_callable([x.name])() == [1.0]
        with pytest.raises(ValueError, match="'bad' cannot be interpreted as a Tensor"):
            session.make_callable("bad")
        later = session.make_callable("later:0", [x])
        with pytest.raises(ValueError, match="'later:0' cannot be interpreted as a Tensor"):
            later(2.0)
        tf.constant(3.0, name="later")
        assert later(2.0) == 3.0


@pytest.mark.parametrize("feeds", [None, {}, [], (), "", 0])
def test_every_empty_value_feeds_nothing(graph: tf.Graph, feeds: Any) -> None:
    x = tf.placeholder_with_default(1.0, [], name="x")
    with tf.Session() as session:
        assert session.run(x, feeds) == 1.0


@pytest.mark.parametrize("feeds", [["x"], "x:0", 3])
def test_feeds_are_a_dictionary(graph: tf.Graph, feeds: Any) -> None:
    x = tf.placeholder_with_default(1.0, [], name="x")
    with tf.Session() as session:
        message = f"feed_dict must be a dictionary.*not of type '{type(feeds).__name__}'"
        with pytest.raises(TypeError, match=message):
            session.run(x, feeds)
