"""Invalid input gives its sender an error, delays no other client, and leaks no memory."""

import collections
import contextlib
import json
import os
import pathlib
import random
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import clusters
import grpc
import hostile
import numpy as np
import psutil
import pytest

import capstan as tf
from capstan.core import graph_def
from capstan.transport import api, doors, frames, listener, sockets
from capstan.transport.grpc import channels, remote_worker, wire

SOURCES = pathlib.Path(__file__).parents[2] / "src"
PATIENCE_S = 90.0


class Victims:
    """A ps and a worker in their own processes, and two clients of them.

    One client sends hostile input. The other client has a session that must keep working.
    """

    def __init__(self, log: pathlib.Path) -> None:
        self.spec = clusters.spec(ps=1, worker=1)
        self.log = log
        with log.open("ab") as stderr:
            self.processes = [self._start(job, stderr) for job in self.spec]
        self.address = self.spec["worker"][0]
        self.channel = channels.open_channel(self.address)
        self.tasks = [remote_worker.GrpcWorker(address) for (address,) in self.spec.values()]
        self.count = 0
        self._open_bystander()
        self.assert_others_are_served()
        self.incarnations = [task.get_status().incarnation for task in self.tasks]
        self.ended: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []

    def _start(self, job: str, stderr: Any) -> "subprocess.Popen[bytes]":
        flags = ("--cluster", json.dumps(self.spec), "--job", job, "--task", "0")
        return subprocess.Popen(
            [sys.executable, "-m", "capstan", "serve", *flags],
            env={**os.environ, "PYTHONPATH": str(SOURCES), "OPENBLAS_NUM_THREADS": "1"},
            stderr=stderr,
        )

    def _open_bystander(self) -> None:
        # This graph has no state, because a peer with a token may start any graph, also this one.
        with tf.Graph().as_default():
            self._x = tf.placeholder(tf.float32, [None])
            with tf.device("/job:ps/task:0"):
                self._twice: Any = self._x * 2.0
            self._session = tf.Session(f"grpc://{self.address}")

    def assert_others_are_served(self) -> None:
        self.count += 1
        found = self._session.run(self._twice, {self._x: [self.count, 1.0]})
        assert found.tolist() == [2.0 * self.count, 2.0]

    def resident(self) -> int:
        return sum(psutil.Process(process.pid).memory_info().rss for process in self.processes)

    def call(self, service: str, name: str, data: bytes) -> bytes | None:
        """Send bytes as a request. If the answer is an error, count its code and return None."""
        method = self.channel.unary_unary(f"/{service}/{name}", None, None)
        try:
            answer = method(data, timeout=PATIENCE_S)
        except grpc.RpcError as error:
            self.ended[error.code().name] += 1
            if error.code().name in ("UNKNOWN", "DEADLINE_EXCEEDED", "INTERNAL"):
                self.faults.append(f"{name}: {error.code().name} {error.details()}\n{data[:500]!r}")
            return None
        self.ended["OK"] += 1
        return bytes(answer)

    def session(self, data: bytes) -> str | None:
        answer = self.call(channels.MASTER, "CreateSession", data)
        return answer and wire.CreateSessionResponse.FromString(answer).session_handle

    def close_session(self, handle: str | None) -> None:
        if handle:
            request = wire.CloseSessionRequest(session_handle=handle)
            self.call(channels.MASTER, "CloseSession", request.SerializeToString())

    def offer(self, task_number: int, plane: str = listener.TCP) -> doors.Offer:
        task, incarnation = self.tasks[task_number], self.incarnations[task_number]
        return task.connect("/job:worker/replica:0/task:0", incarnation, (plane,))

    def close(self) -> None:
        self._session.close()
        for task in self.tasks:
            task.close()
        self.channel.close()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            assert process.wait(PATIENCE_S) == 143
        log = self.log.read_text(encoding="utf-8", errors="replace")
        assert "Traceback" not in log, log


@pytest.fixture(scope="module")
def victims(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victims]:
    made = Victims(tmp_path_factory.mktemp("hostile") / "log")
    try:
        yield made
    finally:
        made.close()


def rounds(victims: Victims, count: int, seed: int, slack_mib: int = 30) -> Iterator[random.Random]:
    """Yield `count` random generators. Check that the other client is served and memory freed."""
    before = 0
    for number in range(count):
        if number == count // 5:
            before = victims.resident()
        yield random.Random(f"{seed} {number}")
        if number % 50 == 0:
            victims.assert_others_are_served()
    victims.assert_others_are_served()
    faults, victims.faults = victims.faults, []
    assert not faults, "\n".join(faults)
    grown = victims.resident() - before >> 20
    assert grown < slack_mib, f"grew by {grown} MiB"


pytestmark = [pytest.mark.e2e, pytest.mark.alone, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    "service, names", [(channels.MASTER, hostile.MASTER), (channels.WORKER, hostile.WORKER)]
)
def test_random_bytes_as_requests_do_no_harm(
    victims: Victims, service: str, names: tuple[str, ...]
) -> None:
    for rng in rounds(victims, 1000, 1):
        name = rng.choice(names)
        answer = victims.call(service, name, hostile.noise(rng))
        if name == "CreateSession" and answer is not None:
            victims.close_session(wire.CreateSessionResponse.FromString(answer).session_handle)


@pytest.mark.parametrize(
    "service, names", [(channels.MASTER, hostile.MASTER), (channels.WORKER, hostile.WORKER)]
)
def test_damaged_requests_do_no_harm(
    victims: Victims, service: str, names: tuple[str, ...]
) -> None:
    valid = hostile.request(random.Random(0), "CreateSession", "").SerializeToString()
    session = victims.session(valid)
    for rng in rounds(victims, 2000, 2):
        name = rng.choice(names)
        data = hostile.request(rng, name, session or "").SerializeToString()
        if rng.random() < 0.8:
            data = hostile.damaged(rng, data)
        answer = victims.call(service, name, data)
        if name == "CreateSession" and answer is not None:
            victims.close_session(wire.CreateSessionResponse.FromString(answer).session_handle)
        if rng.random() < 0.02:
            victims.close_session(session)
            session = victims.session(valid)
    victims.close_session(session)


def test_giant_and_truncated_messages_do_no_harm(victims: Victims) -> None:
    valid = hostile.request(random.Random(0), "CreateSession", "").SerializeToString()
    session = victims.session(valid) or ""
    # The allocator keeps some memory, whatever the number of rounds. The messages are ten times as
    # large together.
    for rng in rounds(victims, 120, 6, slack_mib=128):
        message = hostile.request(rng, "RunStep", session)
        size = rng.randrange(1 << 20, 20 << 20)
        message.feed[0].tensor.tensor_content = bytes(size)
        message.feed[0].tensor.tensor_shape.dim.add(size=rng.choice((size // 4, size, 2**62)))
        data = message.SerializeToString()
        victims.call(channels.MASTER, "RunStep", data)
        victims.call(channels.MASTER, "RunStep", data[: rng.randrange(len(data))])
    victims.close_session(session)


def test_frames_that_announce_more_than_they_hold_take_no_memory(victims: Victims) -> None:
    for rng in rounds(victims, 100, 7):
        size = rng.choice((1 << 20, 1 << 28, (1 << 31) - 4, 1 << 31, 1 << 40))
        head = frames.HEADER.pack(frames.MAGIC, api.Kind.START, 1, 1, 1, 24, size)
        row = struct.pack("<IHHQQ", 0, 1, 1, size, size // 4)
        with accepted_socket(victims, rng, listener.TCP) as sock, contextlib.suppress(OSError):
            sock.sendall(head + row + bytes(rng.randrange(1 << 16)))


def test_invalid_graphs_do_no_harm(victims: Victims) -> None:
    for rng in rounds(victims, 1000, 3):
        message = wire.CreateSessionRequest(graph_def=graph_def.encode(hostile.graph(rng)))
        session = victims.session(message.SerializeToString())
        for _ in range(2 if session else 0):
            run = hostile.request(rng, "RunStep", session or "").SerializeToString()
            victims.call(channels.MASTER, "RunStep", run)
        victims.close_session(session)


def test_random_bytes_on_both_ports_do_no_harm(victims: Victims) -> None:
    for rng in rounds(victims, 600, 4):
        control = int(victims.address.rpartition(":")[2])
        port = rng.choice((control, int(victims.offer(rng.randrange(2)).address)))
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.sendall(rng.choice((hostile.noise, hostile.frame_bytes))(rng))


@pytest.mark.parametrize("plane", listener.PLANES)
def test_invalid_frames_of_an_accepted_peer_do_no_harm(victims: Victims, plane: str) -> None:
    for rng in rounds(victims, 500, 5):
        with accepted_socket(victims, rng, plane) as sock, contextlib.suppress(OSError):
            for _ in range(rng.randint(1, 4)):
                sock.sendall(hostile.frame_bytes(rng))


def accepted_socket(victims: Victims, rng: random.Random, plane: str) -> socket.socket:
    """Return a socket that one of the tasks has accepted with a token."""
    task_number = rng.randrange(2)
    offer = victims.offer(task_number, plane)
    if plane == listener.TCP:
        sock = sockets.dial("127.0.0.1", int(offer.address), PATIENCE_S)
    else:
        sock = victims.tasks[task_number].open_tunnel()
    sock.settimeout(PATIENCE_S)
    token = api.Frame(api.Kind.HELLO, 0, 0, [np.frombuffer(offer.token, np.uint8)])
    sock.sendall(b"".join(frames.Encoder().encode(token)))
    assert sock.recv(frames.HEADER.size, socket.MSG_WAITALL)
    return sock
