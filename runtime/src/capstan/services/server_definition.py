"""What the arguments of `tf.train.Server` say: the cluster, the task, and the address to listen at.

Source: `_make_server_def` of python/training/server_lib.py.
"""

import socket
from typing import Any, NamedTuple

from capstan import errors
from capstan.core import cluster as clusters

_LOOPBACK = frozenset({"localhost", "127.0.0.1"})


class Definition(NamedTuple):
    """The task of a server, its cluster and its protocol."""

    cluster: clusters.ClusterSpec
    job_name: str
    task_index: int
    protocol: str | None


def session_config(given: Any, config: Any) -> Any:
    """Return the ConfigProto for sessions, or None: that of a ServerDef, merged with `config`."""
    is_message = hasattr(given, "default_session_config")
    if not (is_message and given.HasField("default_session_config")):
        return config
    merged = type(given.default_session_config)()
    merged.CopyFrom(given.default_session_config)
    if config is not None:
        merged.MergeFromString(config.SerializeToString())
    return merged


def definition(
    given: Any, job_name: str | None, task_index: int | None, protocol: str | None
) -> Definition:
    """Return the definition that the constructor's arguments give, as `_make_server_def` does."""
    if hasattr(given, "job_name") and hasattr(given, "task_index"):
        cluster = clusters.ClusterSpec(given.cluster)
        job_name = given.job_name if job_name is None else job_name
        task_index = given.task_index if task_index is None else task_index
        protocol = given.protocol if protocol is None else protocol
    else:
        cluster = clusters.ClusterSpec(given)
    if job_name is None:
        if len(cluster.jobs) != 1:
            advice = "" if cluster.jobs else "; set TF_CONFIG, or give the addresses of all tasks"
            raise ValueError(f"Must specify an explicit `job_name`: {described(cluster)}{advice}")
        job_name = cluster.jobs[0]
    if task_index is None:
        if len(cluster.task_indices(job_name)) != 1:
            raise ValueError(f"Must specify an explicit `task_index`: {described(cluster)}")
        task_index = cluster.task_indices(job_name)[0]
    if job_name not in cluster.jobs or task_index not in cluster.task_indices(job_name):
        raise errors.InvalidArgumentError(
            None,
            None,
            f'Task {task_index} was not defined in job "{job_name}": {described(cluster)}',
        )
    if protocol not in (None, "", "grpc"):
        raise errors.NotFoundError(
            None,
            None,
            f"No server factory registered for the given ServerDef: protocol {protocol!r}; "
            "use 'grpc'",
        )
    return Definition(cluster, job_name, task_index, protocol or None)


def described(cluster: clusters.ClusterSpec) -> str:
    """
    >>> described(clusters.ClusterSpec({"ps": ["a:1"], "worker": {1: "b:1", 4: "c:1"}}))
    'the cluster has ps 0, worker 1 to 4'
    """
    indices = {job: cluster.task_indices(job) for job in cluster.jobs}
    jobs = [
        f"{job} {found[0]}" + (f" to {found[-1]}" if len(found) > 1 else "")
        for job, found in indices.items()
        if found
    ]
    return f"the cluster has {', '.join(jobs) or 'no task'}"


def check_addresses(cluster: clusters.ClusterSpec) -> None:
    """Raise InvalidArgumentError if no connection can be made to an address of the cluster."""
    for name, address in cluster.tasks().items():
        if not clusters.is_address(address):
            raise errors.InvalidArgumentError(
                None,
                None,
                f'Could not interpret "{address}", the address of {name}, as a host-port pair: '
                "write host:port, with a port below 65536",
            )


def host_and_port(address: str) -> tuple[str, int]:
    """Return the host to bind and the port. A loopback address is served on loopback only."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise errors.InvalidArgumentError(
            None, None, f'Could not parse port for local server from "{address}": write host:port'
        )
    return ("127.0.0.1" if host in _LOOPBACK else "0.0.0.0"), int(port)


def check_free(host: str, port: int, address: str) -> None:
    """Raise UnknownError if the port is in use. The error of gRPC does not name the reason."""
    with socket.socket() as probe:
        # gRPC sets this option too. Closed connections of an earlier server then do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise errors.UnknownError(
                None,
                None,
                f"Could not start gRPC server on {address}: {error.strerror}. If another "
                "server uses this port, end that server or choose another port",
            ) from None
