"""The command line of the operator, as values."""

import argparse
import os
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from capstan_operator.api import names
from capstan_operator.errors import Fault, Invalid

DEFAULT_NAMESPACE = "default"
LONGEST_SECONDS = 366 * 86400
"""The longest time that a flag accepts: about a year. It can be added to any current date."""
MOST_JOB_METRICS = 10_000
IN_POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one operator process. Empty `namespaces` mean the whole cluster."""

    kubeconfig: str | None
    context: str | None
    namespaces: tuple[str, ...]
    lease_namespace: str
    lease_name: str
    lease_seconds: float
    listen_host: str
    """The host of the probes and metrics. Empty for all addresses."""
    listen_port: int
    node_lost_seconds: float
    resync_seconds: float
    progress_seconds: float
    """The shortest time between two questions to a job for its progress; 0 asks no job."""
    job_metrics: int
    """The most unfinished jobs with metrics of their own."""
    verbose: bool
    identity: str


def read(arguments: Sequence[str]) -> Settings:
    """Read the arguments of `python -m capstan_operator`.

    Raises errors.Invalid for impossible values. Exits as argparse does for unknown flags.
    """
    options = _parser().parse_args(arguments)
    host, colon, port = options.listen.rpartition(":")
    if not (colon and port.isdecimal() and int(port) <= 65535):
        message = f"must be HOST:PORT or :PORT, such as :8080, not {options.listen!r}"
        raise Invalid((Fault("--listen", message),))
    _check_names(options)
    for flag in ("lease_duration", "node_lost_seconds", "resync_seconds"):
        seconds = getattr(options, flag)
        if not 0 < seconds <= LONGEST_SECONDS:  # This form also refuses nan.
            message = f"must be more than 0 and at most {LONGEST_SECONDS} seconds, not {seconds:g}"
            raise Invalid((Fault(f"--{flag.replace('_', '-')}", message),))
    if not 0 <= options.progress_seconds <= LONGEST_SECONDS:
        message = (
            f"must be from 0 to {LONGEST_SECONDS} seconds, not {options.progress_seconds:g};"
            " 0 asks no job"
        )
        raise Invalid((Fault("--progress-seconds", message),))
    if not 0 <= options.job_metrics <= MOST_JOB_METRICS:
        message = f"must be from 0 to {MOST_JOB_METRICS} jobs, not {options.job_metrics}"
        raise Invalid((Fault("--job-metrics", message),))
    return Settings(
        kubeconfig=options.kubeconfig,
        context=options.context,
        namespaces=tuple(dict.fromkeys(options.namespace)),
        lease_namespace=options.lease_namespace or _own_namespace(options.namespace),
        lease_name=options.lease_name,
        lease_seconds=options.lease_duration,
        listen_host=host.strip("[]"),
        listen_port=int(port),
        node_lost_seconds=options.node_lost_seconds,
        resync_seconds=options.resync_seconds,
        progress_seconds=options.progress_seconds,
        job_metrics=options.job_metrics,
        verbose=options.verbose,
        # The identity must differ between two processes on one machine, and between restarts of
        # one pod.
        identity=f"{socket.gethostname()}_{os.getpid()}_{os.urandom(4).hex()}",
    )


def _check_names(options: argparse.Namespace) -> None:
    """Raise errors.Invalid for names that no object can have.

    An API server only says that there is no such object, and the operator would try again for ever.
    """
    for name in options.namespace:
        if re.fullmatch(names.NAMESPACE, name) is None:
            message = (
                f"must be the name of a namespace, not {name!r}; to serve several, repeat the flag"
            )
            raise Invalid((Fault("--namespace", message),))
    place = options.lease_namespace
    if place and re.fullmatch(names.NAMESPACE, place) is None:
        message = f"must be the name of a namespace, not {place!r}"
        raise Invalid((Fault("--lease-namespace", message),))
    lease = options.lease_name
    if len(lease) > names.MAX_SUBDOMAIN or re.fullmatch(names.DNS_SUBDOMAIN, lease) is None:
        message = (
            "must be a name of lowercase letters, digits, dashes and dots, of at most "
            f"{names.MAX_SUBDOMAIN} characters, with a letter or a digit at both ends and on both "
            f"sides of each dot, not {lease!r}"
        )
        raise Invalid((Fault("--lease-name", message),))


def _own_namespace(served: Sequence[str]) -> str:
    """Return the default namespace of the Lease: the pod's own, else the first one served."""
    if IN_POD_NAMESPACE.is_file():
        return IN_POD_NAMESPACE.read_text(encoding="utf-8").strip()
    return served[0] if served else DEFAULT_NAMESPACE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m capstan_operator",
        description="Turn TrainingJobs into pods, and restart tasks that fail.",
    )
    add = parser.add_argument
    add("--kubeconfig", metavar="FILE", help="default: $KUBECONFIG, ~/.kube/config, or in a pod"
        " its service account")  # fmt: skip
    add(
        "--context",
        metavar="NAME",
        help="the context of the kubeconfig; default: its current context",
    )
    add("--namespace", metavar="NAME", action="append", default=[],
        help="serve only this namespace; repeat the flag for several")  # fmt: skip
    add("--lease-namespace", metavar="NAME",
        help="the namespace of the Lease; default: the pod's own namespace, else the first"
        " --namespace")  # fmt: skip
    add("--lease-name", metavar="NAME", default="capstan-operator")
    add("--lease-duration", metavar="SECONDS", type=float, default=15.0,
        help="the time without a renewal after which another process may lead"
        " (default: %(default)g)")  # fmt: skip
    add("--listen", metavar="HOST:PORT", default=":8080",
        help="the address of /healthz, /readyz and /metrics; without a host all addresses, of IPv4"
        " and of IPv6 (default: %(default)s)")  # fmt: skip
    add("--node-lost-seconds", metavar="SECONDS", type=float, default=300.0,
        help="a node that is not ready for this time is lost, with its pods"
        " (default: %(default)g)")  # fmt: skip
    add("--resync-seconds", metavar="SECONDS", type=float, default=300.0,
        help="the time between two comparisons of the cache with the cluster"
        " (default: %(default)g)")  # fmt: skip
    add("--progress-seconds", metavar="SECONDS", type=float, default=5.0,
        help="the shortest time between two questions to a job for its progress; 0 asks no job"
        " (default: %(default)g)")  # fmt: skip
    add("--job-metrics", metavar="JOBS", type=int, default=100,
        help="the most unfinished jobs with metrics of their own"
        " (default: %(default)d)")  # fmt: skip
    add("--verbose", action="store_true", help="log every pass")
    return parser
