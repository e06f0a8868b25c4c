"""`python bench/operator` measures the operator on a real API server with fake nodes.

    JOBS=200       the number of jobs at once
    WORKERS=8 PS=2 the number of tasks of each job

It prints one line of JSON for each row, with the goal and the bound. On a terminal it also prints a
table. The bound (bound.py) makes the same requests without the operator's decisions, so it shows
the limit of the machine. etcd, the API server, the scheduler and the fake nodes share the machine
with the measured program. The controller manager is stopped while speed is measured: the operator
does not need it then, and in a cluster it runs on another machine. The last rows show the load of
an operator that asks its jobs for their progress, and of one whose API server refuses requests.

This folder must not be a package, and no module of `bench/` may be called `operator`: the standard
library has that name.
"""

import contextlib
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

import psutil
import rich.console
import rich.table

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "e2e"))

from progress import progress
from sightings import Sightings
from storms import storms

from measure import PODS, Measured, Size, creations, replacements
from testbed import control
from testbed.operator import Operator


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
            *creations(cluster.api, sightings, size),
            *replacements(cluster.api, sightings, size),
        ]
        return {row.row: row.median for row in rows}


def operator(size: Size) -> Iterator[Measured]:
    """Yield the operator's rows, in the order in which they are measured."""
    with world() as cluster, tempfile.TemporaryDirectory() as folder:
        cluster.hold_controllers()
        served = Operator(cluster.kubeconfig, pathlib.Path(folder) / "operator.log")
        try:
            served.wait_ready()
            sightings = Sightings(cluster.api, PODS)
            yield from creations(cluster.api, sightings, size)
            title = f"memory with {size.jobs} jobs, {size.jobs * size.tasks} pods"
            memory = psutil.Process(served.pid).memory_info().rss / 1e6
            yield Measured(title, "MB", [memory], 250)
            yield from replacements(cluster.api, sightings, size)
            seconds = _restart(served, size.jobs)
            title = f"restart of the operator: {size.jobs} jobs reconciled"
            yield Measured(title, "s", [seconds], 2.5)
        finally:
            served.kill()


def patience() -> Iterator[Measured]:
    """Yield the rows of an operator whose API server refuses requests."""
    with world() as cluster, tempfile.TemporaryDirectory() as folder:
        yield from storms(cluster, pathlib.Path(folder))


def questions(size: Size) -> Iterator[Measured]:
    """Yield the rows of an operator that asks its jobs for their progress."""
    with world("127.0.0.1") as cluster, tempfile.TemporaryDirectory() as folder:
        cluster.hold_controllers()
        yield from progress(cluster, size, pathlib.Path(folder))


def _restart(served: Operator, jobs: int, within: float = 600) -> float:
    served.stop()
    began = time.monotonic()
    served.start()
    served.wait_ready()
    never = threading.Event()
    while (done := served.metrics().get('capstan_reconcile_seconds_count{result="ok"}', 0)) < jobs:
        if time.monotonic() > began + within:
            raise AssertionError(f"the operator reconciled {done:.0f} of {jobs} jobs in {within} s")
        never.wait(0.05)
    return time.monotonic() - began


def rows(size: Size) -> Iterator[dict[str, Any]]:
    """Yield all rows. The bound of a row that only the operator has is None."""
    bounds = bound(size)
    for measured in itertools.chain(operator(size), questions(size), patience()):
        yield measured.line() | {"bound": bounds.get(measured.row)}


def main() -> None:
    defaults = (("JOBS", "200"), ("PS", "2"), ("WORKERS", "8"))
    size = Size(*(int(os.environ.get(name, default)) for name, default in defaults))
    printed = []
    for row in rows(size):
        printed.append(row)
        print(json.dumps(row), flush=True, file=sys.stderr if sys.stdout.isatty() else None)
    if sys.stdout.isatty():
        table = rich.table.Table(*printed[0])
        for row in printed:
            table.add_row(*("" if value is None else str(value) for value in row.values()))
        rich.console.Console().print(table)


if __name__ == "__main__":
    main()
