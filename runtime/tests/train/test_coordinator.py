"""Tests of the coordinator: threads stop together, and `join` raises the first error."""

import threading

import pytest

import capstan as tf


def test_join_waits_until_the_threads_have_stopped():
    coord, stopped = tf.train.Coordinator(), []

    def work(number: int) -> None:
        while not coord.should_stop():
            coord.wait_for_stop(0.01)
        stopped.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    coord.request_stop()
    coord.join(threads)
    assert sorted(stopped) == [0, 1, 2]
    assert coord.joined


def test_join_waits_for_registered_threads():
    coord = tf.train.Coordinator()
    thread = threading.Thread(target=coord.wait_for_stop)
    thread.start()
    coord.register_thread(thread)
    coord.request_stop()
    coord.join()
    assert not thread.is_alive()


def test_the_first_error_is_raised_by_join():
    coord = tf.train.Coordinator()
    for error in (ValueError("first"), KeyError("second")):
        with coord.stop_on_exception():
            raise error
    with pytest.raises(ValueError, match="first"):
        coord.join()


def test_join_does_not_raise_the_end_of_the_input():
    coord = tf.train.Coordinator()
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "end of sequence"))
    assert coord.should_stop()
    coord.join()


def test_errors_of_the_given_types_count_as_a_clean_stop():
    coord = tf.train.Coordinator(clean_stop_exception_types=[KeyError])
    coord.request_stop(KeyError("done"))
    coord.join()
    assert coord.joined


def test_no_error_counts_as_a_clean_stop_if_no_type_is_given():
    coord = tf.train.Coordinator(clean_stop_exception_types=())
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "end of sequence"))
    with pytest.raises(tf.errors.OutOfRangeError):
        coord.join()


def test_an_error_after_join_is_raised_at_once():
    coord = tf.train.Coordinator()
    coord.request_stop()
    coord.join()
    with pytest.raises(ValueError, match="late"):
        coord.request_stop(ValueError("late"))


def test_join_names_the_threads_that_do_not_stop():
    coord, release = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=release.wait, name="deaf")
    thread.start()
    try:
        coord.request_stop()
        with pytest.raises(RuntimeError, match="threads still running: deaf"):
            coord.join([thread], stop_grace_period_secs=0.05)
    finally:
        release.set()
        thread.join()


def test_live_threads_can_be_ignored():
    coord, release = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    try:
        coord.request_stop()
        coord.join([thread], stop_grace_period_secs=0.05, ignore_live_threads=True)
        assert coord.joined
        assert thread.is_alive()
    finally:
        release.set()
        thread.join()


def test_a_cleared_stop_lets_threads_run_again():
    coord = tf.train.Coordinator()
    coord.request_stop(ValueError())
    coord.clear_stop()
    assert not coord.should_stop()
    coord.raise_requested_exception()


def test_waiting_for_a_stop_ends_with_the_timeout():
    assert not tf.train.Coordinator().wait_for_stop(0.01)


def test_a_looper_calls_its_target_until_the_stop():
    coord, calls = tf.train.Coordinator(), []

    def target(value: int) -> None:
        calls.append(value)
        if len(calls) == 3:
            coord.request_stop()

    tf.train.LooperThread.loop(coord, 0.001, target, args=(7,))
    coord.join()
    assert calls == [7, 7, 7]
    with pytest.raises(ValueError, match="'coord' argument must be a Coordinator: None"):
        tf.train.LooperThread(None, 0.001)


def test_an_error_in_a_looper_stops_everything():
    coord = tf.train.Coordinator()
    tf.train.LooperThread.loop(coord, None, lambda: 1 / 0)
    assert coord.wait_for_stop(50)
    with pytest.raises(ZeroDivisionError):
        coord.join()


def test_join_does_not_wait_for_a_stop_when_no_thread_is_left():
    coord = tf.train.Coordinator()
    # The grace period would exceed the time limit of a test.
    coord.join(stop_grace_period_secs=3600)
    assert coord.joined
