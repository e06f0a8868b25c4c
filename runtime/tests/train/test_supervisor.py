"""Tests of the supervisor, which prepares a session and runs threads beside the program."""

import json
import logging
import pathlib
from typing import Any

import background
import clusters
import pytest

import capstan as tf


@pytest.mark.e2e
def test_a_managed_session_has_an_initialised_model() -> None:
    variable = tf.Variable(3.0)
    supervisor = tf.train.Supervisor()
    assert tf.get_default_graph().finalized
    with supervisor.managed_session() as session:
        assert session.run(variable) == 3
        assert not supervisor.should_stop()
    assert supervisor.should_stop()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(variable)


@pytest.mark.e2e
def test_an_error_of_the_block_is_raised_after_the_threads_have_stopped() -> None:
    tf.Variable(3.0)
    supervisor, loopers, calls = tf.train.Supervisor(), [], []

    def train() -> None:
        with supervisor.managed_session():
            loopers.append(supervisor.loop(3600, calls.append, args=("called",)))
            raise ValueError("failing here")

    with pytest.raises(ValueError, match="failing here"):
        train()
    assert not loopers[0].is_alive()


def test_the_end_of_the_input_ends_the_block() -> None:
    queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]])
    dequeue, fill, close = queue.dequeue(), queue.enqueue_many([[1.0, 2.0]]), queue.close()
    supervisor, values = tf.train.Supervisor(), []
    with supervisor.managed_session() as session:
        session.run(fill)
        session.run(close)
        while not supervisor.should_stop():
            values.append(session.run(dequeue))
    assert values == [1, 2]
    assert supervisor.should_stop()


@pytest.mark.e2e
def test_queue_runners_run_until_their_source_ends() -> None:
    source = tf.FIFOQueue(3, [tf.int64], shapes=[[]])
    fill = source.enqueue_many([[1, 2, 3]])
    with tf.control_dependencies([fill]):
        close = source.close()
    queue = tf.FIFOQueue(3, [tf.int64], shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(source.dequeue())]))
    dequeue = queue.dequeue()
    supervisor, values = tf.train.Supervisor(init_fn=lambda session: session.run(close)), []
    with supervisor.managed_session() as session:
        while not supervisor.should_stop():
            values.append(int(session.run(dequeue)))
    assert values == [1, 2, 3]


def test_an_error_of_a_queue_runner_is_raised() -> None:
    queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]])
    bad = queue.enqueue(tf.gather([1.0], tf.placeholder_with_default(7, [])))
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [bad]))
    supervisor = tf.train.Supervisor()
    with (
        pytest.raises(tf.errors.InvalidArgumentError, match="is not in"),
        supervisor.managed_session(),
    ):
        supervisor.wait_for_stop()


def test_the_parts_of_a_model_come_from_their_collections_or_are_made() -> None:
    step = tf.train.get_or_create_global_step()
    mine = tf.no_op("mine")
    tf.add_to_collection(tf.GraphKeys.LOCAL_INIT_OP, mine)
    supervisor = tf.train.Supervisor(logdir="")
    assert tf.get_collection(tf.GraphKeys.LOCAL_INIT_OP) == [mine]
    assert supervisor.global_step is step
    assert supervisor.ready_for_local_init_op is None
    assert tf.get_collection(tf.GraphKeys.INIT_OP) == [supervisor.init_op]
    assert tf.get_collection(tf.GraphKeys.READY_OP) == [supervisor.ready_op]
    assert tf.get_collection(tf.GraphKeys.SAVERS) == [supervisor.saver]
    assert (supervisor.is_chief, supervisor.save_path) == (True, None)
    assert (supervisor.save_model_secs, supervisor.save_summaries_secs) == (600, 120)
    with supervisor.managed_session() as session:
        assert session.run(step) == 0


@pytest.mark.parametrize(("dtype", "is_found"), [(tf.int32, True), (tf.float32, False)])
def test_a_tensor_of_the_right_name_is_the_global_step(dtype: Any, is_found: bool) -> None:
    tf.placeholder_with_default(tf.constant(1, dtype), [], name="global_step")
    supervisor = tf.train.Supervisor()
    assert (supervisor.global_step is not None) == is_found


def test_the_init_op_is_fed_and_the_init_function_runs_after_it() -> None:
    fed = tf.placeholder(tf.float32, [])
    variable = tf.Variable(fed)
    add = tf.assign_add(variable, 1.0)
    supervisor = tf.train.Supervisor(
        init_feed_dict={fed: 5.0}, init_fn=lambda session: session.run(add)
    )
    with supervisor.managed_session() as session:
        assert session.run(variable) == 6


def test_a_model_that_is_not_ready_is_an_error() -> None:
    tf.Variable(1.0, name="v")
    message = (
        r"Init operations did not make model ready\.  Init op: nothing, init fn: None, "
        r"local_init_op: \w+, error: Variables not initialized: v"
    )
    supervisor = tf.train.Supervisor(init_op=tf.no_op("nothing"))
    with pytest.raises(RuntimeError, match=message), supervisor.managed_session():
        pass


@pytest.mark.e2e
def test_the_model_is_saved_and_restored(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "log"
    for value, save_secs in ((0, 1000), (10, 0)):
        with tf.Graph().as_default():
            variable = tf.get_variable("v", initializer=value)
            step = tf.train.get_or_create_global_step()
            advance = tf.assign_add(step, 7)
            # The initial value differs, so that the test sees whether the model was restored.
            supervisor = tf.train.Supervisor(logdir=str(folder), save_model_secs=save_secs)
            assert supervisor.save_path == str(folder / "model.ckpt")
            with supervisor.managed_session() as session:
                assert session.run([variable, step]) == [0, 7 if value else 0]
                if save_secs:
                    # The thread saves the model when it starts.
                    background.until(
                        lambda: tf.train.latest_checkpoint(str(folder)) == f"{folder}/model.ckpt-0"
                    )
                session.run(advance)
                supervisor.saver.save(session, supervisor.save_path, global_step=step)
    assert tf.train.latest_checkpoint(str(folder)) == f"{folder}/model.ckpt-14"
    assert "node {" in (folder / "graph.pbtxt").read_text()


@pytest.mark.e2e
def test_services_that_are_switched_off_start_no_thread(tmp_path: pathlib.Path) -> None:
    tf.train.get_or_create_global_step()
    supervisor = tf.train.Supervisor(
        logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0, saver=None, summary_op=None
    )
    session = supervisor.prepare_or_wait_for_session(start_standard_services=False)
    assert supervisor.start_standard_services(session) == []
    supervisor.stop()
    assert tf.train.latest_checkpoint(str(tmp_path)) is None


@pytest.mark.e2e
def test_a_supervisor_that_its_session_has_stopped_may_be_stopped_again(
    tmp_path: pathlib.Path,
) -> None:
    tf.Variable(3.0)
    supervisor = tf.train.Supervisor(logdir=str(tmp_path))
    with supervisor.managed_session():
        pass
    supervisor.stop()  # Tests turn the warning of a closed writer into an error.
    (events,) = tmp_path.glob("events.*")
    statuses = [event.session_log.status for event in tf.train.summary_iterator(str(events))]
    assert statuses.count(tf.SessionLog.STOP) == 1


@pytest.mark.e2e
def test_a_stopped_supervisor_prepares_a_session_again(tmp_path: pathlib.Path) -> None:
    variable = tf.Variable(1)
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    for _ in range(2):
        session = supervisor.prepare_or_wait_for_session()
        assert session.run(variable) == 1
        supervisor.stop()
        assert supervisor.should_stop()


@pytest.mark.e2e
def test_the_progress_is_written_until_the_last_step(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "progress.json"
    monkeypatch.setenv("CAPSTAN_PROGRESS_FILE", str(path))
    up = tf.train.create_global_step().assign_add(1)
    supervisor = tf.train.Supervisor(logdir=None)

    def step() -> object:
        return json.loads(path.read_text())["step"] if path.exists() else None

    with supervisor.managed_session() as session:
        background.until(lambda: step() == 0)
        session.run(up)
        background.until(lambda: step() == 1)
        session.run(up)
    assert step() == 2
    # A program that waits for all registered threads does not wait for the thread that writes.
    session = supervisor.prepare_or_wait_for_session()
    supervisor.coord.join()
    supervisor.stop()
    session.close()


def test_writing_a_summary_needs_a_writer() -> None:
    tf.Variable(1)
    supervisor = tf.train.Supervisor(summary_writer=None)
    with (
        pytest.raises(RuntimeError, match=r"Writing a summary requires a summary writer\."),
        supervisor.managed_session() as session,
    ):
        supervisor.summary_computed(session, b"")


class Recorder:
    """Records the calls of a summary writer."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, arguments))

    def logs(self) -> list[Any]:
        """Return the status and the step of each session log."""
        return [
            (arguments[0].status, *arguments[1:])
            for name, arguments in self.calls
            if name == "add_session_log"
        ]

    def summaries(self, step: int) -> list[Any]:
        return [
            arguments[0]
            for name, arguments in self.calls
            if name == "add_summary" and arguments[1] == step
        ]


@pytest.mark.e2e
def test_the_standard_services_write_summaries(tmp_path: pathlib.Path) -> None:
    from tensorboard.compat.proto import event_pb2

    step = tf.train.get_or_create_global_step()
    summary_op, writer = tf.constant(b"summary"), Recorder()
    supervisor = tf.train.Supervisor(
        logdir=str(tmp_path),
        summary_op=summary_op,
        summary_writer=writer,
        init_op=tf.assign(step, 7),
        save_summaries_secs=0.01,
    )
    with supervisor.managed_session() as session:
        supervisor.summary_computed(session, b"mine")
        supervisor.summary_computed(session, b"early", 1)
        background.until(
            lambda: (
                b"summary" in writer.summaries(7)
                and any("global_step/sec" in str(summary) for summary in writer.summaries(7))
                and (event_pb2.SessionLog.CHECKPOINT, 7) in writer.logs()
            )
        )
    assert b"mine" in writer.summaries(7)
    assert writer.summaries(1) == [b"early"]
    assert writer.logs()[0] == (event_pb2.SessionLog.START, 7)
    assert writer.logs()[-1] == (event_pb2.SessionLog.STOP,)
    names = [name for name, _ in writer.calls]
    assert names[:3] == ["reopen", "add_graph", "add_meta_graph"]
    assert names[-1] == "close"
    (meta,) = dict(writer.calls)["add_meta_graph"]
    assert meta.saver_def == supervisor.saver.saver_def
    assert all("_output_shapes" in node.attr for node in meta.graph_def.node if node.op == "Const")


def test_summaries_that_need_a_feed_are_refused(tmp_path: pathlib.Path) -> None:
    tf.train.get_or_create_global_step()
    tf.summary.scalar("loss", tf.placeholder(tf.float32, [], name="fed"))
    supervisor = tf.train.Supervisor(logdir=str(tmp_path))
    with (
        pytest.raises(tf.errors.InvalidArgumentError, match=r"summary_op=None.*placeholder.*fed"),
        supervisor.managed_session(),
    ):
        supervisor.coord.wait_for_stop()


@pytest.mark.e2e
@pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_a_training_loop_begins_again_when_a_task_restarts(kind: Any) -> None:
    variable = tf.Variable(5)
    supervisor, seen = tf.train.Supervisor(), []

    def train(session: Any, stop_at: int, note: str) -> None:
        seen.append((int(session.run(variable)), note))
        if len(seen) == 1:
            raise kind(None, None, "a task restarted")
        if len(seen) == stop_at:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, train, args=(3,), kwargs={"note": "step"})
    assert seen == [(5, "step")] * 3


def test_variables_of_a_worker_need_a_device() -> None:
    tf.Variable(1, name="v")
    message = 'When using replicas, all Variables must have their device set: name: "v"'
    with pytest.raises(ValueError, match=message):
        tf.train.Supervisor(is_chief=False)


def build(step: int = 0) -> tuple[Any, Any]:
    """Return a global and a local variable of a replica."""
    with tf.device("/job:ps/task:0"):
        shared = tf.Variable(5.0, name="shared")
    with tf.device("/job:worker/task:1"):
        local = tf.Variable(
            shared.initialized_value() * 2, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES]
        )
    return shared, local


@pytest.mark.e2e
def test_a_worker_starts_as_soon_as_the_chief_has_initialised_the_model(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="capstan")
    servers = clusters.start(ps=1, worker=2)
    graphs = [tf.Graph(), tf.Graph()]
    with graphs[1].as_default():
        shared, local = build()
        # TensorFlow's worker would check again after this time.
        worker = tf.train.Supervisor(
            is_chief=False,
            recovery_wait_secs=10**6,
            ready_for_local_init_op=tf.report_uninitialized_variables([shared]),
        )
    waiting = background.Background(
        lambda: worker.prepare_or_wait_for_session(servers["worker:1"].target)
    )
    with graphs[0].as_default():
        with tf.device("/job:ps/task:0"):
            tf.Variable(5.0, name="shared")
        chief = tf.train.Supervisor()
    background.until(lambda: "Waiting for model to be ready" in caplog.text)
    with chief.managed_session(servers["worker:0"].target):
        session = waiting.join()
        assert session.run([shared, local]) == [5, 10]
        worker.stop()
        session.close()


@pytest.mark.e2e
def test_a_worker_gives_up_after_the_given_time() -> None:
    servers = clusters.start(ps=1, worker=2)
    build()
    worker = tf.train.Supervisor(is_chief=False)
    with pytest.raises(
        tf.errors.DeadlineExceededError, match=r"Session was not ready after waiting 0 secs\."
    ):
        worker.prepare_or_wait_for_session(servers["worker:1"].target, max_wait_secs=0)
    assert worker.start_queue_runners(None) == []
    with pytest.raises(RuntimeError, match="Only chief supervisor can start standard services"):
        worker.start_standard_services(None)
    with pytest.raises(RuntimeError, match="requires a summary writer"):
        worker.summary_computed(None, b"")
