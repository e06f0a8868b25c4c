"""`tf.train.Server`: a task of a cluster (TensorFlow: python/training/server_lib.py).

One server is a master service and a worker service on one port, and a listener for the data plane
on another. A program starts it and builds its graph in the same process, or calls `join`.
"""

import logging
import secrets
import socket
import threading
from dataclasses import dataclass
from typing import Any

from capstan import errors
from capstan.core import cluster as clusters
from capstan.core import config as settings_of
from capstan.core import devices
from capstan.resources import containers
from capstan.services import cores, first_process, master, masters, step_server, targets, worker
from capstan.transport import dialer, listener, pool
from capstan.transport.grpc import client, server

_LOOPBACK = frozenset({"localhost", "127.0.0.1"})


@dataclass(frozen=True, slots=True)
class ServerDef:
    """What a server was made from, under the names of TensorFlow's message."""

    cluster: clusters.ClusterSpec
    job_name: str
    task_index: int
    protocol: str | None = None


class Server:
    """A task; it listens from the constructor on, unless `start` is False, for good."""

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        """Take the place of task `task_index` of job `job_name` in a cluster.

        Both may be left out where the cluster has only one of them. `config` is the default of
        sessions. Tensors travel over sockets of their own where tasks can reach these, else over
        gRPC; `protocol="grpc"`, be it here or in a ServerDef, opens no port but the task's own.

        Raises:
            ValueError: the task is not named, or not in the cluster.
            InvalidArgumentError: its address has no port.
            UnknownError: the port is taken.
        """
        self._def = _definition(server_or_cluster_def, job_name, task_index, protocol)
        self.settings = settings_of.SessionConfig.from_proto(config)
        self._started = False
        self._planes = (listener.GRPC,) if self._def.protocol else listener.PLANES
        self._task = devices.task_name(self._def.job_name, self._def.task_index)
        self._build(self._def.cluster.task_address(self._def.job_name, self._def.task_index))
        if start:
            self.start()

    @classmethod
    def create_local_server(cls, config: Any = None, start: bool = True) -> "Server":
        """A cluster of one task, `local`, in this process, on a port that the system chooses."""
        return cls({"local": ["localhost:0"]}, config=config, start=start)

    @property
    def server_def(self) -> ServerDef:
        """What this server was made from."""
        return self._def

    @property
    def target(self) -> str:
        """What a session connects to: `grpc://localhost:<port>`."""
        return f"grpc://localhost:{self._control.port}"

    def start(self) -> None:
        """Answer from now on. Idempotent."""
        if self._started:
            return
        self._started = True
        self._control.start()
        self._masters.watch()
        targets.publish(self.target, self)
        logging.getLogger("capstan").info("Started server with target: %s", self.target)

    def join(self) -> None:
        """Block for ever: a parameter server's life.

        As process 1 of a container, which gets no default action for SIGTERM, this makes it end the
        process with status 143, unless the program handles the signal.
        """
        first_process.obey_sigterm()
        threading.Event().wait()

    def stop(self) -> None:
        """Close the sessions of this master, fail the steps of others, give the ports back.

        For whoever owns the process. Variables die with the server, which cannot be started again.
        """
        targets.withdraw(self.target)
        self._masters.close()
        self.master.close()
        self._control.stop()
        self._listener.close()
        self._steps.close()
        self._links.close()
        self._peers.close()

    def _build(self, address: str) -> None:
        host, port = _parse(address)
        _check_free(host, port, address)
        incarnation = secrets.randbits(62) | 1
        held = containers.ResourceManager(self._def.job_name)
        offered = targets.cpu_devices(self._task, incarnation, self.settings)
        home = worker.Worker(self._task, offered, incarnation, held)
        addresses = self._def.cluster.tasks()
        usable = cores.usable()
        cores.limit(cores.threads_for(self.settings, self._task, addresses, usable))
        self._peers = peers = client.Peers(addresses)
        self._links = links = pool.Pool(
            dialer.LinkDialer(self._task, addresses, peers.worker, planes=self._planes)
        )
        self._steps = step_server.StepServer(home, links, peers.worker)
        self._masters = masters.Masters(home, peers.worker)
        reachable = host if listener.TCP in self._planes else None
        self._listener = listener.Listener(reachable, incarnation, self._steps.serve)
        self.master = master.Master(home, list(addresses), peers.worker, links)
        try:
            self._control = server.ControlServer(host, port, self.master, home, self._listener)
        except errors.UnknownError:
            self._listener.close()
            raise


def _definition(
    given: Any, job_name: str | None, task_index: int | None, protocol: str | None
) -> ServerDef:
    """Read the arguments of the constructor, as server_lib's `_make_server_def`."""
    if hasattr(given, "job_name") and hasattr(given, "task_index"):
        cluster = clusters.ClusterSpec(given.cluster)
        job_name = given.job_name if job_name is None else job_name
        task_index = given.task_index if task_index is None else task_index
        protocol = given.protocol if protocol is None else protocol
    else:
        cluster = clusters.ClusterSpec(given)
    if job_name is None:
        if len(cluster.jobs) != 1:
            raise ValueError("Must specify an explicit `job_name`.")
        job_name = cluster.jobs[0]
    if task_index is None:
        if len(cluster.task_indices(job_name)) != 1:
            raise ValueError("Must specify an explicit `task_index`.")
        task_index = cluster.task_indices(job_name)[0]
    if job_name not in cluster.jobs or task_index not in cluster.task_indices(job_name):
        raise errors.InvalidArgumentError(
            None, None, f'Task {task_index} was not defined in job "{job_name}"'
        )
    if protocol not in (None, "", "grpc"):
        raise errors.NotFoundError(
            None,
            None,
            f"No server factory registered for the given ServerDef: protocol {protocol!r}; "
            "use 'grpc'",
        )
    return ServerDef(cluster, job_name, task_index, protocol or None)


def _parse(address: str) -> tuple[str, int]:
    """Split a task's own address; a loopback address is served on loopback only."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise errors.InvalidArgumentError(
            None, None, f'Could not parse port for local server from "{address}": write host:port'
        )
    return ("127.0.0.1" if host in _LOOPBACK else "0.0.0.0"), int(port)


def _check_free(host: str, port: int, address: str) -> None:
    """Raise UnknownError when the port is taken: gRPC would log a line besides, and say less."""
    with socket.socket() as probe:
        # As gRPC does: what an earlier server's connections have left behind is in nobody's way.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise errors.UnknownError(
                None,
                None,
                f"Could not start gRPC server on {address}: {error.strerror}. Is another server, "
                "or an earlier one that is still alive, on this port?",
            ) from None
