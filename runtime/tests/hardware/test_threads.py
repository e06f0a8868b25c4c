"""A pool of daemon threads: it reuses threads, and never keeps the process alive."""

import subprocess
import sys
import threading
from concurrent import futures

import pytest

from capstan.hardware import threads

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
        pool.submit(lambda: names.add(threading.current_thread().name)).result(20)
    assert len(names) < 8
    pool.shutdown()
    for thread in threading.enumerate():
        if thread.name.startswith("idle"):
            thread.join(20)
            assert not thread.is_alive()


def test_calls_above_the_limit_wait_for_a_thread() -> None:
    pool = threads.DaemonThreads(2, "busy")
    gate = threading.Event()
    blocked = [pool.submit(gate.wait, 20) for _ in range(2)]
    third = pool.submit(lambda: 3)
    assert not futures.wait([third], 0.05).done
    gate.set()
    assert third.result(20) == 3
    assert all(call.result(20) for call in blocked)
    pool.shutdown()


def test_a_call_waits_if_the_system_cannot_start_another_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = threads.DaemonThreads(2, "scarce")
    gate = threading.Event()
    blocked = pool.submit(gate.wait, 20)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        waiting = pool.submit(lambda: 3)
        with pytest.raises(RuntimeError, match="start new thread"):
            threads.DaemonThreads(2, "none").submit(lambda: 4)
    gate.set()
    assert waiting.result(20) == 3
    assert blocked.result(20)
    pool.shutdown()


def test_the_caller_gets_the_error_of_its_call() -> None:
    pool = threads.DaemonThreads(1, "errors")
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 // 0).result(20)
    assert pool.submit(lambda: 1).result(20) == 1
    pool.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(lambda: 1)


def test_a_blocked_call_does_not_keep_the_process_alive() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == "over\n"
