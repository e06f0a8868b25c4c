"""Tests of monitored sessions: hooks around each run, and a new session when a task is lost."""

import pathlib
import threading
from collections.abc import Callable
from typing import Any

import clusters
import pytest

import capstan as tf
from capstan.python.training import monitored_session

LOST = [tf.errors.AbortedError, tf.errors.UnavailableError]


class Recorder(tf.train.SessionRunHook):
    """Records every call. `fault(run)` may return an error to raise after a run."""

    def __init__(self, fault: Callable[[int], Exception | None] = lambda run: None) -> None:
        self.calls: list[str] = []
        self.fault = fault
        self.runs = 0

    def begin(self) -> None:
        self.calls.append("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.coord = coord
        self.calls.append("created")

    def before_run(self, run_context: Any) -> None:
        self.calls.append("before")

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.runs += 1
        self.values = run_values
        error = self.fault(self.runs)
        if error is not None:
            raise error
        self.calls.append("after")

    def end(self, session: Any) -> None:
        self.calls.append(f"end with {session.run(tf.get_collection('n')[0])}")


@pytest.fixture(autouse=True)
def up(graph: tf.Graph) -> Any:
    step = tf.train.get_or_create_global_step()
    tf.add_to_collection("n", step)
    return step.assign_add(1)


def test_hooks_are_called_around_every_run(up: Any):
    hook = Recorder()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert [session.run(up), session.run([up])] == [1, [2]]
    assert hook.calls == [
        "begin", "created", "before", "after", "before", "after", "end with 2",
    ]  # fmt: skip


def test_hooks_and_the_caller_each_get_only_their_own_fetches(up: Any):
    class Asking(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> tf.train.SessionRunArgs:
            self.seen = run_context.original_args
            return tf.train.SessionRunArgs({"up": up, "both": [up, up]})

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.results = run_values.results

    hook, silent = Asking(), Recorder()
    with tf.train.MonitoredSession(hooks=[silent, hook]) as session:
        assert session.run({"mine": up}) == {"mine": 1}
    assert hook.results == {"up": 1, "both": [1, 1]}
    assert hook.seen == ({"mine": up}, None, None)


@pytest.mark.e2e
def test_a_hook_may_ask_for_a_stop(up: Any):
    class Stopping(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            run_context.request_stop()
            assert run_context.stop_requested

    with tf.train.MonitoredSession(hooks=[Stopping()]) as session:
        assert not session.should_stop()
        session.run(up)
        assert session.should_stop()
        with pytest.raises(RuntimeError, match=r"Run called even after should_stop requested\."):
            session.run(up)


@pytest.mark.e2e
@pytest.mark.parametrize(
    "fed, message",
    [(False, "Same tensor is fed by two hooks"), (True, "fed by a SessionRunHook and user")],
)
def test_no_tensor_is_fed_twice(fed: bool, message: str):
    tensor = tf.placeholder(tf.float32, [])
    hooks = [tf.train.FeedFnHook(lambda: {tensor: 1}) for _ in range(1 if fed else 2)]
    session = tf.train.MonitoredSession(hooks=hooks)
    with pytest.raises(RuntimeError, match=message):
        session.run(tensor, {tensor: 2} if fed else None)
    session.close()


@pytest.mark.e2e
def test_the_feeds_of_hooks_and_of_the_caller_are_merged():
    first, second = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    total = first + second
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {first: 1})]) as session:
        assert session.run(total, {second: 2}) == 3


@pytest.mark.e2e
@pytest.mark.parametrize("end", [tf.errors.OutOfRangeError(None, None, "over"), StopIteration()])
def test_the_end_of_the_input_ends_training_normally(end: Exception):
    hook = Recorder()
    with tf.train.MonitoredSession(hooks=[hook]):
        raise end
    assert hook.calls[-1] == "end with 0"


@pytest.mark.e2e
def test_the_end_method_of_a_hook_is_not_called_after_an_error():
    hook = Recorder()
    with pytest.raises(ValueError, match="mine"), tf.train.MonitoredSession(hooks=[hook]):
        raise ValueError("mine")
    assert hook.calls == ["begin", "created"]


@pytest.mark.e2e
def test_a_closed_session_refuses_to_run_or_close_again(up: Any):
    session = tf.train.MonitoredSession()
    session.close()
    assert session.should_stop()
    assert session.graph is None
    with pytest.raises(RuntimeError, match=r"Attempted to use a closed Session\."):
        session.run(up)
    with pytest.raises(RuntimeError, match=r"Session is already closed\."):
        session.close()


@pytest.mark.e2e
def test_the_graph_is_final_while_the_session_is_open(graph: tf.Graph):
    with tf.train.MonitoredSession() as session:
        assert session.graph is graph
        with pytest.raises(RuntimeError, match=r"Graph is finalized and cannot be modified\."):
            tf.constant(1)
    tf.constant(1)


@pytest.mark.e2e
def test_two_sessions_one_after_the_other_share_the_graph(up: Any):
    for _ in range(2):
        with tf.train.MonitoredSession() as session:
            assert session.run(up) == 1


# --- step functions


@pytest.mark.e2e
def test_a_step_function_runs_with_and_without_hooks(up: Any):
    hook = Recorder()

    def step_fn(step_context: Any) -> Any:
        assert step_context.session.run(up) == 1
        return step_context.run_with_hooks(up)

    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run_step_fn(step_fn) == 2
    assert hook.calls == ["begin", "created", "before", "after", "end with 2"]
    with pytest.raises(RuntimeError, match="closed"):
        session.run_step_fn(step_fn)


@pytest.mark.e2e
@pytest.mark.parametrize("kind", [tf.train.MonitoredSession, tf.train.SingularMonitoredSession])
def test_a_step_function_may_end_training(up: Any, kind: Any):
    hook = Recorder()
    with kind(hooks=[hook]) as session:
        while not session.should_stop():
            session.run_step_fn(lambda step_context: step_context.request_stop())
    assert hook.calls == ["begin", "created", "end with 0"]


@pytest.mark.e2e
def test_a_step_function_is_called_again_in_a_new_session_when_a_task_is_lost(up: Any):
    hook = Recorder(lambda run: tf.errors.AbortedError(None, None, "gone") if run == 1 else None)
    sessions = []

    class Stepper:
        def step(self, step_context: Any) -> Any:
            sessions.append(step_context.session)
            return step_context.run_with_hooks(up)

    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run_step_fn(Stepper().step) == 1
    assert len(set(map(id, sessions))) == 2
    assert hook.calls.count("created") == 2


@pytest.mark.e2e
@pytest.mark.parametrize("step_fn", [lambda: 1, lambda context: 1, lambda step_context, more: 1])
def test_a_step_function_must_take_one_argument_called_step_context(up: Any, step_fn: Any):
    with (
        tf.train.MonitoredSession() as session,
        pytest.raises(ValueError, match="may either have one `step_context` argument"),
    ):
        session.run_step_fn(step_fn)


# --- recovery


@pytest.mark.e2e
@pytest.mark.parametrize("kind", LOST)
def test_the_run_is_repeated_in_a_new_session_when_a_task_is_lost(
    up: Any, kind: type[tf.errors.OpError], caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO", "capstan")
    hook = Recorder(lambda run: kind(None, None, "gone") if run == 2 else None)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(up) == 1
        # An in-process session has its own variables, so the new session starts again at zero.
        assert session.run(up) == 1
    assert hook.calls == [
        "begin", "created", "before", "after", "before",
        "created", "before", "after", "end with 1",
    ]  # fmt: skip
    assert "may be due to a preemption in a connected worker or parameter server" in caplog.text


@pytest.mark.e2e
def test_training_goes_on_from_the_newest_checkpoint(up: Any, tmp_path: pathlib.Path):
    lost = tf.errors.AbortedError(None, None, "gone")
    hook = Recorder(lambda run: lost if run == 4 else None)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), save_checkpoint_steps=2, hooks=[hook]
    ) as session:
        assert [session.run(up) for _ in range(3)] == [1, 2, 3]
        assert session.run(up) == 5
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-5")


@pytest.mark.e2e
def test_creating_a_session_is_retried_while_a_task_is_unavailable(up: Any):
    attempts = []

    class Creator(tf.train.ChiefSessionCreator):
        def create_session(self) -> tf.Session:
            attempts.append(1)
            if len(attempts) < 3:
                raise tf.errors.UnavailableError(None, None, "not yet")
            return super().create_session()

    with tf.train.MonitoredSession(Creator()) as session:
        assert session.run(up) == 1
    assert len(attempts) == 3


@pytest.mark.e2e
def test_creating_a_session_is_retried_if_a_hook_loses_a_task(up: Any):
    class Starting(tf.train.SessionRunHook):
        created = 0

        def after_create_session(self, session: Any, coord: Any) -> None:
            self.created += 1
            if self.created == 1:
                raise tf.errors.UnavailableError(None, None, "gone")

    hook = Starting()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(up) == 1
    assert hook.created == 2


@pytest.mark.e2e
def test_the_session_is_closed_if_a_hook_fails_to_start(up: Any):
    sessions = []

    class Failing(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            sessions.append(session)
            raise ValueError("no start")

    with pytest.raises(ValueError, match="no start"):
        tf.train.MonitoredSession(hooks=[Failing()])
    with pytest.raises(RuntimeError, match="closed Session"):
        sessions[0].run(up)


@pytest.mark.e2e
def test_an_error_that_a_lost_task_caused_leads_to_a_new_session(up: Any):
    class Thread(tf.train.SessionRunHook):
        runs = 0

        def after_create_session(self, session: Any, coord: Any) -> None:
            self.coord = coord

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.runs += 1
            if self.runs == 1:
                self.coord.request_stop(tf.errors.AbortedError(None, None, "gone"))
                raise tf.errors.CancelledError(None, None, "because of it")

    with tf.train.MonitoredSession(hooks=[Thread()]) as session:
        assert session.run(up) == 1


def test_any_other_error_reaches_the_caller(up: Any):
    hook = Recorder(lambda run: tf.errors.InternalError(None, None, "bug"))
    with (
        pytest.raises(tf.errors.InternalError, match="bug"),
        tf.train.MonitoredSession(hooks=[hook]) as session,
    ):
        session.run(up)


@pytest.mark.parametrize("kind", LOST)
def test_a_singular_session_leaves_recovery_to_the_caller(up: Any, kind: type[Exception]):
    hook = Recorder(lambda run: kind(None, None, "gone"))
    session = tf.train.SingularMonitoredSession(hooks=[hook])
    assert session.raw_session().graph is tf.get_default_graph()
    with pytest.raises(kind, match="gone"):
        session.run(up)
    session.close()


@pytest.mark.e2e
def test_closing_the_session_raises_the_error_of_a_thread(up: Any):
    hook = Recorder()
    session = tf.train.MonitoredSession(hooks=[hook])
    hook.coord.request_stop(ValueError("in a thread"))
    assert session.should_stop()
    with pytest.raises(ValueError, match="in a thread"):
        session.close()


@pytest.mark.e2e
def test_a_lost_task_that_a_thread_reports_leads_to_a_new_session(up: Any):
    hook = Recorder()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        first = hook.coord
        first.request_stop(tf.errors.UnavailableError(None, None, "gone"))
        assert not session.should_stop()
        assert hook.coord is not first
        assert session.run(up) == 1


# --- chief and workers


def make_task(target: str, *, is_chief: bool, last_step: int, **arguments: Any) -> list[int]:
    """Train as one task of a cluster, in a new graph. Return the global step of each run."""
    run_steps = []
    with tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(ps_tasks=1)):
            step = tf.train.get_or_create_global_step()
            weights = tf.get_variable("weights", [3])
            loss = tf.reduce_sum(tf.square(weights))
            train = tf.train.AdamOptimizer().minimize(loss, global_step=step)
        hooks = [tf.train.StopAtStepHook(last_step=last_step)]
        with tf.train.MonitoredTrainingSession(
            target, is_chief, hooks=hooks, **arguments
        ) as session:
            while not session.should_stop():
                run_steps.append(session.run([train, step])[1])
    return run_steps


@pytest.mark.e2e
def test_workers_train_together_until_the_last_step(tmp_path: pathlib.Path):
    servers = clusters.start(ps=1, worker=2)
    steps: dict[int, list[int]] = {}

    def work(index: int) -> None:
        steps[index] = make_task(
            servers[f"worker:{index}"].target,
            is_chief=index == 0,
            last_step=60,
            checkpoint_dir=str(tmp_path),
        )

    threads = [threading.Thread(target=work, args=(index,)) for index in (1, 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(steps[0]) + len(steps[1]) >= 60
    # A run reads the global step before or after it trains, and before or after the other trains.
    assert max(steps[0][-1], steps[1][-1]) in range(59, 63)
    assert tf.train.load_variable(str(tmp_path), "global_step") >= 60


@pytest.mark.e2e
def test_a_restarted_worker_finds_the_trained_model():
    servers = clusters.start(ps=1, worker=2)
    assert make_task(servers["worker:0"].target, is_chief=True, last_step=5)[-1] in (4, 5)
    assert make_task(servers["worker:1"].target, is_chief=False, last_step=9)[0] in (5, 6)


@pytest.mark.e2e
def test_a_worker_does_not_wait_for_ever_for_the_chief():
    servers = clusters.start(ps=1, worker=1)
    with pytest.raises(
        tf.errors.DeadlineExceededError, match=r"Session was not ready after waiting 0 secs\."
    ):
        make_task(servers["worker:0"].target, is_chief=False, last_step=1, max_wait_secs=0.1)


@pytest.mark.e2e
def test_only_the_chief_calls_the_chiefs_hooks_and_saves(tmp_path: pathlib.Path, up: Any):
    servers = clusters.start(local=1)
    init, hook = tf.global_variables_initializer(), Recorder()
    with tf.Session(servers["local:0"].target) as session:
        session.run(init)
    with tf.train.MonitoredTrainingSession(
        servers["local:0"].target,
        is_chief=False,
        checkpoint_dir=str(tmp_path),
        chief_only_hooks=[hook],
    ) as session:
        session.run(up)
    assert hook.calls == []
    assert not list(tmp_path.iterdir())


@pytest.mark.e2e
@pytest.mark.parametrize(
    "arguments, steps",
    [
        ({}, [0, 5]),
        ({"save_checkpoint_steps": 2}, [0, 2, 4, 5]),
        ({"save_checkpoint_secs": None}, []),
        ({"save_checkpoint_secs": 0}, []),
    ],
)
def test_the_interval_between_checkpoints_can_be_set(
    tmp_path: pathlib.Path, up: Any, arguments: dict[str, Any], steps: list[int]
):
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), **arguments) as session:
        for _ in range(5):
            session.run(up)
    assert sorted(int(path.stem.split("-")[1]) for path in tmp_path.glob("*.index")) == steps


@pytest.mark.e2e
def test_the_options_of_a_run_and_of_the_hooks_are_merged():
    class Options(tf.train.SessionRunHook):
        """Adds options to each run. Keeps the options of the run."""

        def __init__(self, level: int, node: str) -> None:
            self.added = tf.RunOptions(
                trace_level=level, timeout_in_ms=60_000 * level, inter_op_thread_pool=level
            )
            self.added.debug_options.reset_disk_byte_usage = bool(level)
            self.added.debug_options.debug_tensor_watch_opts.add(node_name=node)

        def before_run(self, run_context: tf.train.SessionRunContext) -> Any:
            return tf.train.SessionRunArgs(None, options=self.added)

        def after_run(self, run_context: Any, run_values: tf.train.SessionRunValues) -> None:
            self.merged = run_values.options

    value = tf.constant(42)
    hooks = [Options(0, "first"), Options(1, "second")]
    given = tf.RunOptions(
        output_partition_graphs=True,
        timeout_in_ms=30_000,
        report_tensor_allocations_upon_oom=True,
    )
    config = tf.ConfigProto()
    for _ in range(2):
        config.session_inter_op_thread_pool.add()
    creator = tf.train.ChiefSessionCreator(config=config)
    with tf.train.MonitoredSession(creator, hooks) as session:
        assert session.run(value, options=given) == 42
    for hook in hooks:
        watches = hook.merged.debug_options.debug_tensor_watch_opts
        assert [watch.node_name for watch in watches] == ["first", "second"]
        assert (hook.merged.trace_level, hook.merged.timeout_in_ms) == (1, 60_000)
        assert hook.merged.inter_op_thread_pool == 1
        assert hook.merged.debug_options.reset_disk_byte_usage
        assert hook.merged.output_partition_graphs
        assert hook.merged.report_tensor_allocations_upon_oom


@pytest.mark.e2e
def test_the_sessions_of_a_monitored_session_wrap_each_other_as_those_of_tensorflow_do(up: Any):
    with tf.train.MonitoredSession() as session:
        recoverable = session._sess
        coordinated = recoverable._sess
        hooked = coordinated._sess
        assert isinstance(recoverable, monitored_session._RecoverableSession)
        assert isinstance(coordinated, monitored_session._CoordinatedSession)
        assert isinstance(hooked, monitored_session._HookedSession)
        assert isinstance(hooked._sess, tf.Session)
        assert hooked._sess is session._tf_sess()
        assert recoverable.graph is session.graph
        assert recoverable.sess_str == ""


def test_a_wrapped_session_stops_when_it_says_so_or_is_closed(graph: tf.Graph):
    class Stopping(monitored_session._WrappedSession):
        stops = False

        def _check_stop(self) -> bool:
            return self.stops

    tf.constant(0)
    session = tf.Session()
    inner = Stopping(session)
    outer = monitored_session._WrappedSession(inner)
    assert not outer.should_stop()
    inner.stops = True
    assert outer.should_stop()
    inner.stops = False
    outer.close()
    outer.close()
    assert outer.should_stop()
    with pytest.raises(RuntimeError, match="closed"):
        session.run(graph.get_operations())


@pytest.mark.e2e
def test_hooks_get_options_and_metadata_even_if_nobody_gives_any(up: Any):
    hook = Recorder()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(up)
    assert hook.values.options == tf.RunOptions()
    assert hook.values.run_metadata == tf.RunMetadata()
