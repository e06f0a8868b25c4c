"""The load of an operator whose API server refuses requests: requests a second and CPU time."""

import pathlib
import threading
import time
from collections.abc import Iterator

from measure import Measured, cpu_seconds
from testbed import proxy
from testbed.control import Cluster
from testbed.faults import Fault
from testbed.operator import Operator
from testbed.proxy import Proxy
from testbed.story import JOBS, job

SECONDS = 6.0
"""The length of each storm."""
JOBS_IN_ALL = 4

STORMS = {
    "errors 500, half of all": Fault(status=500, chance=0.5),
    "conflicts for every status": Fault(
        frozenset({"patch"}), frozenset({"trainingjobs/status"}), status=409
    ),
    "connections break after, half": Fault(drop="after", chance=0.5),
    "watches end at once": Fault(frozenset({"watch"}), cut=0.0),
}


def storms(cluster: Cluster, folder: pathlib.Path) -> Iterator[Measured]:
    """Yield two rows for each storm: requests per second, and the used share of a core."""
    for name, fault in STORMS.items():
        namespace = cluster.namespace()
        with proxy.running(cluster.server, cluster.ca) as between:
            kubeconfig = between.kubeconfig(cluster.kubeconfig, folder / f"{namespace}.kubeconfig")
            log = folder / f"{namespace}.log"
            served = Operator(kubeconfig, log, (f"--namespace={namespace}",))
            try:
                served.wait_ready()
                requests, share = _storm(cluster, namespace, served, between, fault)
            finally:
                served.kill()
        yield Measured(f"{name}: requests", "1/s", [requests], 40)
        yield Measured(f"{name}: share of a core", "", [share], 0.6)


def _storm(
    cluster: Cluster, namespace: str, served: Operator, between: Proxy, fault: Fault
) -> tuple[float, float]:
    with between.fault(fault):
        between.cut_watches()
        began, busy, before = time.monotonic(), cpu_seconds(served.pid), len(between.requests)
        for number in range(JOBS_IN_ALL):
            cluster.api.post(JOBS.format(namespace), job(f"stormy-{number}"))
        threading.Event().wait(SECONDS)
        seconds = time.monotonic() - began
        requests = (len(between.requests) - before) / seconds
        return requests, (cpu_seconds(served.pid) - busy) / seconds
