"""A client waits for the creation of its session: deadlines, warnings and cancellation."""

import contextlib
import logging
import socket
import threading
from concurrent import futures
from typing import Any

import pytest
import recording

from capstan import errors
from capstan.core import config
from capstan.transport import cancellation as cancellations
from capstan.transport.grpc import (
    calls,
    remote_master,
)


def test_creating_a_session_waits_as_long_as_the_settings_allow() -> None:
    settings = config.SessionConfig(operation_timeout_ms=300)
    unreachable = remote_master.GrpcMaster("grpc://127.0.0.1:1")
    late = (
        r"CreateSession: no answer from 127\.0\.0\.1:1 within 0\.3 s\. From 127\.0\.0\.1:1: .*"
        "Connection refused"
    )
    with pytest.raises(errors.DeadlineExceededError, match=late):
        unreachable.create_session((), settings)
    unreachable.close()


def test_a_session_warns_while_its_master_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, eventually: Any
) -> None:
    monkeypatch.setattr(remote_master, "_COMPLAIN_S", 0.001)
    cancellation = cancellations.Cancellation()
    unreachable = remote_master.GrpcMaster("grpc://127.0.0.1:1")
    with futures.ThreadPoolExecutor(1) as callers, caplog.at_level(logging.WARNING, "capstan"):
        create = unreachable.create_session
        creation = callers.submit(create, (), config.SessionConfig(), cancellation)
        waits = "CreateSession still waiting for response from master: 127.0.0.1:1. From 127.0."
        eventually(lambda: any(line.startswith(waits) for line in caplog.messages))
        cancellation.cancel()
        with pytest.raises(errors.CancelledError):
            creation.result(50)
    unreachable.close()


@pytest.mark.parametrize(
    "greeting, probe_s, trouble",
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", 50.0, "is probably not a task of Capstan, but for example a"),
        (b"", 0.3, "Check that a server runs at this address"),
    ],
)
def test_a_session_says_what_answers_at_the_address_of_its_master(
    greeting: bytes, probe_s: float, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "_PROBE_S", probe_s)
    with socket.create_server(("127.0.0.1", 0)) as foreign, contextlib.ExitStack() as accepted:

        def greet() -> None:
            with contextlib.suppress(OSError):
                while True:
                    accepted.enter_context(foreign.accept()[0]).sendall(greeting)

        threading.Thread(target=greet, daemon=True).start()
        master = remote_master.GrpcMaster(f"grpc://127.0.0.1:{foreign.getsockname()[1]}")
        with pytest.raises(errors.DeadlineExceededError, match=trouble):
            master.create_session((), config.SessionConfig(operation_timeout_ms=300))
        master.close()
        foreign.shutdown(socket.SHUT_RDWR)


def test_a_session_says_that_its_master_runs_and_waits(
    master: remote_master.GrpcMaster, task: recording.Recorder
) -> None:
    task.gate = threading.Event()
    try:
        with pytest.raises(errors.DeadlineExceededError, match="A server runs at this address"):
            master.create_session((), config.SessionConfig(operation_timeout_ms=300))
    finally:
        task.gate.set()


def test_a_cancelled_creation_of_a_session_ends_on_both_sides(
    master: remote_master.GrpcMaster, task: recording.Recorder, eventually: Any
) -> None:
    task.gate = threading.Event()
    cancellation = cancellations.Cancellation()
    with futures.ThreadPoolExecutor(1) as callers:
        creation = callers.submit(master.create_session, (), config.SessionConfig(), cancellation)
        eventually(lambda: task.cancellation)
        assert task.cancellation is not None
        assert not task.cancellation.is_cancelled
        cancellation.cancel()
        with pytest.raises(errors.CancelledError):
            creation.result(50)
        eventually(lambda: task.cancellation and task.cancellation.is_cancelled)
    task.answer = "late"
    task.gate.set()
    # The server closes the session, because its client did not get the handle.
    eventually(lambda: ("close", "late") in task.asked)


def test_a_creation_that_was_cancelled_before_it_began_ends_at_once() -> None:
    cancellation = cancellations.Cancellation()
    cancellation.cancel()
    unreachable = remote_master.GrpcMaster("grpc://127.0.0.1:1")
    with pytest.raises(errors.CancelledError):
        unreachable.create_session((), config.SessionConfig(), cancellation)
    unreachable.close()
