"""`tf.train.Server`: a task of a cluster (TensorFlow: python/training/server_lib.py).

A server is a master service and a worker service on one port, and a listener for the data plane on
another port. A program starts a server, and then builds its graph in the same process or calls
`join`.
"""

import logging
import secrets
import threading
from typing import Any

from capstan import errors
from capstan.core import config as settings_of
from capstan.core import devices, server_messages
from capstan.hardware import factories
from capstan.resources import containers
from capstan.services import (
    collectives,
    cores,
    first_process,
    group_leader,
    identity,
    iterations,
    master,
    masters,
    members,
    progress,
    server_definition,
    step_server,
    targets,
    worker,
)
from capstan.transport import dialer, limits, listener, pool
from capstan.transport.grpc import remote_worker, server


class Server:
    """A task of a cluster. The constructor starts the server, unless `start` is False."""

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        """Become task `task_index` of job `job_name` in a cluster, or the task of a ServerDef.

        The job name may be omitted if the cluster has one job, and the index if the job has one
        task. `config` is the default for sessions. Tensors travel over separate sockets if tasks
        can reach them, else over gRPC. With `protocol="grpc"`, here or in a ServerDef, the server
        opens no port except that of its address. If the launcher of the job set CAPSTAN_TLS_DIR,
        this holds too, and all connections are encrypted and checked on both sides.

        Raises:
            ValueError: the job or the task is not named, or not in the cluster. Or CAPSTAN_ATTEMPT,
                which the launcher of a job sets, or CAPSTAN_MAX_REQUEST_BYTES is not a number. Or
                the folder CAPSTAN_TLS_DIR has no valid certificates.
            InvalidArgumentError: the task is not in the cluster, or an address of the cluster is
                not `host:port`.
            NotFoundError: the protocol is unknown.
            UnknownError: the port is in use.
        """
        self._def = server_definition.definition(
            server_or_cluster_def, job_name, task_index, protocol
        )
        self._config = server_definition.session_config(server_or_cluster_def, config)
        self.settings = settings_of.SessionConfig.from_proto(self._config)
        self._started = False
        self.progress = progress.Progress()
        self._tls = identity.tls()
        # The stream plane has the encryption of the control plane. The socket plane has none.
        streams_only = self._def.protocol or self._tls is not None
        self._planes = (listener.GRPC,) if streams_only else listener.PLANES
        self._task = devices.task_name(self._def.job_name, self._def.task_index)
        self._build(self._def.cluster.task_address(self._def.job_name, self._def.task_index))
        if start:
            self.start()

    @classmethod
    def create_local_server(cls, config: Any = None, start: bool = True) -> "Server":
        """Start a cluster of one task, in job `local`, on a port that the system chooses."""
        return cls({"local": ["localhost:0"]}, config=config, start=start)

    @property
    def server_def(self) -> Any:
        """A new `tf.train.ServerDef`: the cluster, the task and the default for sessions.

        Its protocol is empty if the program named none.
        """
        made = server_messages.ServerDef(
            cluster=self._def.cluster.as_cluster_def(),
            job_name=self._def.job_name,
            task_index=self._def.task_index,
            protocol=self._def.protocol,
        )
        if self._config is not None:
            made.default_session_config.MergeFromString(self._config.SerializeToString())
        return made

    @property
    def target(self) -> str:
        """The target for sessions: `grpc://localhost:<port>`."""
        return f"grpc://localhost:{self._control.port}"

    def start(self) -> None:
        """Start to answer calls. Idempotent."""
        if self._started:
            return
        self._started = True
        self._control.start()
        self._masters.watch()
        targets.publish(self.target, self)
        logging.getLogger("capstan").info("Started server with target: %s", self.target)

    def join(self) -> None:
        """Block for ever, as a parameter server does.

        The kernel applies no default action of SIGTERM to process 1 of a container. In such a
        process this method makes SIGTERM end the process with status 143, unless the program has a
        handler.
        """
        first_process.obey_sigterm()
        threading.Event().wait()

    def stop(self) -> None:
        """Close this master's sessions, fail the steps of other masters, and release the ports.

        The server's variables are lost, and it cannot be started again.
        """
        targets.withdraw(self.target)
        self._masters.close()
        self.master.close()
        self._collectives.close()
        self._control.stop()
        self._listener.close()
        self._steps.close()
        self._links.close()
        self._peers.close()

    def _build(self, address: str) -> None:
        host, port = server_definition.host_and_port(address)
        server_definition.check_addresses(self._def.cluster)
        server_definition.check_free(host, port, address)
        incarnation = secrets.randbits(62) | 1
        devices_here = factories.create(self._task, self.settings)
        held = containers.ResourceManager(self._def.job_name, devices_here)
        home = worker.Worker(self._task, incarnation, held)
        addresses = members.of_process(self._def.cluster, self._task)
        usable = cores.usable()
        cores.sleep_when_idle()
        cores.limit(cores.threads_for(self.settings, self._task, addresses, usable))
        self._peers = peers = remote_worker.Peers(
            addresses, identity.of_task(self._task), self._tls, self._task
        )
        self._links = links = pool.Pool(
            dialer.LinkDialer(self._task, addresses, peers.worker, planes=self._planes)
        )
        held.iterate = iterations.Iterations(home, links).start
        leader = group_leader.GroupLeader()
        self._collectives = held.collectives = self._runner(leader)
        self._steps = step_server.StepServer(
            home, links, peers.worker, collectives=self._collectives.serve
        )
        self._masters = masters.Masters(home, peers.worker)
        reachable = host if listener.TCP in self._planes else None
        self._listener = listener.Listener(reachable, incarnation, self._steps.serve)
        self.master = master.Master(home, addresses.present, peers.worker, links)
        try:
            self._control = server.ControlServer(
                host,
                port,
                self.master,
                home,
                self._listener,
                self.progress.read,
                limits.request_bytes(),
                self._tls,
                addresses,
                leader,
            )
        except errors.UnknownError:
            self._listener.close()
            raise

    def _runner(self, here: group_leader.GroupLeader) -> collectives.Collectives:
        """Return the runner of the collective operations of this task.

        `here` is the leader of their groups if this task leads.
        """
        chosen, peers = self._leader(), self._peers
        return collectives.Collectives(
            self._task,
            lambda: here if chosen == self._task else peers.worker(chosen).leader,
            here.forget_step,
            peers.worker,
            self._links,
        )

    def _leader(self) -> str:
        """Return the task that knows the groups of collective operations. By default, this one.

        Raises:
            InvalidArgumentError: the cluster has no such task.
        """
        named = self.settings.collective_group_leader
        if not named:
            return self._task
        leader = devices.task_of(named)
        if leader not in self._def.cluster.tasks():
            raise errors.InvalidArgumentError(
                None,
                None,
                f"experimental.collective_group_leader is {named!r}, which is not a task of the "
                f"cluster: {server_definition.described(self._def.cluster)}",
            )
        return leader
