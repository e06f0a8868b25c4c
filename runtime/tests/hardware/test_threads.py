"""A pool of daemon threads: it reuses threads, and never keeps the process alive."""

import functools
import subprocess
import sys
import threading
import weakref
from concurrent import futures

import background
import pytest

from capstan.hardware import threads

PATIENCE_S = 50.0

PROGRAM = """
import threading
from capstan.hardware import threads

started = threading.Event()
def block():
    started.set()
    threading.Event().wait()
threads.DaemonThreads(2, "call").submit(block)
started.wait()
print("over")
"""


@pytest.mark.alone
def test_an_idle_thread_is_reused() -> None:
    pool = threads.DaemonThreads(8, "idle")
    names: set[str] = set()
    for _ in range(20):
        pool.submit(lambda: names.add(threading.current_thread().name)).result(PATIENCE_S)
    assert len(names) < 8
    pool.shutdown()
    for thread in threading.enumerate():
        if thread.name.startswith("idle"):
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


def test_an_idle_thread_holds_nothing_of_its_last_work() -> None:
    class Memory:
        def use(self) -> None:
            pass

    pool, memory = threads.DaemonThreads(1, "idle"), Memory()
    held = weakref.ref(memory)
    pool.start(functools.partial(memory.use))
    del memory
    background.until(lambda: held() is None)
    pool.shutdown()


def test_calls_above_the_limit_wait_for_a_thread() -> None:
    pool = threads.DaemonThreads(2, "busy")
    gate = threading.Event()
    blocked = [pool.submit(gate.wait, PATIENCE_S) for _ in range(2)]
    third = pool.submit(lambda: 3)
    assert not futures.wait([third], 0.05).done
    gate.set()
    assert third.result(PATIENCE_S) == 3
    assert all(call.result(PATIENCE_S) for call in blocked)
    pool.shutdown()


def test_a_call_waits_if_the_system_cannot_start_another_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = threads.DaemonThreads(2, "scarce")
    gate = threading.Event()
    blocked = pool.submit(gate.wait, PATIENCE_S)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        waiting = pool.submit(lambda: 3)
        with pytest.raises(RuntimeError, match="start new thread"):
            threads.DaemonThreads(2, "none").submit(lambda: 4)
    gate.set()
    assert waiting.result(PATIENCE_S) == 3
    assert blocked.result(PATIENCE_S)
    pool.shutdown()


def test_a_call_that_waited_for_a_thread_leaves_no_idle_thread_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = threads.DaemonThreads(2, "late")
    gates = [threading.Event() for _ in range(2)]
    first = pool.submit(gates[0].wait, PATIENCE_S)
    began = threading.Event()

    def block() -> bool:
        began.set()
        return gates[1].wait(PATIENCE_S)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        second = pool.submit(block)
    gates[0].set()
    assert first.result(PATIENCE_S)
    assert began.wait(PATIENCE_S)
    assert pool.submit(lambda: 3).result(PATIENCE_S) == 3
    gates[1].set()
    assert second.result(PATIENCE_S)
    pool.shutdown()


def test_the_caller_gets_the_error_of_its_call() -> None:
    pool = threads.DaemonThreads(1, "errors")
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 // 0).result(PATIENCE_S)
    assert pool.submit(lambda: 1).result(PATIENCE_S) == 1
    pool.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(lambda: 1)


@pytest.mark.e2e
def test_a_blocked_call_does_not_keep_the_process_alive() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stdout == "over\n"
