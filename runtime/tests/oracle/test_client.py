"""TensorFlow clients share variables, extend graphs, send large tensors and get errors."""

import pathlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import genuine
import grpc
import numpy as np
import pytest

from capstan.transport.grpc import wire

pytestmark = genuine.MARKS

PS = "/job:ps/task:0"
KINDS = pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])


def counter(v1: Any, *, is_resource: bool = False, name: str = "count") -> Any:
    with v1.device(PS):
        return v1.get_variable(name, initializer=np.float32(0), use_resource=is_resource)


@KINDS
def test_two_clients_share_the_variables_of_a_ps(
    v1: Any, tasks: genuine.Tasks, is_resource: bool
) -> None:
    count = counter(v1, is_resource=is_resource)
    increment = count.assign_add(1.0, use_locking=True)
    first, second = v1.Session(tasks.target("worker")), v1.Session(tasks.target("ps"))
    first.run(count.initializer)

    def add(session: Any) -> None:
        for _ in range(50):
            session.run(increment.op)

    threads = [threading.Thread(target=add, args=(session,)) for session in (first, second, first)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [session.run(count) for session in (first, second)] == [150, 150]
    first.close()
    assert second.run(count) == 150
    second.close()


@KINDS
def test_a_graph_may_grow_while_its_session_is_open(
    v1: Any, tasks: genuine.Tasks, is_resource: bool
) -> None:
    count = counter(v1, is_resource=is_resource)
    with v1.Session(tasks.target()) as session:
        session.run(count.initializer)
        for number in range(1, 4):
            added = count.assign_add(float(number))
            session.run(added)
            assert session.run(count * 10) == 10 * sum(range(number + 1))
        other = counter(v1, is_resource=is_resource, name="other")
        session.run(other.initializer)
        assert session.run([count, other]) == [6, 0]


def test_large_tensors_are_fed_fetched_and_sent_between_tasks(
    v1: Any, tasks: genuine.Tasks
) -> None:
    large = np.random.default_rng(0).random((3000, 3000), np.float32)
    with v1.device(PS):
        held = v1.get_variable("held", shape=large.shape, use_resource=True)
        value = v1.placeholder(v1.float32, large.shape)
        assign = held.assign(value)
    with v1.Session(tasks.target()) as session:
        session.run(assign.op, {value: large})
        np.testing.assert_array_equal(session.run(held), large)
        with v1.device("/job:worker/task:0"):
            negative = -held.read_value()
        np.testing.assert_array_equal(session.run(negative), -large)


def test_a_session_lists_devices_and_fetches_tensors_by_name(v1: Any, tasks: genuine.Tasks) -> None:
    with v1.Session(tasks.target()) as session:
        devices = {device.name: device.device_type for device in session.list_devices()}
        assert devices.items() >= {
            ("/job:ps/replica:0/task:0/device:CPU:0", "CPU"),
            ("/job:worker/replica:0/task:0/device:CPU:0", "CPU"),
        }
    v1.reset_default_graph()
    x = v1.placeholder(v1.float32, [2], "x")
    v1.multiply(x, 2.0, "twice")
    words = v1.constant([b"a", b"\xff\x00"], name="words")
    with v1.Session(tasks.target()) as session:
        assert session.run("twice:0", {"x:0": [1, 2]}).tolist() == [2, 4]
        assert session.run(["words:0", x], {x: [3, 4]})[0].tolist() == [b"a", b"\xff\x00"]
        assert session.run(words).dtype == object
        twice = session.make_callable("twice:0", [x])
        assert [twice([number, 0])[0] for number in range(3)] == [0, 2, 4]


def test_devices_of_unknown_sessions_are_refused_as_by_tensorflows_master(
    v1: Any, tasks: genuine.Tasks
) -> None:
    server = v1.train.Server.create_local_server()
    answers = []
    for target in (server.target, tasks.target()):
        with grpc.insecure_channel(target.removeprefix("grpc://")) as channel:
            call = channel.unary_unary("/tensorflow.MasterService/ListDevices")
            with pytest.raises(grpc.RpcError) as caught:
                call(wire.ListDevicesRequest(session_handle="none").SerializeToString(), timeout=60)
            answers.append((caught.value.code(), caught.value.details()))
            found = call(wire.ListDevicesRequest().SerializeToString(), timeout=60)
            devices = wire.ListDevicesResponse.FromString(found).local_device
            assert {device.device_type for device in devices} == {"CPU"}
    assert answers[0] == answers[1]
    assert len({device.name.partition("/device:")[0] for device in devices}) == 2


def test_a_fetched_handle_has_the_dtype_resource(v1: Any, tf: Any, tasks: genuine.Tasks) -> None:
    weights = v1.get_variable("w", [2], use_resource=True)
    with v1.Session(tasks.target()) as session:
        session.run(weights.initializer)
        handle = session.run("w:0")
        assert handle.dtype.names == ("resource",)


def error_of(tf: Any, expected: str, run: Callable[[], Any]) -> str:
    """Check that `run` raises exactly the error class `expected`, and return the message."""
    with pytest.raises(getattr(tf.errors, expected)) as raised:
        run()
    assert type(raised.value).__name__ == expected
    return str(raised.value)


def faulty(v1: Any, *, is_resource: bool) -> tuple[dict[str, tuple[str, Any]], dict[Any, Any]]:
    """Return fetches that fail, and the feeds for them.

    The fetches are a map from the node that fails to the class of the error and the fetch.
    """
    weights = v1.get_variable("weights", initializer=np.float32(0), use_resource=is_resource)
    x, y = v1.placeholder(v1.float32, [None], "x"), v1.placeholder(v1.float32, [None], "y")
    row, column = v1.reshape(x, [1, -1]), v1.reshape(y, [1, -1])
    invalid = "InvalidArgumentError"
    runs = {
        "weights": ("FailedPreconditionError", weights + 0),
        "total": (invalid, v1.add(x, y, "total")),
        "square": (invalid, v1.matmul(row, column, name="square")),
        "looked": (invalid, v1.gather(x, v1.cast(y, v1.int32), name="looked")),
        "claim": (invalid, v1.Assert(False, [x], name="claim")),
        "halves": (invalid, v1.split(y, 2, name="halves")),
        "bent": (invalid, v1.reshape(y, [2, -1], "bent")),
        "unfed": (invalid, v1.placeholder(v1.float32, name="unfed") + 1),
        "quotient": (invalid, v1.floordiv(1, v1.cast(x - x, v1.int32), name="quotient")),
        "joined": (invalid, v1.concat([row, v1.reshape(y, [-1, 1])], 0, name="joined")),
    }
    return runs, {x: [1, 2], y: [1, 2, 3]}


@KINDS
def test_an_error_has_the_class_of_tensorflow_and_names_the_node(
    tf: Any, v1: Any, tasks: genuine.Tasks, is_resource: bool
) -> None:
    for target, device in (("", ""), (tasks.target(), PS)):
        with v1.Graph().as_default(), v1.device(device), v1.Session(target) as session:
            runs, feeds = faulty(v1, is_resource=is_resource)
            for name, (expected, fetch) in runs.items():
                message = error_of(tf, expected, lambda f=fetch, g=feeds: session.run(f, g))
                assert name in message


@KINDS
def test_a_value_of_another_shape_is_refused(
    tf: Any, v1: Any, tasks: genuine.Tasks, is_resource: bool
) -> None:
    count = counter(v1, is_resource=is_resource)
    unknown = v1.placeholder(v1.float32, None)
    assign, add = v1.assign(count, unknown), count.assign_add(unknown)
    with v1.Session(tasks.target()) as session:
        session.run(count.initializer)
        for change in (assign, add):
            run = lambda change=change: session.run(change.op, {unknown: [1.0, 2.0]})  # noqa: E731
            error_of(tf, "InvalidArgumentError", run)
        assert session.run(count) == 0
        session.run(assign.op, {unknown: 2.0})
        assert session.run(count) == 2


@pytest.fixture
def mortal() -> Iterator[genuine.Tasks]:
    """Tasks that the test may kill."""
    tasks = genuine.Tasks(ps=1, worker=1)
    yield tasks
    tasks.close()


@pytest.mark.alone
def test_a_killed_ps_is_unavailable_and_its_successor_has_no_variables(
    tf: Any, v1: Any, mortal: genuine.Tasks
) -> None:
    count = counter(v1)
    with v1.device("/job:worker/task:0"):
        successor = count + 1
    settings = v1.ConfigProto(operation_timeout_in_ms=100_000)
    session = v1.Session(mortal.target(), config=settings)
    session.run(count.initializer)
    assert session.run(successor) == 1
    mortal.kill("ps")
    lost = (tf.errors.UnavailableError, tf.errors.AbortedError)
    with pytest.raises(lost):
        session.run(successor)
    mortal.start("ps")
    with pytest.raises(lost):
        session.run(successor)
    # If the session were collected after its master ended, its client would try to close it for
    # 100 s.
    session.close()
    with v1.Session(mortal.target(), config=settings) as fresh:
        error_of(tf, "FailedPreconditionError", lambda: fresh.run(successor))
        fresh.run(count.initializer)
        assert fresh.run(successor) == 1


@KINDS
@pytest.mark.parametrize("is_sharded", [False, True], ids=["plain", "sharded"])
def test_a_tensorflow_saver_saves_and_restores(
    v1: Any, tasks: genuine.Tasks, tmp_path: pathlib.Path, is_sharded: bool, is_resource: bool
) -> None:
    draw = np.random.default_rng(0)
    values = {"a": draw.random((3, 4), np.float32), "b": np.arange(5, dtype=np.int64)}
    with v1.device(PS):
        held = [
            v1.get_variable(name, initializer=value, use_resource=is_resource)
            for name, value in values.items()
        ]
    with v1.device("/job:worker/task:0"):
        held.append(v1.get_variable("c", initializer=np.float64(2.5), use_resource=is_resource))
    saver = v1.train.Saver(sharded=is_sharded)
    missing = v1.report_uninitialized_variables()
    with v1.Session(tasks.target()) as session:
        assert session.run(missing).tolist() == [b"a", b"b", b"c"]
        session.run(v1.global_variables_initializer())
        assert session.run(missing).tolist() == []
        path = saver.save(session, str(tmp_path / "model"), global_step=3)
        session.run([v.assign(v1.zeros_like(v)).op for v in held])
        saver.restore(session, path)
        found = session.run(held)
    for value, expected in zip(found, [*values.values(), 2.5], strict=True):
        np.testing.assert_array_equal(value, expected)
    reader = v1.train.load_checkpoint(path)
    assert reader.get_variable_to_shape_map() == {"a": [3, 4], "b": [5], "c": []}
    np.testing.assert_array_equal(reader.get_tensor("a"), values["a"])


def test_summaries_equal_those_of_tensorflow(v1: Any, tasks: genuine.Tasks) -> None:
    values = v1.placeholder(v1.float32, [None])
    v1.summary.scalar("average", v1.reduce_mean(values))
    v1.summary.histogram("spread", values)
    v1.summary.text("words", v1.constant(["a", "b"]))
    merged = v1.summary.merge_all()
    feeds = {values: np.random.default_rng(0).normal(0, 100, 500).astype(np.float32)}
    parsed = []
    for target in ("", tasks.target()):
        with v1.Session(target) as session:
            parsed.append(v1.Summary.FromString(session.run(merged, feeds)))
    expected, found = ({value.tag: value for value in summary.value} for summary in parsed)
    assert found.keys() == expected.keys()
    np.testing.assert_allclose(
        found["average"].simple_value, expected["average"].simple_value, 1e-5
    )
    histogram, wanted = found["spread"].histo, expected["spread"].histo
    assert list(histogram.bucket) == list(wanted.bucket)
    np.testing.assert_allclose(histogram.bucket_limit, wanted.bucket_limit, rtol=1e-12)
    for name in ("min", "max", "num", "sum", "sum_squares"):
        np.testing.assert_allclose(getattr(histogram, name), getattr(wanted, name), rtol=1e-12)
    assert found["words"].metadata == expected["words"].metadata
