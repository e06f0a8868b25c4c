"""A running task of Capstan and its client follow the operator, which replaces their authority.

The operator is its controller, with its real clock: the authority of the job was made 244 days ago,
and the certificates are made older between two steps. This file is the kubelet, which shows Secrets
as files.
"""

import asyncio
import base64
import contextlib
import json
import pathlib
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from capstan_operator.api import names, parse
from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app import service
from capstan_operator.app.authorities import Authorities
from capstan_operator.app.authority import Pair
from capstan_operator.kube import paths
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import certificates as manifests
from capstan_operator.reconcile.policies import authority
from capstan_operator.reconcile.policies.authority import Stage
from conftest import users_environment
from testbed import wait
from testbed.control import Cluster
from testbed.lives import ServedJob, watch
from testbed.process import free_ports
from testbed.story import NAME, job, replica

Json = dict[str, Any]

pytestmark = pytest.mark.e2e

PS, WORKER = TaskName.parse("ps-0"), TaskName.parse("worker-0")

CLIENT = """
import sys
import capstan as tf
one = tf.constant(1)
first = tf.Session(sys.argv[1])
for _ in sys.stdin:
    first.run(one)
    with tf.Session(sys.argv[1]) as session:
        print(session.run(one), flush=True)
"""
"""For each line, it runs a step in its first session and in a new one."""


class Secrets:
    """The Secrets of an encrypted job, whose operator works only while `serve` runs."""

    def __init__(self, rest: Rest, job: TrainingJob) -> None:
        self._rest = rest
        self._job = job
        self._space = job.metadata.namespace

    async def write(self, authorities: Authorities, age: timedelta) -> None:
        """Write all Secrets. The certificates of the tasks were made this long ago."""
        await self._put(manifests.authority_name(self._job), authorities.pair, authorities)
        for task in (PS, WORKER):
            hosts = manifests.hosts(self._job, task)
            pair = authorities.signer.issue(hosts, service.now() - age)
            await self._put(manifests.task_secret_name(self._job, task), pair, authorities)

    async def serve(self) -> Authorities:
        """Run a new operator until it has nothing left to do. Return the authorities."""
        key = Key(self._space, self._job.metadata.name)
        served = ServedJob(
            self._rest, key, [], lambda found: found.status.get("phase") == "Running"
        )
        watching = asyncio.create_task(watch(self._rest, self._space, {served}))
        await served.serve(self._rest)
        watching.cancel()
        files = await self._files(manifests.authority_name(self._job))
        return Authorities.load(Pair(files["tls.crt"], files["tls.key"]))

    async def show(self, task: TaskName, folder: pathlib.Path) -> None:
        """Show the Secret of a task in a folder."""
        files = await self._files(manifests.task_secret_name(self._job, task))
        await asyncio.to_thread(show, files, folder)

    async def _files(self, name: str) -> dict[str, bytes]:
        secret = await self._rest.get(paths.secret(self._space, name))
        return {file: base64.b64decode(content) for file, content in secret["data"].items()}

    async def _put(self, name: str, pair: Pair, authorities: Authorities) -> None:
        files = {"ca.crt": authorities.trusted, "tls.crt": pair.chain, "tls.key": pair.key}
        data = {file: base64.b64encode(content).decode() for file, content in files.items()}
        manifest = manifests.secret(self._job, name, data)
        path = paths.secret(self._space, name)
        await self._rest.apply(path, manifest, manager=names.FIELD_MANAGER)


def show(files: Mapping[str, bytes], folder: pathlib.Path) -> None:
    """Write files as a kubelet does: a link to a new folder replaces the link to the old folder."""
    version = folder / f"..{len(list(folder.iterdir()))}"
    version.mkdir()
    for name, content in files.items():
        (version / name).write_bytes(content)
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    (folder / "..new").symlink_to(version.name)
    (folder / "..new").rename(folder / "..data")


def is_served(port: int, folder: pathlib.Path) -> bool:
    """Return whether the task at the port and a client with these files accept each other."""
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    context.set_alpn_protocols(["h2"])
    try:
        with (
            socket.create_connection(("localhost", port), timeout=60) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as encrypted,
        ):
            # In TLS 1.3, a client learns of a refusal when it reads.
            return bool(encrypted.recv(1))
    except (ssl.SSLError, ConnectionError):
        return False


@contextlib.contextmanager
def program(*words: str, tls: pathlib.Path) -> "Iterator[subprocess.Popen[str]]":
    """Run Python with the files of a task."""
    process = subprocess.Popen(
        [sys.executable, *words],
        env={**users_environment(), "CAPSTAN_TLS_DIR": str(tls)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def steps(client: "subprocess.Popen[str]") -> bool:
    """Let the client run a step in its first session and in a new one."""
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write("\n")
    client.stdin.flush()
    return client.stdout.readline() == "1\n"


@contextlib.asynccontextmanager
async def encrypted_job(cluster: Cluster, namespace: str) -> AsyncIterator[Secrets]:
    manifest = job(ps=replica(), worker=replica())
    manifest["spec"]["cluster"] = {"tls": {"mode": "Mutual"}}
    async with await Rest.connect(str(cluster.kubeconfig)) as rest:
        created = await rest.create(paths.jobs(namespace), manifest)
        yield Secrets(rest, parse.admitted(created))
        await rest.delete(paths.job(namespace, NAME), uid=created["metadata"]["uid"])


@pytest.mark.usefixtures("kubelet")
def test_running_tasks_follow_each_step_of_the_replacement_of_their_authority(
    cluster: Cluster, namespace: str, tmp_path: pathlib.Path
) -> None:
    ps, worker, first = (tmp_path / name for name in ("ps", "worker", "first"))
    for folder in (ps, worker, first):
        folder.mkdir()
    port = free_ports(1)[0]
    spec = json.dumps({"ps": [f"localhost:{port}"]})

    async def scenario() -> None:
        async with encrypted_job(cluster, namespace) as secrets:
            old = Authorities.make(service.now() - timedelta(days=244))
            await secrets.write(old, timedelta(0))
            for task, folder in ((PS, ps), (WORKER, worker), (WORKER, first)):
                await secrets.show(task, folder)
            flags = ("-m", "capstan", "serve", "--cluster", spec, "--job", "ps", "--task", "0")
            with (
                program(*flags, tls=ps),
                program("-c", CLIENT, f"grpc://localhost:{port}", tls=worker) as client,
            ):
                wait.until(lambda: is_served(port, first))
                assert steps(client)
                for stage in (Stage.INTRODUCED, Stage.PROMOTED, Stage.ALONE):
                    authorities = await secrets.serve()
                    assert authorities.stage is stage
                    for task, folder in ((PS, ps), (WORKER, worker)):
                        await secrets.show(task, folder)
                        assert is_served(port, worker)
                        assert steps(client), "after the files of the other task, too"
                    await secrets.write(authorities, authority.SETTLE)
                assert not is_served(port, first), "its authority is forgotten"

    asyncio.run(scenario())
