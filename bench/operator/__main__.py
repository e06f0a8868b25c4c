"""`python bench/operator`: how fast the operator is, on a real API server with fake nodes.

    JOBS=200       jobs at once
    WORKERS=8 PS=2 tasks of each

Prints one line of JSON a row, with the goal and the bound beside it; a table on a terminal. The
bound (bound.py) makes the same requests and decides nothing: it says what the machine allows. etcd,
the API server, the scheduler and the fake nodes share the machine with the measured program. The
controller manager is held still while speed is measured: it has no part in that, and in a cluster
it is on another machine. The last rows say what the operator does while its API server refuses.

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

from sightings import Sightings
from storms import storms

from measure import PODS, Measured, Size, creations, replacements
from testbed import control
from testbed.operator import Operator


@contextlib.contextmanager
def world() -> Iterator[control.Cluster]:
    """A control plane with fake nodes; each measurement has its own, for they grow in use."""
    with control.running() as cluster:
        cluster.apply(ROOT / "crds/trainingjobs.capstan.dev.yaml")
        with beside("fake_nodes.py", cluster):
            yield cluster


@contextlib.contextmanager
def beside(script: str, cluster: control.Cluster) -> Iterator[None]:
    """Run a script of this folder, which says when it is ready and ends with its input."""
    process = subprocess.Popen(
        [sys.executable, HERE / script, cluster.kubeconfig],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        if process.stdout is None or process.stdout.readline() != b"ready\n":
            sys.exit(f"bench: {script} did not come up; its messages are above")
        yield
    finally:
        process.communicate()


def bound(size: Size) -> dict[str, float]:
    """Measure the bound; return the median of each row."""
    with world() as cluster, beside("bound.py", cluster):
        cluster.hold_controllers()
        seen = Sightings(cluster.api, PODS)
        rows = [*creations(cluster.api, seen, size), *replacements(cluster.api, seen, size)]
        return {row.row: row.median for row in rows}


def operator(size: Size) -> Iterator[Measured]:
    """Yield the operator's rows, in the order in which they are measured."""
    with world() as cluster, tempfile.TemporaryDirectory() as folder:
        cluster.hold_controllers()
        served = Operator(cluster.kubeconfig, pathlib.Path(folder) / "operator.log")
        try:
            served.wait_ready()
            seen = Sightings(cluster.api, PODS)
            yield from creations(cluster.api, seen, size)
            what = f"memory with {size.jobs} jobs, {size.jobs * size.tasks} pods"
            memory = psutil.Process(served.pid).memory_info().rss / 1e6
            yield Measured(what, "MB", [memory], 250)
            yield from replacements(cluster.api, seen, size)
            seconds = _restart(served, size.jobs)
            what = f"restart of the operator: {size.jobs} jobs looked at"
            yield Measured(what, "s", [seconds], 2.5)
        finally:
            served.kill()


def patience() -> Iterator[Measured]:
    """Yield the rows of an operator whose API server does not do what it is asked."""
    with world() as cluster, tempfile.TemporaryDirectory() as folder:
        yield from storms(cluster, pathlib.Path(folder))


def _restart(served: Operator, jobs: int, within: float = 600) -> float:
    served.stop()
    began = time.monotonic()
    served.start()
    served.wait_ready()
    never = threading.Event()
    while (done := served.metrics().get('capstan_reconcile_seconds_count{result="ok"}', 0)) < jobs:
        if time.monotonic() > began + within:
            raise AssertionError(f"{done:.0f} of {jobs} jobs looked at after {within} s")
        never.wait(0.05)
    return time.monotonic() - began


def rows(size: Size) -> Iterator[dict[str, Any]]:
    """Yield all rows; those of the operator alone have no bound."""
    allowed = bound(size)
    for measured in itertools.chain(operator(size), patience()):
        yield measured.line() | {"bound": allowed.get(measured.row)}


def main() -> None:
    said = (("JOBS", "200"), ("PS", "2"), ("WORKERS", "8"))
    size = Size(*(int(os.environ.get(*one)) for one in said))
    told = []
    for row in rows(size):
        told.append(row)
        print(json.dumps(row), flush=True, file=sys.stderr if sys.stdout.isatty() else None)
    if sys.stdout.isatty():
        table = rich.table.Table(*told[0])
        for row in told:
            table.add_row(*("" if value is None else str(value) for value in row.values()))
        rich.console.Console().print(table)


if __name__ == "__main__":
    main()
