"""A server on a port of 127.0.0.1, and clients of its two services."""

import contextlib
from collections.abc import Iterator

import pytest
import recording

from capstan.transport.grpc import remote_master, remote_worker, server


@pytest.fixture
def task() -> recording.Recorder:
    return recording.Recorder()


@pytest.fixture
def address(task: recording.Recorder) -> Iterator[str]:
    control = server.ControlServer("127.0.0.1", 0, task, task, task, bytes, 1 << 29)
    control.start()
    yield f"127.0.0.1:{control.port}"
    control.stop()


@pytest.fixture
def master(address: str) -> Iterator[remote_master.GrpcMaster]:
    with contextlib.closing(remote_master.GrpcMaster(f"grpc://{address}")) as made:
        yield made


@pytest.fixture
def worker(address: str) -> Iterator[remote_worker.GrpcWorker]:
    with contextlib.closing(remote_worker.GrpcWorker(address)) as made:
        yield made
