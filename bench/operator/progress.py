"""The load of an operator that asks its jobs for their progress: its share of a core.

All tasks have one address, at which a server of this process shows a new step at each question. The
operator asks all jobs together a bounded number of times a second. With enough jobs to reach the
bound, the load therefore does not depend on their number.
"""

import contextlib
import itertools
import json
import pathlib
import threading
import time
from collections.abc import Iterator
from concurrent import futures

import grpc

from measure import Measured, Size, cpu_seconds, wait_quiet, wait_reconciled
from testbed.control import Cluster
from testbed.operator import Operator

SECONDS = 60.0
"""How long the load is measured."""


class Tasks:
    """The server of all tasks. It counts the questions."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.steps = itertools.count(1)

    def asked(self) -> int:
        """Return the number of the questions so far, and of the calls of this method."""
        return next(self.steps)


@contextlib.contextmanager
def tasks() -> Iterator[Tasks]:
    """Serve the progress of all tasks on a free port."""
    server = grpc.server(futures.ThreadPoolExecutor(8))
    served = Tasks(server.add_insecure_port("127.0.0.1:0"))

    def answer(_request: bytes, _context: object) -> bytes:
        report = {"step": next(served.steps), "stepsPerSecond": 8.5, "metrics": {"loss": 0.25}}
        return json.dumps(report).encode()

    method = grpc.unary_unary_rpc_method_handler(answer)
    service = grpc.method_handlers_generic_handler("capstan.Training", {"Progress": method})
    server.add_generic_rpc_handlers([service])
    server.start()
    try:
        yield served
    finally:
        server.stop(None).wait()


def progress(
    cluster: Cluster, size: Size, served: Tasks, folder: pathlib.Path
) -> Iterator[Measured]:
    """Yield the questions per second, and the share of a core that the operator uses for them.

    The jobs run, and no operator serves them yet.
    """
    log = folder / "asking.log"
    operator = Operator(cluster.kubeconfig, log, ("--progress-seconds=5",))
    try:
        operator.wait_leading()
        wait_reconciled(operator, size.jobs)
        never = threading.Event()
        wait_quiet(operator)
        began, busy, first = time.monotonic(), cpu_seconds(operator.pid), served.asked()
        never.wait(SECONDS)
        seconds = time.monotonic() - began
        share = (cpu_seconds(operator.pid) - busy) / seconds
        asked = (served.asked() - first - 1) / seconds
    finally:
        operator.kill()
    title = f"progress of {size.jobs} jobs"
    yield Measured(f"{title}: questions", "1/s", [asked], 3, more=True)
    yield Measured(f"{title}: share of a core", "", [share], 0.05)
