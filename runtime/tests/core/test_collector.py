"""The collector of reference cycles stops while large graphs are handled, and runs again after."""

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import signals

import capstan as tf
from capstan.core import collector

MANY = 2100


def test_the_collector_stops_in_the_block_and_runs_again_after_an_error() -> None:
    def fail() -> None:
        with collector.paused(MANY):
            assert not gc.isenabled()
            with collector.paused(MANY):
                assert not gc.isenabled()
            assert not gc.isenabled()
            raise ValueError("fault")

    with pytest.raises(ValueError, match="fault"):
        fail()
    assert gc.isenabled()


def test_the_collector_runs_again_after_ctrl_c_while_it_was_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stop = gc.disable

    def interrupted() -> None:
        stop()
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(gc, "disable", interrupted)
    # A process that a shell starts in the background ignores Ctrl-C until it sets a handler.
    with (
        signals.raising(signal.SIGINT, KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
        collector.paused(MANY),
    ):
        pass
    assert gc.isenabled()


def test_the_collector_runs_on_for_a_small_graph() -> None:
    with collector.paused(10):
        assert gc.isenabled()


def test_a_collector_that_the_program_has_stopped_stays_stopped() -> None:
    gc.disable()
    try:
        with collector.paused(MANY):
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_runs_again_after_blocks_of_several_threads() -> None:
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with collector.paused(MANY):
            entered.set()
            leave.wait(50)

    thread = threading.Thread(target=work)
    thread.start()
    assert entered.wait(50)
    with collector.paused(MANY):
        leave.set()
        thread.join(50)
    assert gc.isenabled()


@contextmanager
def counted() -> Iterator[list[int]]:
    """Yield a list that gets the generation of each collection in the block."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(note)
    try:
        yield found
    finally:
        gc.callbacks.remove(note)


@pytest.mark.e2e
def test_the_first_run_of_a_large_graph_waits_for_few_collections() -> None:
    with tf.Graph().as_default():
        fed = value = tf.placeholder(tf.float32, [64])
        for _ in range(MANY // 2):
            value = tf.tanh(value + fed)
        with tf.Session() as session, counted() as collections:
            session.run(value, {fed: [0.5] * 64})
    assert len(collections) < MANY / 60
