"""The load of an operator that asks its jobs for their progress: its share of a core.

All chiefs have one address, at which a server of this process shows a new step at each question.
The operator asks all jobs together a bounded number of times a second. With enough jobs to reach
the bound, the load therefore does not depend on their number.
"""

import itertools
import json
import pathlib
import threading
import time
from collections.abc import Iterator
from concurrent import futures

import grpc
import psutil

from measure import JOBS, Measured, Size, job, until_running
from testbed.control import Cluster
from testbed.operator import Operator

SECONDS = 60.0


def progress(cluster: Cluster, size: Size, folder: pathlib.Path) -> Iterator[Measured]:
    """Yield the questions per second, and the share of a core that the operator uses for them."""
    steps = itertools.count(1)

    def answer(_request: bytes, _context: object) -> bytes:
        report = {"step": next(steps), "stepsPerSecond": 8.5, "metrics": {"loss": 0.25}}
        return json.dumps(report).encode()

    server = grpc.server(futures.ThreadPoolExecutor(8))
    method = grpc.unary_unary_rpc_method_handler(answer)
    service = grpc.method_handlers_generic_handler("capstan.Training", {"Progress": method})
    server.add_generic_rpc_handlers([service])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    served = Operator(cluster.kubeconfig, folder / "operator.log", ("--progress-seconds=5",))
    try:
        served.wait_ready()
        names = [f"asked-{number}" for number in range(size.jobs)]
        for name in names:
            manifest = job(name, size)
            manifest["spec"]["cluster"] = {"port": port}
            cluster.api.post(JOBS, manifest)
        until_running(cluster.api, *names)
        began, busy, first = time.monotonic(), _cpu_seconds(served.pid), next(steps)
        threading.Event().wait(SECONDS)
        seconds = time.monotonic() - began
        share = (_cpu_seconds(served.pid) - busy) / seconds
        asked = (next(steps) - first - 1) / seconds
    finally:
        served.kill()
        server.stop(None).wait()
    title = f"progress of {size.jobs} jobs"
    yield Measured(f"{title}: questions", "1/s", [asked], 3.3)
    yield Measured(f"{title}: share of a core", "", [share], 0.05)


def _cpu_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
