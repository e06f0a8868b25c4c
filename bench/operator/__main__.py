"""`python bench/operator` measures the operator on a real API server with fake nodes.

    JOBS=200         the number of jobs at once
    WORKERS=8 PS=2   the number of tasks of each job
    FINISHED=10000   the number of finished jobs
    PARTS=running    measure only these parts: running, finished, storms

It prints one line of JSON for each row, with the goal and the bound. On a terminal it also prints a
table. The bound (bound.py) makes the same requests without the operator's decisions, so it shows
the limit of the machine. etcd, the API server, the scheduler and the fake nodes share the machine
with the measured program. The controller manager is stopped while speed is measured: the operator
does not need it then, and in a cluster it runs on another machine. Further rows show the load of an
operator that asks its jobs for their progress, of one with many finished jobs, and of one whose API
server refuses requests.

This folder must not be a package, and no module of `bench/` may be called `operator`: the standard
library has that name.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import psutil
import rich.console
import rich.table

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "e2e"))

from finished import finished
from progress import progress, tasks
from sightings import Sightings
from storms import storms

from measure import PODS, Measured, Size, creations, replacements, wait_reconciled
from testbed import control
from testbed.operator import Operator

Line = dict[str, Any]

PORT = 2222
"""The port of tasks that nobody asks."""
FINISHED = int(os.environ.get("FINISHED") or "10000")


@contextlib.contextmanager
def world(*address: str) -> Iterator[control.Cluster]:
    """Run a control plane with fake nodes, for one measurement. A control plane that had served an
    earlier measurement would hold more data. All pods have the address, if one is given.
    """
    with control.running() as cluster:
        cluster.apply(ROOT / "crds/trainingjobs.capstan.dev.yaml")
        with beside("fake_nodes.py", cluster, *address):
            yield cluster


@contextlib.contextmanager
def beside(script: str, cluster: control.Cluster, *words: str) -> Iterator[None]:
    """Run a script of this folder. It prints `ready`, and ends when its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, HERE / script, cluster.kubeconfig, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        if process.stdout is None or process.stdout.readline() != b"ready\n":
            sys.exit(f"bench: {script} did not start; its messages are above")
        yield
    finally:
        process.communicate()


def bound(size: Size) -> dict[str, float]:
    """Measure the bound and return the median of each row."""
    with world() as cluster, beside("bound.py", cluster):
        cluster.hold_controllers()
        sightings = Sightings(cluster.api, PODS)
        rows = [
            *creations(cluster.api, sightings, size, PORT),
            *replacements(cluster.api, sightings, size),
        ]
        return {row.row: row.median for row in rows}


def running(size: Size) -> Iterator[Line]:
    """Yield the rows of jobs that run: the operator's, with the bound, which is measured first."""
    bounds = bound(size)
    with (
        tasks() as asked,
        world("127.0.0.1") as cluster,
        tempfile.TemporaryDirectory() as folder,
    ):
        cluster.hold_controllers()
        served = Operator(cluster.kubeconfig, pathlib.Path(folder) / "operator.log")
        try:
            served.wait_ready()
            sightings = Sightings(cluster.api, PODS)
            for row in _operator(served, cluster, sightings, size, asked.port):
                yield row.line(bounds.get(row.row))
        finally:
            served.kill()
        for row in progress(cluster, size, asked, pathlib.Path(folder)):
            yield row.line(None)


def _operator(
    served: Operator, cluster: control.Cluster, sightings: Sightings, size: Size, port: int
) -> Iterator[Measured]:
    yield from creations(cluster.api, sightings, size, port)
    title = f"memory with {size.jobs} jobs, {size.jobs * size.tasks} pods"
    memory = psutil.Process(served.pid).memory_info().rss / 1e6
    yield Measured(title, "MB", [memory], 250)
    yield from replacements(cluster.api, sightings, size)
    seconds = _restart(served, size.jobs)
    title = f"restart of the operator: {size.jobs} jobs reconciled"
    yield Measured(title, "s", [seconds], 2.5)
    served.stop()


def over(size: Size) -> Iterator[Line]:
    """Yield the rows of an operator with many finished jobs."""
    with world() as cluster, tempfile.TemporaryDirectory() as folder:
        cluster.hold_controllers()
        for row in finished(cluster, FINISHED, size, pathlib.Path(folder)):
            yield row.line(None)


def patience(size: Size) -> Iterator[Line]:
    """Yield the rows of an operator whose API server refuses requests."""
    with world() as cluster, tempfile.TemporaryDirectory() as folder:
        for row in storms(cluster, pathlib.Path(folder)):
            yield row.line(None)


PARTS = {"running": running, "finished": over, "storms": patience}
"""The parts of the bench, in the order in which they are measured."""


def _restart(served: Operator, jobs: int) -> float:
    served.stop()
    began = time.monotonic()
    served.start()
    served.wait_ready()
    wait_reconciled(served, jobs)
    return time.monotonic() - began


def rows(size: Size, parts: list[str]) -> Iterator[Line]:
    """Yield the rows of these parts."""
    for part in parts:
        yield from PARTS[part](size)


def main() -> None:
    defaults = (("JOBS", "200"), ("PS", "2"), ("WORKERS", "8"))
    size = Size(*(int(os.environ.get(name) or default) for name, default in defaults))
    parts = (os.environ.get("PARTS") or ",".join(PARTS)).replace(",", " ").split()
    if unknown := sorted(set(parts) - set(PARTS)):
        sys.exit(f"bench: PARTS names {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    print(f"bench: load average before: {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    printed = []
    for row in rows(size, parts):
        printed.append(row)
        print(json.dumps(row), flush=True, file=sys.stderr if sys.stdout.isatty() else None)
    if sys.stdout.isatty():
        table = rich.table.Table(*printed[0])
        for row in printed:
            table.add_row(*("" if value is None else str(value) for value in row.values()))
        rich.console.Console().print(table)


if __name__ == "__main__":
    main()
