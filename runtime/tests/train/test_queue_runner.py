"""Tests of queue runners: threads that fill queues, and end when a queue closes."""

import pathlib
import threading
from typing import Any

import background
import clusters
import pytest

import capstan as tf
from capstan.resources import queue as queues
from capstan.services import repeated, step_run
from capstan.transport import cancellation


def closed_queue(*values: float) -> tuple[Any, Any]:
    """Return a queue, and the operations that fill it with `values` and then close it."""
    queue = tf.FIFOQueue(len(values), [tf.float32], shapes=[[]], name="source")
    return queue, [queue.enqueue_many([list(values)]), queue.close()]


def copies(count: int = 1) -> tuple[Any, Any, list[Any]]:
    """Return a queue that copies 1, 2, 3, the runner that fills it, and what fills the source."""
    source, fill = closed_queue(1.0, 2.0, 3.0)
    queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]], name="copies")
    return queue, tf.train.QueueRunner(queue, [queue.enqueue(source.dequeue())] * count), fill


def run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.e2e
@pytest.mark.parametrize("count", [1, 3])
def test_a_queue_is_closed_when_the_source_of_all_threads_has_ended(count: int) -> None:
    queue, runner, fill = copies(count)
    values, more = queue.dequeue_many(3), queue.dequeue()
    with tf.Session() as session:
        for op in fill:
            session.run(op)
        run_all(runner.create_threads(session))
        assert sorted(session.run(values)) == [1, 2, 3]
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed"):
            session.run(more)
    assert runner.exceptions_raised == []


def warning_of_a_wait(fetch: Any, caplog: pytest.LogCaptureFixture) -> str:
    """Run `fetch` until a warning is logged, end the session, and return the warning."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        call = background.Background(lambda: session.run(fetch))
        background.until(lambda: any("still waiting" in message for message in caplog.messages))
    with pytest.raises(tf.errors.CancelledError):
        call.join()
    (message,) = (message for message in caplog.messages if "still waiting" in message)
    return message


@pytest.mark.parametrize("count", [None, 2])
def test_a_dequeue_without_queue_runners_warns(
    count: int | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(queues, "_PATIENCE_SECONDS", 0.0)
    queue = tf.train.range_input_producer(3, name="numbers")
    message = warning_of_a_wait(queue.dequeue() if count is None else queue.dequeue_many(2), caplog)
    assert message.startswith("Dequeue still waiting for the first element of FIFOQueue")
    assert "tf.train.start_queue_runners" in message


def test_synchronous_training_without_its_hook_warns(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(queues, "_PATIENCE_SECONDS", 0.0)
    step, weights = tf.train.create_global_step(), tf.Variable(1.0)
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
    message = warning_of_a_wait(optimizer.minimize(weights * weights, global_step=step), caplog)
    assert "FIFOQueue 'sync_token_q'" in message
    assert "SyncReplicasOptimizer.make_session_run_hook" in message


def test_threads_are_named_after_the_queue_and_the_operation() -> None:
    _, runner, _ = copies()
    with tf.Session() as session:
        threads = runner.create_threads(session, tf.train.Coordinator(), daemon=True)
        assert [thread.name for thread in threads] == [
            "QueueRunnerThread-copies-copies_enqueue",
            "QueueRunnerThread-copies-close_on_stop",
        ]
        assert all(thread.daemon for thread in threads)
        assert runner.name == "copies"


def test_threads_that_have_not_ended_are_not_created_again() -> None:
    _, runner, fill = copies()
    with tf.Session() as session, tf.Session() as other:
        threads = runner.create_threads(session)
        assert runner.create_threads(session) == []
        assert len(runner.create_threads(other)) == 1
        for op in fill:
            session.run(op)
        run_all(threads)
        assert len(runner.create_threads(session)) == 1


def test_an_error_stops_the_coordinator() -> None:
    queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
    bad = queue.enqueue(tf.gather([1.0], tf.placeholder_with_default(7, [])))
    runner = tf.train.QueueRunner(queue, [bad])
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        runner.create_threads(session, coord, start=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
            coord.join()
    assert runner.exceptions_raised == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_without_a_coordinator_is_kept() -> None:
    queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
    bad = queue.enqueue(tf.gather([1.0], tf.placeholder_with_default(7, [])))
    runner = tf.train.QueueRunner(queue, [bad, bad])
    with tf.Session() as session:
        run_all(runner.create_threads(session))
    assert ["is not in" in str(error) for error in runner.exceptions_raised] == [True, True]


def test_a_stop_ends_an_enqueue_that_waits_for_room() -> None:
    queue = tf.FIFOQueue(2, [tf.float32], shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1.0)])
    closed = queue.is_closed()
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = runner.create_threads(session, coord, start=True)
        session.run(queue.dequeue_many(3))
        coord.request_stop()
        coord.join(threads)
        assert session.run(closed)


def test_a_stop_ends_a_step_that_waits_for_another_queue() -> None:
    _, runner, _ = copies()
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = runner.create_threads(session, coord, start=True)
        coord.request_stop()
        coord.join(threads)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.e2e
def test_a_stop_does_not_wait_for_a_task_that_is_gone_with_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(step_run, "RECONNECT_SECONDS", 3600.0)
    servers = clusters.start(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
        enqueue = queue.enqueue(1.0)
        runner = tf.train.QueueRunner(queue, [enqueue])
    coord = tf.train.Coordinator()
    with tf.Session(servers["worker:0"].target) as session:
        session.run(enqueue)
        threads = runner.create_threads(session, coord, daemon=True, start=True)
        background.until(lambda: servers["ps:0"]._steps._runs)
        servers["ps:0"].stop()
        # The pending enqueue fails, which stops the coordinator.
        background.until(coord.should_stop)
        background.until(lambda: not any(thread.is_alive() for thread in threads))
        with pytest.raises(tf.errors.UnavailableError):
            coord.join()
    servers["worker:0"].stop()


def test_other_errors_may_tell_that_a_queue_is_closed() -> None:
    source = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
    cancel = source.close(cancel_pending_enqueues=True)
    queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
    runner = tf.train.QueueRunner(
        queue,
        [source.enqueue(1.0)],
        queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError),
    )
    closed = queue.is_closed()
    with tf.Session() as session:
        session.run(cancel)
        run_all(runner.create_threads(session))
        assert session.run(closed)
    assert runner.exceptions_raised == []


def test_the_runners_of_the_graph_are_started_together() -> None:
    queue, runner, fill = copies()
    tf.train.add_queue_runner(runner)
    values = queue.dequeue_many(3)
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = tf.train.start_queue_runners(coord=coord)
        assert len(threads) == 2
        for op in fill:
            session.run(op)
        assert list(session.run(values)) == [1, 2, 3]
        coord.request_stop()
        coord.join(threads)


def test_a_monitored_session_starts_the_runners_itself() -> None:
    queue = tf.FIFOQueue(2, [tf.float32], shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(7.0)]))
    value = queue.dequeue()
    with tf.train.MonitoredSession() as session:
        assert tf.train.start_queue_runners(session) == []
        assert [session.run(value) for _ in range(5)] == [7.0] * 5


def test_an_error_of_a_runner_ends_a_monitored_session() -> None:
    queue = tf.FIFOQueue(2, [tf.float32], shapes=[[]])
    bad = queue.enqueue(tf.gather([1.0], tf.placeholder_with_default(7, [])))
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [bad]))
    value = queue.dequeue()
    session = tf.train.MonitoredSession()
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"), session:
        session.run(value)


@pytest.mark.e2e
def test_a_meta_graph_keeps_the_runners(tmp_path: pathlib.Path) -> None:
    queue, _, fill = copies()
    dequeue = queue.dequeue_many(3).op.name
    enqueue = queue.enqueue(5.0)
    kinds = (tf.errors.OutOfRangeError, tf.errors.CancelledError)
    tf.train.add_queue_runner(
        tf.train.QueueRunner(
            queue, [enqueue, enqueue], fill[1], fill[0], queue_closed_exception_types=kinds
        )
    )
    tf.train.export_meta_graph(str(tmp_path / "graph.meta"))
    for scope, prefix in ((None, ""), ("again", "again/")):
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(str(tmp_path / "graph.meta"), import_scope=scope)
            (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
            assert runner.name == prefix + "copies"
            assert [op.name for op in runner.enqueue_ops] == [prefix + enqueue.name] * 2
            assert runner.close_op.name == prefix + fill[1].name
            assert runner.cancel_op.name == prefix + fill[0].name
            assert runner.queue_closed_exception_types == kinds
            with tf.Session() as session:
                threads = runner.create_threads(session, daemon=True, start=True)
                values = session.run(graph.get_operation_by_name(prefix + dequeue).outputs[0])
                assert list(values) == [5, 5, 5]
                session.run(f"{prefix}copies_Close_1")
                # A thread that runs its next step after the end of the session would fail.
                for thread in threads:
                    thread.join()


def test_a_runner_of_another_scope_is_not_exported() -> None:
    with tf.name_scope("input"):
        queue = tf.FIFOQueue(2, [tf.float32], name="queue")
        runner = tf.train.QueueRunner(queue, [queue.enqueue(1.0, name="enqueue")])
    assert runner.to_proto("output") is None
    message = runner.to_proto("input")
    assert (message.queue_name, list(message.enqueue_op_name)) == ("queue", ["enqueue"])
    assert (message.close_op_name, message.cancel_op_name) == ("queue_Close", "queue_Close_1")
    assert list(message.queue_closed_exception_types) == [tf.errors.OUT_OF_RANGE]
    del message.queue_closed_exception_types[:]
    old = tf.train.QueueRunner.from_proto(message, import_scope="input")
    assert old.queue_closed_exception_types == (tf.errors.OutOfRangeError,)
    assert old.enqueue_ops == runner.enqueue_ops


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({}, ValueError, "Must provide queue and enqueue_ops."),
        ({"enqueue_ops": []}, ValueError, "Must provide queue and enqueue_ops."),
        ({"queue_closed_exception_types": ()}, TypeError, "must be a tuple of tf.error types"),
        (
            {"queue_closed_exception_types": (ValueError,)},
            TypeError,
            "must be a tuple of tf.error types, but saw: .*ValueError",
        ),
        (
            {"queue_runner_def": object()},
            ValueError,
            "queue_runner_def and queue are mutually exclusive.",
        ),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    queue = tf.FIFOQueue(2, [tf.float32], shapes=[[]])
    given = {"queue": queue, "enqueue_ops": [queue.enqueue(1.0)], **arguments}
    if not arguments:
        given["queue"] = None
    with pytest.raises(kind, match=message):
        tf.train.QueueRunner(**given)


def test_only_a_session_starts_runners() -> None:
    with pytest.raises(
        ValueError, match="Cannot start queue runners: No default session is registered"
    ):
        tf.train.start_queue_runners()
    with pytest.raises(TypeError, match=r"sess must be a `tf.Session` object. Given class: .*str"):
        tf.train.start_queue_runners("NotASession")


def lines_of(folder: pathlib.Path, *files: list[str]) -> Any:
    """Write files, and return the numbers in their lines in batches, and the records produced."""
    names = []
    for number, lines in enumerate(files):
        names.append(str(folder / f"{number}.csv"))
        pathlib.Path(names[-1]).write_text("".join(f"{line}\n" for line in lines))
    reader = tf.TextLineReader()
    _, line = reader.read(tf.train.string_input_producer(names, num_epochs=1, shuffle=False))
    (value,) = tf.decode_csv(line, [[0.0]])
    batch = tf.train.batch([value * 2.0], 10, capacity=400, allow_smaller_final_batch=True)
    return batch, reader.num_records_produced()


def all_batches(session: Any, batch: Any) -> list[float]:
    """Return the values of all batches until the end of the queue."""
    values: list[float] = []
    try:
        while True:
            values += session.run(batch).tolist()
    except tf.errors.OutOfRangeError:
        return values


@pytest.mark.e2e
def test_a_queue_runner_reads_several_lines_in_a_step(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    run = repeated.Repeated.run

    def counted(*arguments: Any) -> bool:
        steps.append(arguments)
        return run(*arguments)

    monkeypatch.setattr(repeated.Repeated, "run", counted)
    batch, produced = lines_of(tmp_path, [str(n) for n in range(70)], ["70", "71"])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        values = all_batches(session, batch)
        assert session.run(produced) == 72
        coord.request_stop()
        coord.join(threads)
    assert values == [2.0 * number for number in range(72)]
    assert len(steps) == 4, "two for the first file, one for the second, and one at the end"


@pytest.mark.e2e
def test_the_lines_before_a_damaged_line_arrive(tmp_path: pathlib.Path) -> None:
    batch, _ = lines_of(tmp_path, [*map(str, range(30)), "x", "31"])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        with pytest.raises(tf.errors.InvalidArgumentError, match="in record 0 is not a valid"):
            coord.join(threads)
        values = [value for _ in range(3) for value in session.run(batch)]
    assert values == [2.0 * number for number in range(30)]


@pytest.mark.e2e
def test_the_steps_that_were_sought_in_an_old_graph_are_sought_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seek = repeated.find
    sought = []
    lines_of(tmp_path, [str(n) for n in range(20)], ["20"])
    names, reading = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    variable = tf.get_variable("later", initializer=1.0)

    def extending(*arguments: Any) -> Any:
        sought.append(seek(*arguments))
        if len(sought) == 1:
            session.run(variable.initializer)
            # The session drops its compiled steps, because the variable has no fixed shape now.
            session.run(tf.assign(variable, [2.0, 3.0], validate_shape=False))
        return sought[-1]

    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for op in names.enqueue_ops:
            session.run(op)
        monkeypatch.setattr(repeated, "find", extending)
        for count in (20, 21):
            session.run_until(cancellation.Cancellation(), reading.enqueue_ops[0])
            assert session.run(reading.queue.size()) == count
    assert len(sought) == 2


@pytest.mark.e2e
def test_a_step_that_ends_while_its_queue_is_full_gives_its_lines_back(
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in range(100)))
    names = tf.FIFOQueue(1, [tf.string], [[]])
    named = names.enqueue(str(tmp_path / "lines"))
    lines = tf.TextLineReader()
    _, line = lines.read(names)
    queue = tf.FIFOQueue(20, [tf.float32], [[]])  # A step reads up to 20 lines.
    reading, produced = queue.enqueue(tf.string_to_number(line)), lines.num_records_produced()
    end = cancellation.Cancellation()
    with tf.Session() as session:

        def repeat() -> None:
            while True:
                session.run_until(end, reading)

        session.run(named)
        repeating = background.Background(repeat)
        background.until(lambda: session.run(produced) > 20)
        end.cancel()
        with pytest.raises(tf.errors.CancelledError):
            repeating.join()
        assert session.run([produced, queue.size()]) == [20, 20]
