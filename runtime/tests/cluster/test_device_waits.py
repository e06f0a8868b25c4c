"""The thread of a step waits for a device if it has nothing else to do."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import background
import clusters
import late_stream
import numpy as np
import pytest
import strict

import capstan as tf
from capstan.core import cancellation
from capstan.hardware import device
from capstan.services import inbox

Devices = list[strict.Strict]


@pytest.fixture
def devices() -> Iterator[Devices]:
    with tf.Graph().as_default(), strict.installed() as made:
        yield made


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads of steps that have waited for a device."""
    threads: list[int] = []
    then = late_stream.LateStream.then

    def noted(
        stream: late_stream.LateStream,
        passed: device.Passed,
        idle: cancellation.Submit | None = None,
    ) -> None:
        def note(error: tf.errors.OpError | None) -> None:
            threads.append(threading.get_ident())
            passed(error)

        then(stream, note if idle else passed, idle)

    monkeypatch.setattr(late_stream.LateStream, "then", noted)
    return threads


def test_the_thread_of_a_step_waits_for_a_device(devices: Devices, waits: list[int]) -> None:
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2])
        doubled: Any = x * 2.0
    with tf.Session() as session:
        session.run(doubled, {x: np.ones(2)})
        assert session.run(doubled * 2.0, {x: np.ones(2)}).tolist() == [4.0, 4.0]
    assert set(waits) == {threading.get_ident()}


def test_the_thread_of_a_step_waits_for_a_copy_that_its_next_kernels_need(
    devices: Devices, waits: list[int]
) -> None:
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2])
        counts = tf.cast(x, tf.int64)
        repeated: Any = tf.tile(x, counts[:1]) + 1.0
    with tf.Session() as session:
        found = session.run([counts, repeated], {x: [2.0, 5.0]})
    assert [part.tolist() for part in found] == [[2, 5], [3.0, 6.0, 3.0, 6.0]]
    assert set(waits) == {threading.get_ident()}


def test_an_error_of_a_device_names_the_copy_that_waited_for_it(devices: Devices) -> None:
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2])
        doubled = tf.multiply(x, 2.0, name="doubled")

    def fail() -> None:
        raise RuntimeError("an illegal memory access")

    with tf.Session() as session:
        session.run(doubled, {x: np.ones(2)})
        [gpu] = devices
        gpu.enqueue(fail)
        with pytest.raises(tf.errors.OpError, match=r"illegal memory access(.|\n)*node doubled"):
            session.run(doubled, {x: np.ones(2)})


class AdvancedClock:
    """Shows the time of `time.monotonic`, and the seconds by which a test advanced it."""

    def __init__(self) -> None:
        self._advance_s = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._advance_s

    def advance(self, seconds: float) -> None:
        self._advance_s += seconds


def test_a_step_whose_time_ends_while_its_device_computes_is_late(
    devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2])
        doubled: Any = x * 2.0
    with tf.Session() as session:
        session.run(doubled, {x: np.ones(2)})
        [gpu] = devices
        clock = AdvancedClock()
        monkeypatch.setattr(inbox, "time", clock)
        limit = tf.RunOptions(timeout_in_ms=60_000)
        session.run(doubled, {x: np.ones(2)}, options=limit)
        # The device begins this work when the step waits for it.
        gpu.enqueue(lambda: clock.advance(60.0))
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(doubled, {x: np.ones(2)}, options=limit)


def test_a_step_over_tasks_receives_while_its_device_computes(
    devices: Devices, waits: list[int]
) -> None:
    with tf.device("/job:ps/cpu:0"):
        x = tf.placeholder(tf.float32, [2])
        moved: Any = x + 1.0
    with tf.device("/job:worker/gpu:0"):
        doubled: Any = moved * 2.0
    with (
        clusters.running(ps=1, worker=1) as servers,
        tf.Session(servers["worker:0"].target) as session,
    ):
        assert session.run(doubled, {x: np.ones(2)}).tolist() == [4.0, 4.0]
    assert not waits


@pytest.mark.e2e
def test_a_step_that_also_waits_for_a_queue_goes_on_while_its_device_computes(
    devices: Devices,
) -> None:
    released = threading.Event()

    def release(element: Any) -> Any:
        released.set()
        return element

    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2])
        doubled: Any = x * 2.0
    with tf.device("/cpu:0"):
        elements = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
        put = elements.enqueue(3.0)
        taken = tf.py_func(release, [elements.dequeue()], tf.float32)
    with tf.Session() as session:
        step = session.make_callable([doubled, taken], [x])
        session.run(put)
        step(np.ones(2))
        released.clear()
        [gpu] = devices
        computing = threading.Event()

        def compute() -> None:
            computing.set()
            assert released.wait(background.PATIENCE_S)

        gpu.enqueue(compute)

        def enqueue() -> None:
            assert computing.wait(background.PATIENCE_S)
            session.run(put)

        enqueued = background.Background(enqueue)
        found = step(np.ones(2))
        enqueued.join()
    assert found[0].tolist() == [2.0, 2.0]
    assert found[1] == 3.0
