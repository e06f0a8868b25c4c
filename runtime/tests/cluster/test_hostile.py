"""Whatever a client sends: an error for that client, the others served, the memory back."""

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
from capstan.transport import api, frames, interfaces, listener, sockets
from capstan.transport.grpc import channels, client, wire

SOURCES = pathlib.Path(__file__).parents[2] / "src"
PATIENCE_S = 20.0


class Victims:
    """A ps and a worker in processes of their own, what a hostile client needs, and another's
    session.
    """

    def __init__(self, log: pathlib.Path) -> None:
        self.spec = clusters.spec(ps=1, worker=1)
        self.log = log
        with log.open("ab") as stderr:
            self.processes = [self._start(job, stderr) for job in self.spec]
        self.address = self.spec["worker"][0]
        self.channel = channels.open_channel(self.address)
        self.tasks = [client.GrpcWorker(address) for (address,) in self.spec.values()]
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
        # It computes and remembers nothing: who has a token may start any graph, this one too.
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
        """Send bytes as a request; None and a note of the code where the answer is an error."""
        method = self.channel.unary_unary(f"/{service}/{name}", None, None)
        try:
            answer = method(data, timeout=PATIENCE_S)
        except grpc.RpcError as error:
            self.ended[error.code().name] += 1
            if error.code().name in ("UNKNOWN", "DEADLINE_EXCEEDED", "INTERNAL"):
                self.faults.append(f"{name}: {error.code().name} {error.details()}\n{data!r}")
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

    def offer(self, which: int, plane: str = listener.TCP) -> interfaces.Offer:
        task, incarnation = self.tasks[which], self.incarnations[which]
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
        said = self.log.read_text(encoding="utf-8", errors="replace")
        assert "Traceback" not in said, said


@pytest.fixture(scope="module")
def victims(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victims]:
    made = Victims(tmp_path_factory.mktemp("hostile") / "log")
    try:
        yield made
    finally:
        made.close()


def rounds(victims: Victims, count: int, seed: int, slack_mib: int = 30) -> Iterator[random.Random]:
    """Chance for so many cases; others are served meanwhile, and memory is back afterwards."""
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
    for chance in rounds(victims, 1000, 1):
        name = chance.choice(names)
        answer = victims.call(service, name, hostile.noise(chance))
        if name == "CreateSession" and answer is not None:
            victims.close_session(wire.CreateSessionResponse.FromString(answer).session_handle)


@pytest.mark.parametrize(
    "service, names", [(channels.MASTER, hostile.MASTER), (channels.WORKER, hostile.WORKER)]
)
def test_damaged_requests_do_no_harm(
    victims: Victims, service: str, names: tuple[str, ...]
) -> None:
    whole = hostile.request(random.Random(0), "CreateSession", "").SerializeToString()
    session = victims.session(whole)
    for chance in rounds(victims, 2000, 2):
        name = chance.choice(names)
        data = hostile.request(chance, name, session or "").SerializeToString()
        if chance.random() < 0.8:
            data = hostile.damaged(chance, data)
        answer = victims.call(service, name, data)
        if name == "CreateSession" and answer is not None:
            victims.close_session(wire.CreateSessionResponse.FromString(answer).session_handle)
        if chance.random() < 0.02:
            victims.close_session(session)
            session = victims.session(whole)
    victims.close_session(session)


def test_giant_and_truncated_messages_do_no_harm(victims: Victims) -> None:
    whole = hostile.request(random.Random(0), "CreateSession", "").SerializeToString()
    session = victims.session(whole) or ""
    # The allocator keeps what it may need again, whatever the number of rounds; the messages are
    # ten times as much.
    for chance in rounds(victims, 120, 6, slack_mib=128):
        message = hostile.request(chance, "RunStep", session)
        size = chance.randrange(1 << 20, 20 << 20)
        message.feed[0].tensor.tensor_content = bytes(size)
        message.feed[0].tensor.tensor_shape.dim.add(size=chance.choice((size // 4, size, 2**62)))
        data = message.SerializeToString()
        victims.call(channels.MASTER, "RunStep", data)
        victims.call(channels.MASTER, "RunStep", data[: chance.randrange(len(data))])
    victims.close_session(session)


def test_frames_that_announce_more_than_they_hold_take_no_memory(victims: Victims) -> None:
    for chance in rounds(victims, 100, 7):
        size = chance.choice((1 << 20, 1 << 28, (1 << 31) - 4, 1 << 31, 1 << 40))
        head = frames.HEADER.pack(frames.MAGIC, api.Kind.START, 1, 1, 1, 24, size)
        row = struct.pack("<IHHQQ", 0, 1, 1, size, size // 4)
        with let_in(victims, chance, listener.TCP) as sock, contextlib.suppress(OSError):
            sock.sendall(head + row + bytes(chance.randrange(1 << 16)))


def test_invalid_graphs_do_no_harm(victims: Victims) -> None:
    for chance in rounds(victims, 1000, 3):
        message = wire.CreateSessionRequest(graph_def=graph_def.encode(hostile.graph(chance)))
        session = victims.session(message.SerializeToString())
        for _ in range(2 if session else 0):
            run = hostile.request(chance, "RunStep", session or "").SerializeToString()
            victims.call(channels.MASTER, "RunStep", run)
        victims.close_session(session)


def test_random_bytes_on_both_ports_do_no_harm(victims: Victims) -> None:
    for chance in rounds(victims, 600, 4):
        control = int(victims.address.rpartition(":")[2])
        port = chance.choice((control, int(victims.offer(chance.randrange(2)).address)))
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.sendall(chance.choice((hostile.noise, hostile.frame_bytes))(chance))


@pytest.mark.parametrize("plane", listener.PLANES)
def test_invalid_frames_of_an_accepted_peer_do_no_harm(victims: Victims, plane: str) -> None:
    for chance in rounds(victims, 500, 5):
        with let_in(victims, chance, plane) as sock, contextlib.suppress(OSError):
            for _ in range(chance.randint(1, 4)):
                sock.sendall(hostile.frame_bytes(chance))


def let_in(victims: Victims, chance: random.Random, plane: str) -> socket.socket:
    """A socket behind the door of one of the tasks."""
    which = chance.randrange(2)
    offer = victims.offer(which, plane)
    if plane == listener.TCP:
        sock = sockets.dial("127.0.0.1", int(offer.address), PATIENCE_S)
    else:
        sock = victims.tasks[which].open_tunnel()
    sock.settimeout(PATIENCE_S)
    token = api.Frame(api.Kind.HELLO, 0, 0, [np.frombuffer(offer.token, np.uint8)])
    sock.sendall(b"".join(frames.Encoder().encode(token)))
    assert sock.recv(frames.HEADER.size, socket.MSG_WAITALL)
    return sock
