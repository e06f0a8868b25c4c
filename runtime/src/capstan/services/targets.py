"""Finds the master of a session by its target, in this process or over the network.

The table of targets is TensorFlow's LocalMaster registry. A session calls the master of a server in
its own process directly, without a connection.
"""

import secrets
from dataclasses import replace
from typing import Protocol

from capstan import errors
from capstan.core import cluster as clusters
from capstan.core import config
from capstan.hardware import factories
from capstan.resources import containers
from capstan.services import (
    collectives,
    cores,
    group_leader,
    host_memory,
    identity,
    iterations,
    master,
    placement_log,
    progress,
    worker,
)
from capstan.transport import api, interfaces


class Owner(Protocol):
    """The properties of a server that this module uses."""

    @property
    def master(self) -> interfaces.MasterApi:
        """The master that runs the sessions."""

    @property
    def settings(self) -> config.SessionConfig:
        """The settings of sessions that have none of their own."""

    @property
    def progress(self) -> progress.Progress:
        """The progress that the server shows."""


_TARGETS: dict[str, Owner] = {}

LOCALHOST = "/job:localhost/replica:0/task:0"

_LATE = "Timed out waiting for notification"
"""The message of TensorFlow's in-process session (common_runtime/direct_session.cc)."""


def publish(target: str, owner: Owner) -> None:
    """Let sessions of this process reach the master of `owner` under `target`."""
    _TARGETS[target] = owner


def is_here(target: str) -> bool:
    """Return whether a server of this process has the target."""
    return target in _TARGETS


def withdraw(target: str) -> None:
    """Remove a target from the table, if it is there."""
    _TARGETS.pop(target, None)


def show_progress(report: str) -> None:
    """Have each server of this process show this report of the training."""
    for owner in list(_TARGETS.values()):
        owner.progress.show(report)


def find(
    target: str, settings: config.SessionConfig | None
) -> tuple[interfaces.MasterApi, config.SessionConfig]:
    """Return the master of `target` and the settings of the session. Contacts no other process.

    If the target is empty, make a new master in this process, with its own variables.

    Raises:
        NotFoundError: `target` is neither empty nor of the form `grpc://host:port`.
    """
    if target in _TARGETS:
        owner = _TARGETS[target]
        return owner.master, settings or owner.settings
    chosen = settings or config.SessionConfig()
    if not target:
        chosen = replace(chosen, has_cluster_def=False)
        return _direct(chosen), chosen
    if target.startswith("grpc://") and clusters.is_address(target.removeprefix("grpc://")):
        # The import of gRPC takes longer than any other import. Programs without servers skip this
        # import.
        from capstan.transport.grpc import remote_master

        return remote_master.GrpcMaster(target, identity.of_process(), identity.tls()), chosen
    raise errors.NotFoundError(
        None,
        None,
        "No session factory registered for the given session options: "
        f"{{target: \"{target}\"}}: use '' or 'grpc://host:port'",
    )


class NoLinks:
    """The links of a process that has no peers."""

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        """Raise InternalError: there is no other task."""
        raise errors.InternalError(None, None, f"an in-process session has no task {task}")

    def give_back(self, task: str, incarnation: int, link: api.Link) -> None:
        """Close `link`, which this object never gave out."""
        link.close()

    def close(self) -> None:
        """Do nothing, because there are no links."""


def _direct(settings: config.SessionConfig) -> master.Master:
    incarnation = secrets.randbits(63) | 1
    cores.sleep_when_idle()
    host_memory.keep()
    if settings.intra_op_parallelism_threads:
        cores.limit(settings.intra_op_parallelism_threads)
    else:
        cores.keep_to_quota()
    found = factories.create(LOCALHOST, settings)
    if settings.log_device_placement:
        placement_log.report_mapping(found)
    held = containers.ResourceManager("localhost", found)
    home = worker.Worker(LOCALHOST, incarnation, held)
    links = NoLinks()
    held.iterate = iterations.Iterations(home, links).start
    leader = group_leader.GroupLeader()
    held.collectives = collectives.Collectives(
        LOCALHOST, lambda: leader, leader.forget_step, _no_peer, links
    )
    pools = max(len(settings.inter_op_thread_pools), 1)
    return master.Master(home, lambda: (LOCALHOST,), _no_peer, links, _LATE, thread_pools=pools)


def _no_peer(task: str) -> interfaces.WorkerApi:
    raise errors.InternalError(None, None, f"an in-process session has no task {task}")
