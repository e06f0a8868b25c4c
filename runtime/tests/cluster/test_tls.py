"""With certificates, tasks serve only the tasks of their job, and all connections are encrypted."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import authority
import background
import clusters
import grpc
import psutil
import pytest

import capstan as tf
from capstan.transport import certificates, interfaces
from capstan.transport.grpc import channels, remote_worker, security, wire

SOURCES = pathlib.Path(__file__).parents[2] / "src"
START_S = 200.0
"""The longest time in which a process starts, on a busy machine."""
HOW_TO = pathlib.Path(__file__).parents[3] / "docs/how-to/encrypt-connections.md"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


class Job:
    """A ps and a worker in processes of their own, with certificates of one authority."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.authority = authority.Authority()
        self.folders = {job: self.authority.write(folder / job) for job in ("ps", "worker")}
        self.spec = clusters.spec(ps=1, worker=1)
        self.processes = {job: self._start(job) for job in self.spec}

    def _start(self, job: str) -> "subprocess.Popen[bytes]":
        flags = ("--cluster", json.dumps(self.spec), "--job", job, "--task", "0")
        return subprocess.Popen(
            [sys.executable, "-m", "capstan", "serve", *flags],
            env={
                **os.environ,
                "PYTHONPATH": str(SOURCES),
                "OPENBLAS_NUM_THREADS": "1",
                "CAPSTAN_TLS_DIR": str(self.folders[job]),
            },
        )

    def connected(
        self, folder: pathlib.Path | None
    ) -> "contextlib.closing[remote_worker.GrpcWorker]":
        """Return a client of the ps that has the certificates of a folder, or none."""
        held = None if folder is None else certificates.Folder(str(folder))
        return contextlib.closing(remote_worker.GrpcWorker(self.spec["ps"][0], tls=held))

    def end(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(60)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    made = Job(tmp_path_factory.mktemp("tls"))
    try:
        with made.connected(made.folders["worker"]) as ps:
            background.until(lambda: answers(ps), START_S)
        yield made
    finally:
        made.end()


def answers(worker: remote_worker.GrpcWorker) -> bool:
    """Return whether a task answers. A late task is asked again, and a failed connection is not."""
    while True:
        try:
            return isinstance(worker.get_status(), interfaces.WorkerStatus)
        except tf.errors.DeadlineExceededError:
            continue
        except tf.errors.UnavailableError:
            return False


def test_a_step_crosses_tasks_over_encrypted_connections_only(
    job: Job, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAPSTAN_TLS_DIR", str(job.authority.write(tmp_path / "client")))
    with tf.device("/job:ps/task:0"):
        x = tf.placeholder(tf.float32, [None])
        doubled: Any = x * 2.0
    with tf.device("/job:worker/task:0"):
        total: Any = tf.reduce_sum(doubled)
    with tf.Session(f"grpc://{job.spec['worker'][0]}") as session:
        assert session.run(total, {x: [1.0, 2.0]}) == 6.0
    for name, process in job.processes.items():
        ports = {
            connection.laddr.port
            for connection in psutil.Process(process.pid).net_connections()
            if connection.status == psutil.CONN_LISTEN
        }
        assert ports == {int(job.spec[name][0].rpartition(":")[2])}, "no port without encryption"


def test_clients_without_a_certificate_of_the_job_are_refused(
    job: Job, tmp_path: pathlib.Path
) -> None:
    stranger = authority.Authority().write(tmp_path / "stranger")
    trusting = authority.Authority().write(tmp_path / "trusting")
    (trusting / "ca.crt").write_bytes((job.folders["ps"] / "ca.crt").read_bytes())
    for folder in (None, stranger, trusting):
        with job.connected(folder) as refused:
            assert not answers(refused)
    with job.connected(job.folders["worker"]) as admitted:
        assert answers(admitted)


def test_a_client_without_any_certificate_gets_no_answer_over_tls(job: Job) -> None:
    host, _, port = job.spec["ps"][0].rpartition(":")
    context = ssl.create_default_context(cafile=str(job.folders["ps"] / "ca.crt"))
    context.set_alpn_protocols(["h2"])

    def settings() -> bytes:
        """Return the first bytes that the server sends, or none if it closes the connection."""
        with (
            socket.create_connection((host, int(port)), timeout=60) as plain,
            context.wrap_socket(plain, server_hostname=host) as sock,
        ):
            # In TLS 1.3 the client learns of the refusal when it reads.
            return sock.recv(1 << 16)

    with contextlib.suppress(ssl.SSLError, ConnectionError):
        assert not settings()


def test_a_server_whose_certificate_names_another_host_is_not_trusted(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = authority.Authority()
    monkeypatch.setenv("CAPSTAN_TLS_DIR", str(issuer.write(tmp_path / "impostor", "ps-1.example")))
    server = tf.train.Server({"ps": clusters.addresses(1)})
    folder = certificates.Folder(str(issuer.write(tmp_path / "client")))
    address = server.target.replace("grpc://localhost", "127.0.0.1")
    try:
        with contextlib.closing(remote_worker.GrpcWorker(address, tls=folder)) as ps:
            assert not answers(ps)
    finally:
        server.stop()


def test_new_connections_use_new_certificates_and_open_ones_stay(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = authority.Authority(), authority.Authority()
    spec = {"ps": clusters.addresses(1)}
    monkeypatch.setenv("CAPSTAN_TLS_DIR", str(old.write(tmp_path / "task")))
    server = tf.train.Server(spec)
    rotated = certificates.Folder(str(old.write(tmp_path / "rotated")))
    kept = certificates.Folder(str(old.write(tmp_path / "kept")))
    with (
        contextlib.closing(remote_worker.GrpcWorker(spec["ps"][0], tls=rotated)) as following,
        contextlib.closing(remote_worker.GrpcWorker(spec["ps"][0], tls=kept)) as staying,
        contextlib.closing(remote_worker.GrpcWorker(spec["ps"][0], tls=kept)) as late,
    ):
        try:
            assert answers(staying)
            new.write(tmp_path / "task")
            assert answers(staying), "its connection is open"
            assert not answers(late), "the server has the new certificate"
            new.write(tmp_path / "rotated")
            assert answers(following), "its channel was made with the old ones"
        finally:
            server.stop()


def test_an_authority_is_replaced_while_the_server_runs(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each new connection is between files of the same step or of two neighbouring steps."""
    old, new = authority.Authority(), authority.Authority()
    server_files = old.write(tmp_path / "server")
    spec = {"ps": clusters.addresses(1)}
    monkeypatch.setenv("CAPSTAN_TLS_DIR", str(server_files))
    server = tf.train.Server(spec)

    def is_answered(client_files: pathlib.Path) -> bool:
        folder = certificates.Folder(str(client_files))
        with contextlib.closing(remote_worker.GrpcWorker(spec["ps"][0], tls=folder)) as ps:
            return answers(ps)

    def files(name: str, signer: authority.Authority, *trusted: authority.Authority) -> None:
        """Write the files of a step for the server, and for a client of this name."""
        for folder in (server_files, tmp_path / name):
            signer.write(folder)
            (folder / "ca.crt").write_bytes(b"".join(each.certificate for each in trusted))

    try:
        files("first", old, old)
        assert is_answered(tmp_path / "first")
        # Only the file with the authorities changes.
        (server_files / "ca.crt").write_bytes(old.certificate + new.certificate)
        of_new = new.write(tmp_path / "of new")
        (of_new / "ca.crt").write_bytes(old.certificate)
        assert is_answered(of_new)
        steps = {"both": (old, old, new), "promoted": (new, new, old), "last": (new, new)}
        before = "first"
        for name, (signer, *trusted) in steps.items():
            files(name, signer, *trusted)
            assert is_answered(tmp_path / before)
            assert is_answered(tmp_path / name)
            before = name
        assert not is_answered(tmp_path / "first")
    finally:
        server.stop()


def test_certificates_that_are_missing_or_do_not_fit_together_are_reported(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAPSTAN_TLS_DIR", str(tmp_path / "none"))
    with pytest.raises(ValueError, match=r"none must have ca\.crt, tls\.crt and tls\.key"):
        tf.train.Server({"ps": clusters.addresses(1)})
    folder = authority.Authority().write(tmp_path / "mixed")
    other = authority.Authority().write(tmp_path / "other")
    (folder / "tls.key").write_bytes((other / "tls.key").read_bytes())
    with pytest.raises(ValueError, match="which fit together"):
        certificates.Folder(str(folder))


def test_a_key_is_not_shown(tmp_path: pathlib.Path) -> None:
    held = certificates.Folder(str(authority.Authority().write(tmp_path / "task"))).current()
    assert b"PRIVATE KEY" in held.key
    assert "PRIVATE KEY" not in repr(held)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_the_commands_of_the_how_to_make_certificates_for_all_tasks_of_a_job(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = HOW_TO.read_text(encoding="utf-8").partition("```sh\n")[2].partition("```")[0]
    subprocess.run(["sh", "-ec", commands], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setenv("CAPSTAN_TLS_DIR", str(tmp_path))
    server = tf.train.Server({"ps": clusters.addresses(1)})
    held = certificates.Folder(str(tmp_path)).current()
    names = {
        "localhost": True,
        "worker-1.digits.default.svc.cluster.local": True,
        "worker-1.other.default.svc.cluster.local": False,
    }
    try:
        for name, fits in names.items():
            options = [("grpc.ssl_target_name_override", name)]
            address = server.target.removeprefix("grpc://")
            with security.open_channel(address, options, held) as channel:
                check = channels.method(channel, channels.WORKER, "GetStatus")
                if fits:
                    assert check(wire.GetStatusRequest()).incarnation
                    continue
                with pytest.raises(grpc.RpcError, match="UNAVAILABLE"):
                    check(wire.GetStatusRequest())
    finally:
        server.stop()
