"""Tests of the session manager, which makes a session ready."""

import logging
import pathlib
import threading
from typing import Any

import background
import genuine
import pytest

import capstan as tf
from capstan.python.training import session_manager


def make_manager(**arguments: Any) -> tf.train.SessionManager:
    return tf.train.SessionManager(ready_op=tf.report_uninitialized_variables(), **arguments)


def test_without_a_checkpoint_the_init_op_runs(tmp_path: pathlib.Path):
    variable = tf.Variable(5)
    init, saver = tf.global_variables_initializer(), tf.train.Saver()
    session = make_manager().prepare_session(
        "", init_op=init, saver=saver, checkpoint_dir=str(tmp_path)
    )
    assert session.run(variable) == 5


def test_the_init_op_can_be_fed_and_the_init_function_is_called_after_it():
    fed = tf.placeholder(tf.int32, [])
    variable = tf.Variable(0)
    init, more = tf.assign(variable, fed), tf.assign_add(variable, 1)
    session = make_manager().prepare_session(
        "", init_op=init, init_feed_dict={fed: 7}, init_fn=lambda session: session.run(more)
    )
    assert session.run(variable) == 8


@pytest.mark.e2e
def test_the_init_op_does_not_run_if_a_checkpoint_is_restored(tmp_path: pathlib.Path):
    variable = tf.Variable(5)
    init, saver, change = (
        tf.global_variables_initializer(),
        tf.train.Saver(),
        tf.assign(variable, 6),
    )
    with tf.Session() as session:
        session.run(change)
        path = saver.save(session, str(tmp_path / "m"), global_step=1)
    other = tf.train.Saver()
    session = make_manager().prepare_session("", init, other, checkpoint_dir=str(tmp_path))
    assert session.run(variable) == 6
    assert other.last_checkpoints == [path]
    named = make_manager().prepare_session("", init, saver, checkpoint_filename_with_path=path)
    assert named.run(variable) == 6


@pytest.mark.e2e
def test_prepare_session_can_wait_for_a_checkpoint(tmp_path: pathlib.Path):
    variable = tf.Variable(5)
    saver, init = tf.train.Saver(), tf.global_variables_initializer()
    manager = make_manager(recovery_wait_secs=0.01)
    with tf.Session() as session:
        session.run(init)
        late = threading.Timer(0.1, saver.save, (session, str(tmp_path / "m")))
        late.start()
        ready = manager.prepare_session(
            "", saver=saver, checkpoint_dir=str(tmp_path), wait_for_checkpoint=True
        )
        assert ready.run(variable) == 5
        late.join()


def test_local_variables_are_initialised_after_global_variables():
    tf.Variable(1)
    local = tf.Variable(2, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    manager = make_manager(
        local_init_op=tf.local_variables_initializer(),
        ready_for_local_init_op=tf.report_uninitialized_variables(tf.global_variables()),
    )
    session = manager.prepare_session("", init_op=tf.global_variables_initializer())
    assert session.run(local) == 2


def test_uninitialised_variables_are_named():
    tf.Variable(1, name="present")
    tf.Variable(1, name="missing")
    manager = make_manager()
    with pytest.raises(
        RuntimeError,
        match=r"Init operations did not make model ready\.  Init op: None, .* "
        "error: Variables not initialized: present, missing",
    ):
        manager.prepare_session("", init_fn=lambda session: None)


def test_uninitialised_variables_that_the_local_init_op_needs_are_named():
    variable = tf.Variable(1, name="global")
    manager = tf.train.SessionManager(
        local_init_op=tf.no_op(),
        ready_for_local_init_op=tf.report_uninitialized_variables([variable]),
    )
    with pytest.raises(RuntimeError, match=r"ready for local_init\. .* not initialized: global"):
        manager.prepare_session("", init_op=tf.no_op())


def test_a_model_without_any_initialisation_is_refused():
    tf.Variable(1)
    with pytest.raises(RuntimeError, match="Model is not initialized and no init_op or init_fn or"):
        make_manager().prepare_session("")


def test_a_ready_op_may_fail_instead_of_returning_names(tmp_path: pathlib.Path):
    variable = tf.Variable(1, name="v")
    manager = tf.train.SessionManager(ready_op=variable.value())
    with pytest.raises(RuntimeError, match="Attempting to use uninitialized value v"):
        manager.prepare_session("", init_op=tf.no_op())


@pytest.mark.e2e
def test_recover_session_returns_whether_the_model_is_ready(tmp_path: pathlib.Path):
    variable = tf.Variable(5)
    saver = tf.train.Saver()
    _, is_ready = make_manager().recover_session("", saver, str(tmp_path))
    assert not is_ready
    with tf.Session() as session:
        session.run(variable.initializer)
        saver.save(session, str(tmp_path / "m"))
    session, is_ready = make_manager().recover_session("", saver, str(tmp_path))
    assert is_ready
    assert session.run(variable) == 5


def test_a_folder_and_a_checkpoint_cannot_both_be_given(tmp_path: pathlib.Path):
    tf.Variable(1)
    with pytest.raises(ValueError, match="Can not provide both checkpoint_dir and"):
        make_manager().prepare_session(
            "", checkpoint_dir="a", checkpoint_filename_with_path="b", saver=tf.train.Saver()
        )


def test_a_ready_op_for_local_init_needs_a_local_init_op():
    with pytest.raises(ValueError, match="must also pass a local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=tf.no_op())


def test_a_scaffold_creates_the_missing_parts_and_finalizes_the_graph(graph: tf.Graph):
    tf.Variable(1)
    scaffold = tf.train.Scaffold().finalize()
    assert graph.finalized
    assert scaffold.init_op.type == "NoOp"
    assert scaffold.saver in tf.get_collection(tf.GraphKeys.SAVERS)
    assert scaffold.summary_op is None
    again = tf.train.Scaffold()
    again.finalize()
    assert again.saver is scaffold.saver
    assert again.ready_op is scaffold.ready_op


@pytest.mark.e2e
def test_a_scaffold_keeps_the_given_parts():
    variable, init_calls = tf.Variable(1), []
    saver, init = tf.train.Saver([variable]), tf.global_variables_initializer()
    scaffold = tf.train.Scaffold(
        init_op=init, saver=saver, init_fn=lambda *arguments: init_calls.append(arguments)
    )
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)):
        ((argument, session),) = init_calls
    assert argument is scaffold
    assert isinstance(session, tf.Session)
    assert (scaffold.init_op, scaffold.saver) == (init, saver)


def test_a_scaffold_copies_the_parts_of_another_one():
    variable, init_calls = tf.Variable(1), []
    init = tf.global_variables_initializer()
    first = tf.train.Scaffold(
        init_op=init,
        init_feed_dict={"a": 1},
        saver=tf.train.Saver([variable]),
        init_fn=lambda scaffold, session: init_calls.append((scaffold, session)),
    )
    mine = tf.no_op()
    second = tf.train.Scaffold(local_init_op=mine, init_feed_dict={}, copy_from_scaffold=first)
    assert (second.init_op, second.saver) == (init, first.saver)
    assert (second.local_init_op, second.init_feed_dict) == (mine, {})
    assert first.local_init_op is None
    second.init_fn("session")
    assert init_calls == [(second, "session")]
    with pytest.raises(TypeError, match=r"copy_from_scaffold is not a Scaffold instance\."):
        tf.train.Scaffold(copy_from_scaffold=1)


def test_a_scaffold_refuses_a_collection_with_two_members():
    tf.add_to_collection(tf.GraphKeys.INIT_OP, tf.no_op())
    tf.add_to_collection(tf.GraphKeys.INIT_OP, tf.no_op())
    with pytest.raises(RuntimeError, match=r"tf.Scaffold\(init_op=item to use\)"):
        tf.train.Scaffold().finalize()


@pytest.mark.e2e
def test_a_damaged_checkpoint_is_skipped(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture):
    variable = tf.Variable(5)
    saver, change = tf.train.Saver(), tf.assign_add(variable, 1)
    with tf.Session() as session:
        session.run(variable.initializer)
        paths = []
        for number in range(3):
            paths.append(saver.save(session, str(tmp_path / "m"), global_step=number))
            session.run(change)
    manager = make_manager()
    for path, value in zip(reversed(paths), (6, 5), strict=False):
        pathlib.Path(f"{path}.data-00000-of-00001").write_bytes(b"half")
        session = manager.prepare_session("", saver=saver, checkpoint_dir=str(tmp_path))
        assert session.run(variable) == value
        assert f"Trying the checkpoint before {path}" in caplog.text
    pathlib.Path(f"{paths[0]}.data-00000-of-00001").write_bytes(b"half")
    with pytest.raises(tf.errors.DataLossError, match="damaged"):
        manager.prepare_session("", saver=saver, checkpoint_dir=str(tmp_path))


def test_restoring_a_deleted_checkpoint_is_refused(tmp_path: pathlib.Path):
    tf.Variable(5)
    tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / "m-1"))
    with pytest.raises(ValueError, match="The passed save_path is not a valid checkpoint"):
        make_manager().prepare_session("", saver=tf.train.Saver(), checkpoint_dir=str(tmp_path))


def test_a_session_that_does_not_become_ready_is_closed():
    variable = tf.Variable(5)
    init, opened = tf.global_variables_initializer(), []

    def fail(session: tf.Session) -> None:
        opened.append(session)
        raise tf.errors.UnavailableError(None, None, "a task is gone")

    with pytest.raises(tf.errors.UnavailableError, match="is gone"):
        make_manager().prepare_session("", init_op=init, init_fn=fail)
    with pytest.raises(RuntimeError, match="not initialized"):
        make_manager().prepare_session("", init_fn=opened.append)
    for session in opened:
        with pytest.raises(RuntimeError, match="closed Session"):
            session.run(variable)


def test_a_session_that_cannot_be_restored_is_closed(tmp_path: pathlib.Path):
    variable, opened = tf.Variable(5), []

    class Damaged:
        def restore(self, session: tf.Session, path: str) -> None:
            opened.append(session)
            raise tf.errors.DataLossError(None, None, f"{path} is damaged")

    path = str(tmp_path / "m")
    for prepare in (make_manager().prepare_session, make_manager().recover_session):
        with pytest.raises(tf.errors.DataLossError):
            prepare("", saver=Damaged(), checkpoint_filename_with_path=path)
    for session in opened:
        with pytest.raises(RuntimeError, match="closed Session"):
            session.run(variable)


@pytest.mark.e2e
@pytest.mark.alone
def test_a_worker_waits_on_if_a_task_restarts(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, logger="capstan")
    tasks = genuine.Tasks(ps=1, worker=1)
    try:
        with tf.device("/job:ps/task:0"):
            variable = tf.Variable(5)
        init, manager = tf.global_variables_initializer(), make_manager()
        waiting = background.Background(lambda: manager.wait_for_session(tasks.target()))
        background.until(lambda: "Waiting for model to be ready" in caplog.text)
        tasks.kill("ps")
        tasks.start("ps")
        with tf.Session(tasks.target()) as chief:
            chief.run(init)
            with waiting.join() as session:
                assert session.run(variable) == 5
    finally:
        tasks.close()


def test_an_interrupt_of_the_wait_for_the_chief_closes_the_session():
    class Interrupt(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("Waiting for model to be ready."):
                raise KeyboardInterrupt

    tf.Variable(1)
    logger, handler = logging.getLogger("capstan"), Interrupt(logging.INFO)
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            make_manager().wait_for_session("")
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    (session,) = [
        entry.frame.f_locals["session"]
        for entry in caught.traceback
        if entry.name == "wait_for_session"
    ]
    with pytest.raises(RuntimeError, match="closed"):
        session.run(tf.global_variables_initializer())


def test_programs_with_their_own_hook_ask_whether_variables_are_initialised():
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("v", initializer=1.0)
        op = tf.report_uninitialized_variables()
        text = "Variables not initialized: v"
        assert session_manager._ready(op, session, "Not ready") == (False, text)
        session.run(variable.initializer)
        assert session_manager._ready(op, session, "Not ready") == (True, None)
