"""Tests of the hooks, each with a real session."""

import pathlib
import threading
from typing import Any

import pytest
from hooked import count_up, train

import capstan as tf


@pytest.mark.e2e
def test_training_stops_at_the_last_step():
    assert train(count_up(), tf.train.StopAtStepHook(last_step=7)) == 7


@pytest.mark.e2e
def test_training_stops_after_a_number_of_steps():
    up = count_up()
    start = tf.train.Scaffold(
        init_op=tf.group(tf.assign(tf.train.get_global_step(), 10)),
        local_init_op=tf.no_op(),
    )
    hook = tf.train.StopAtStepHook(num_steps=4)
    creator = tf.train.ChiefSessionCreator(start)
    with tf.train.MonitoredSession(creator, [hook]) as session:
        while not session.should_stop():
            last = session.run(up)
    assert last == 14


@pytest.mark.e2e
def test_a_run_that_adds_several_steps_may_pass_the_last_step():
    step = tf.train.get_or_create_global_step()
    assert train(step.assign_add(4), tf.train.StopAtStepHook(last_step=7)) == 2


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({}, "One of num_steps or last_step must be specified."),
        ({"num_steps": 1, "last_step": 1}, "Only one of num_steps or last_step can be specified."),
    ],
)
def test_a_stop_hook_takes_exactly_one_limit(arguments: dict[str, int], message: str):
    with pytest.raises(ValueError, match=message):
        tf.train.StopAtStepHook(**arguments)


@pytest.mark.parametrize(
    "hook",
    [
        tf.train.StopAtStepHook(last_step=1),
        tf.train.StepCounterHook(),
        tf.train.GlobalStepWaiterHook(1),
        tf.train.CheckpointSaverHook("unused", save_steps=1),
    ],
    ids=lambda hook: type(hook).__name__,
)
def test_hooks_that_need_a_global_step_report_that_it_is_missing(hook: tf.train.SessionRunHook):
    with pytest.raises(RuntimeError, match=f"should be created to use {type(hook).__name__}"):
        tf.train.MonitoredSession(hooks=[hook])


@pytest.mark.e2e
def test_tensors_are_logged_at_intervals(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "capstan")
    up = count_up()
    train(up, tf.train.LoggingTensorHook({"up": up, "half": up / 2}, every_n_iter=3), runs=7)
    lines = [text.partition(" (")[0] for text in caplog.messages if text.startswith("half = ")]
    assert lines == ["half = 0.5, up = 1", "half = 2.0, up = 4", "half = 3.5, up = 7"]


@pytest.mark.e2e
def test_labels_are_logged_in_alphabetical_order_with_the_digits_of_their_type(
    caplog: pytest.LogCaptureFixture,
):
    caplog.set_level("INFO", "capstan")
    tensors = {"up": count_up(), "loss": tf.constant(0.1)}
    train(tensors["up"], tf.train.LoggingTensorHook(tensors, at_end=True), runs=2)
    assert "loss = 0.1, up = 3" in caplog.messages


@pytest.mark.e2e
def test_tensors_are_logged_by_their_names(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "capstan")
    tf.Variable(5, name="five")
    up = count_up()
    train(up, tf.train.LoggingTensorHook(["five:0", up], at_end=True), runs=2)
    assert f"five:0 = 5, {up} = 3" in caplog.messages
    assert str(up).startswith('Tensor("AssignAdd:0"')


@pytest.mark.e2e
def test_the_name_of_an_operation_stands_for_its_only_output() -> None:
    up = count_up()
    tf.constant(5.0, name="five")
    tf.split(tf.constant([1.0, 2.0]), 2, name="halves")
    seen: list[dict[str, Any]] = []
    train(
        up, tf.train.LoggingTensorHook(["five"], 1, formatter=lambda v: f"{seen.append(v)}"), runs=1
    )
    assert seen == [{"five": 5.0}]
    with pytest.raises(ValueError, match="Name halves is ambiguous"):
        train(up, tf.train.LoggingTensorHook(["halves"], 1), runs=1)
    with pytest.raises(KeyError, match="The name 'six:0' refers to a Tensor which does not exist"):
        train(up, tf.train.LoggingTensorHook(["six"], 1), runs=1)


@pytest.mark.e2e
def test_a_formatter_makes_the_line(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "capstan")
    up = count_up()
    hook = tf.train.LoggingTensorHook(
        {"n": up}, every_n_iter=1, formatter=lambda values: f"<{values['n']}>"
    )
    train(up, hook, runs=2)
    assert "<2>" in caplog.messages


class _MetricHook(tf.train.LoggingTensorHook):
    """Logs to a list, with the step, as the hooks of tensorflow/models do."""

    logged: list[dict[str, Any]]

    def begin(self) -> None:
        super().begin()
        self.logged = []
        step = tf.train.get_global_step()
        self._current_tensors[step.name] = step

    def _log_tensors(self, values: dict[str, Any]) -> None:
        self._timer.update_last_triggered_step(self._iter_count)
        self.logged.append({tag: values[tag] for tag in (*self._tag_order, "global_step:0")})


@pytest.mark.e2e
@pytest.mark.parametrize(("settings", "lines"), [({"every_n_iter": 2}, 2), ({"at_end": True}, 1)])
def test_a_derived_logging_hook_adds_tensors_and_logs_them(
    settings: dict[str, Any], lines: int
) -> None:
    up = count_up()
    hook = _MetricHook({"five": tf.constant(5)}, **settings)
    train(up, hook, runs=3)
    assert [each["five"] for each in hook.logged] == [5] * lines


@pytest.mark.parametrize(
    "intervals",
    [{}, {"every_n_iter": 1, "every_n_secs": 1}, {"every_n_iter": 0}, {"every_n_iter": -1}],
)
def test_a_logging_hook_takes_one_positive_interval(intervals: dict[str, int]):
    with pytest.raises(ValueError, match="every_n_iter"):
        tf.train.LoggingTensorHook([], **intervals)


@pytest.mark.e2e
def test_the_rate_of_steps_is_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "capstan")
    train(count_up(), tf.train.StepCounterHook(every_n_steps=10), runs=25)
    lines = [text for text in caplog.messages if text.startswith("global_step/sec: ")]
    assert len(lines) == 2
    assert float(lines[0].split()[1]) > 0


@pytest.mark.e2e
def test_the_rate_of_steps_goes_to_a_writer():
    written = []

    class Writer:
        def add_summary(self, summary: Any, step: int) -> None:
            written.append((summary.value[0].tag, step))

    hook = tf.train.StepCounterHook(every_n_steps=10, summary_writer=Writer())
    train(count_up(), hook, runs=25)
    assert written == [("global_step/sec", 11), ("global_step/sec", 21)]


def test_a_global_step_that_stands_still_causes_at_most_five_warnings(
    caplog: pytest.LogCaptureFixture,
):
    step = tf.train.get_or_create_global_step()
    train(step.read_value(), tf.train.StepCounterHook(), runs=9)
    assert sum("global step has not been increased" in text for text in caplog.messages) == 5
    caplog.clear()
    train(step.assign_add(1), tf.train.StepCounterHook(), runs=9)
    assert not caplog.messages


@pytest.mark.e2e
def test_a_nan_loss_raises_an_error():
    loss = tf.placeholder(tf.float32, [])
    count_up()
    session = tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss)])
    session.run(loss, {loss: 1.0})
    with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training"):
        session.run(loss, {loss: float("nan")})
    session.close()


def test_a_nan_loss_may_stop_training_without_an_error():
    loss = tf.placeholder(tf.float32, [])
    hook = tf.train.NanTensorHook(loss, fail_on_nan_loss=False)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(loss, {loss: float("nan")})
        assert session.should_stop()


@pytest.mark.e2e
def test_final_ops_are_evaluated_at_the_end():
    up = count_up()
    fed = tf.placeholder(tf.float32, [])
    hook = tf.train.FinalOpsHook(
        [tf.train.get_global_step(), {"double": fed * 2}], final_ops_feed_dict={fed: 4}
    )
    assert hook.final_ops_values is None
    train(up, hook, runs=3)
    assert hook.final_ops_values == [3, {"double": 8}]


def test_final_ops_that_need_an_exhausted_input_cause_a_warning(caplog: pytest.LogCaptureFixture):
    following = tf.data.Dataset.range(1).make_one_shot_iterator().get_next()
    session = tf.train.MonitoredSession(hooks=[tf.train.FinalOpsHook(following)])
    session.run(following)
    with pytest.raises(tf.errors.OutOfRangeError):
        session.close()
    assert "reached the end of an input" in caplog.text


def test_a_feed_hook_feeds_every_run():
    fed = tf.placeholder(tf.float32, [])
    double = fed * 2
    numbers = iter(range(10))
    hook = tf.train.FeedFnHook(lambda: {fed: next(numbers)})
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert [session.run(double) for _ in range(3)] == [0, 2, 4]


@pytest.mark.e2e
def test_a_worker_waits_until_the_global_step_is_reached(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "capstan")
    up = count_up()
    hook = tf.train.GlobalStepWaiterHook(wait_until_step=3)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        plain = hook_session(session)
        others = threading.Thread(target=lambda: [plain.run(up) for _ in range(3)])
        others.start()
        assert session.run(up) >= 4
        others.join()
    assert "Waiting for global step 3 before starting training." in caplog.messages


def hook_session(session: Any) -> Any:
    """Return the plain session of a monitored session. Hooks get the plain session too."""
    return session._tf_sess()


@pytest.mark.e2e
def test_checkpoints_are_saved_at_the_start_at_intervals_and_at_the_end(tmp_path: pathlib.Path):
    events: list[object] = []

    class Listener(tf.train.CheckpointSaverListener):
        def begin(self) -> None:
            events.append("begin")

        def before_save(self, session: Any, global_step_value: int) -> None:
            events.append(global_step_value)

        def after_save(self, session: Any, global_step_value: int) -> None:
            events.append(f"{global_step_value} saved")

        def end(self, session: Any, global_step_value: int) -> None:
            events.append(f"end at {global_step_value}")

    up = count_up()
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=4, listeners=[Listener()])
    train(up, hook, runs=6)
    assert events == [
        "begin", 0, "0 saved", 4, "4 saved", 6, "6 saved", "end at 6",
    ]  # fmt: skip
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-6")


@pytest.mark.e2e
def test_no_step_is_saved_twice(tmp_path: pathlib.Path):
    saved = []

    class Listener(tf.train.CheckpointSaverListener):
        def before_save(self, session: Any, global_step_value: int) -> None:
            saved.append(global_step_value)

    up, saver = count_up(), tf.train.Saver()
    hook = tf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=4, saver=saver, listeners=[Listener()]
    )
    train(up, hook, runs=8)
    assert saved == [0, 4, 8]


@pytest.mark.e2e
def test_a_hook_that_saves_in_its_own_way_keeps_the_intervals(tmp_path: pathlib.Path):
    saved = []

    class Hook(tf.train.CheckpointSaverHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            saved.append(int(session.run(self._global_step_tensor)))

        def _save(self, session: Any, step: int) -> bool:
            saved.append(step)
            return False

    up, saver = count_up(), tf.train.Saver()
    train(up, Hook(str(tmp_path), save_steps=3, saver=saver), runs=7)
    assert saved == [0, 1, 4, 7]


@pytest.mark.e2e
def test_a_listener_may_ask_for_a_stop(tmp_path: pathlib.Path):
    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session: Any, global_step_value: int) -> bool:
            return global_step_value >= 4

    up = count_up()
    saver = tf.train.Saver()
    hook = tf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=2, saver=saver, listeners=[Listener()]
    )
    assert train(up, hook) == 4


@pytest.mark.e2e
@pytest.mark.parametrize("savers, message", [(0, "No items in"), (2, "More than one item in")])
def test_a_checkpoint_hook_needs_exactly_one_saver(
    tmp_path: pathlib.Path, savers: int, message: str
):
    count_up()
    scaffold = tf.train.Scaffold(saver=tf.train.Saver())
    for _ in range(savers):
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1)
    with pytest.raises(RuntimeError, match=f"{message} collection savers"):
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold), [hook])


def test_a_checkpoint_hook_does_not_take_both_a_saver_and_a_scaffold():
    with pytest.raises(ValueError, match="You cannot provide both saver and scaffold"):
        tf.train.CheckpointSaverHook("x", 1, saver=object(), scaffold=object())
