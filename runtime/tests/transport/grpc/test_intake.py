"""A server bounds the memory of the requests that it holds."""

import contextlib
import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import numpy as np
import pytest
import recording

from capstan import errors
from capstan.transport import interfaces, limits
from capstan.transport.grpc import channels, health, remote_master, server, wire

LIMIT = 4 << 20
ONE = {"x:0": np.arange(3 << 18, dtype=np.int32)}
"""Feeds that fit into the bound alone, but not beside each other."""
TOO_MANY = {"x:0": np.arange(5 << 18, dtype=np.int32)}
REFUSED = f"its bound is {LIMIT}.*CAPSTAN_MAX_REQUEST_BYTES"


@pytest.fixture
def address(task: recording.Recorder) -> Iterator[str]:
    control = server.ControlServer("127.0.0.1", 0, task, task, task, bytes, LIMIT)
    control.start()
    yield f"127.0.0.1:{control.port}"
    control.stop()


def run(master: remote_master.GrpcMaster, feeds: Any) -> Any:
    return master.run_step("h", feeds, ["y:0"], [], interfaces.StepOptions())


@contextlib.contextmanager
def one_request_in_progress(
    master: remote_master.GrpcMaster,
    task: recording.Recorder,
    aside: futures.Executor,
    eventually: Any,
) -> Iterator[None]:
    task.answer = [np.float32(1)]
    task.gate = threading.Event()
    first = aside.submit(run, master, ONE)
    eventually(lambda: task.asked)
    yield
    task.gate.set()
    assert first.result(50) == [1]


def test_a_request_that_does_not_fit_beside_others_is_refused_and_fits_later(
    address: str,
    master: remote_master.GrpcMaster,
    task: recording.Recorder,
    aside: futures.Executor,
    eventually: Any,
) -> None:
    with one_request_in_progress(master, task, aside, eventually):
        with pytest.raises(errors.ResourceExhaustedError, match=REFUSED):
            run(master, ONE)
        with channels.open_channel(address) as channel:
            check = channels.method(channel, health.SERVICE, "Check")
            assert check(wire.CheckRequest()).status == health.SERVING
    assert run(master, ONE) == [1]


def test_a_client_that_declares_no_sizes_is_counted_when_its_request_has_arrived(
    address: str,
    master: remote_master.GrpcMaster,
    task: recording.Recorder,
    aside: futures.Executor,
    eventually: Any,
) -> None:
    large = wire.RunStepRequest(session_handle="h" * ONE["x:0"].nbytes, fetch=["y:0"])
    with channels.open_channel(address) as channel:
        call = channels.method(channel, channels.MASTER, "RunStep")
        with one_request_in_progress(master, task, aside, eventually):
            with pytest.raises(grpc.RpcError, match=f"RESOURCE_EXHAUSTED(.|\n)*{REFUSED}"):
                call(large)
            assert len(task.asked) == 1
        call(large)


def test_a_request_that_exceeds_the_bound_alone_is_refused(
    address: str, master: remote_master.GrpcMaster, task: recording.Recorder
) -> None:
    with pytest.raises(errors.ResourceExhaustedError, match=REFUSED):
        run(master, TOO_MANY)
    undeclared = wire.RunStepRequest(session_handle="h" * TOO_MANY["x:0"].nbytes)
    with channels.open_channel(address) as channel:
        call = channels.method(channel, channels.MASTER, "RunStep")
        with pytest.raises(grpc.RpcError, match=r"RESOURCE_EXHAUSTED(.|\n)*\d+ vs\. 4194304"):
            call(undeclared)
    assert not task.asked


def test_a_request_that_does_not_fit_is_refused_unread(address: str) -> None:
    never_sent = threading.Event()

    def messages() -> Iterator[bytes]:
        never_sent.wait(50)
        yield b""

    with channels.open_channel(address) as channel:
        path = f"/{channels.MASTER}/RunStep"
        call: Any = channel.stream_unary(path, None, None)
        try:
            with pytest.raises(grpc.RpcError, match=f"RESOURCE_EXHAUSTED(.|\n)*{REFUSED}"):
                call(messages(), metadata=[("capstan-request-bytes", str(LIMIT + 1))])
        finally:
            never_sent.set()


def test_failed_requests_release_their_memory(
    master: remote_master.GrpcMaster, task: recording.Recorder
) -> None:
    for answer in (errors.NotFoundError(None, None, "no session"), ValueError("inconsistent")):
        task.answer = answer
        for _ in range(3):
            with pytest.raises((errors.NotFoundError, errors.InvalidArgumentError)):
                run(master, ONE)


@pytest.mark.parametrize("size", ["-1", "many", "1" * 30])
def test_a_malformed_size_is_an_invalid_argument(address: str, size: str) -> None:
    with channels.open_channel(address) as channel:
        call = channels.method(channel, channels.MASTER, "RunStep")
        with pytest.raises(
            grpc.RpcError, match=r"INVALID_ARGUMENT(.|\n)*must be a number of bytes"
        ):
            call(wire.RunStepRequest(), metadata=[("capstan-request-bytes", size)])


def test_a_call_without_a_request_is_an_invalid_argument(address: str) -> None:
    with channels.open_channel(address) as channel:
        call: Any = channel.stream_unary(f"/{channels.MASTER}/RunStep", None, None)
        with pytest.raises(grpc.RpcError, match=r"INVALID_ARGUMENT(.|\n)*has no request"):
            call(iter(()))


@pytest.mark.parametrize("text, size", [("", 512 << 20), ("1", 1), ("5000000000", 5_000_000_000)])
def test_the_environment_sets_the_bound(
    monkeypatch: pytest.MonkeyPatch, text: str, size: int
) -> None:
    monkeypatch.setenv("CAPSTAN_MAX_REQUEST_BYTES", text)
    assert limits.request_bytes() == size


@pytest.mark.parametrize("text", ["0", "-5", "512M", "٣"])
def test_a_bound_that_is_no_positive_number_is_an_error(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("CAPSTAN_MAX_REQUEST_BYTES", text)
    with pytest.raises(ValueError, match="CAPSTAN_MAX_REQUEST_BYTES must be a number of bytes"):
        limits.request_bytes()
