"""`python bench/operator`: how fast the operator is, on a real API server with fake nodes.

    JOBS=200       jobs at once
    WORKERS=8 PS=2 tasks of each

Prints one line of JSON a row, with the goal beside it; a table on a terminal. etcd, the API server,
the scheduler and the fake nodes share the machine with the operator: read the figures with that in
mind. This folder must not be a package, and no module of `bench/` may be called `operator`: the
standard library has that name.
"""

import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psutil
import rich.console
import rich.table
import urllib3

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "e2e"))

from testbed import control, podstatus
from testbed.api import STRATEGIC, Api, now
from testbed.operator import Operator

Json = dict[str, Any]

NAMESPACE = "default"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
JOBS = f"/apis/capstan.dev/v1alpha1/namespaces/{NAMESPACE}/trainingjobs"
ALONE = 60
"""Replacements that are measured one at a time."""
TOGETHER = 20


class Sightings:
    """When each pod was first seen, by a watch of its own. Thread-safe."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._seen = threading.Condition()
        self._by_uid: dict[str, float] = {}
        self._newest: dict[str, tuple[str, float]] = {}
        self._ready: dict[str, bool] = {}
        self._version = api.get(PODS)["metadata"]["resourceVersion"]
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        # The server goes away when the measurement is over, and hangs up on who reads too slowly.
        with contextlib.suppress(urllib3.exceptions.NewConnectionError):
            while True:
                with contextlib.suppress(urllib3.exceptions.ProtocolError):
                    self._look()

    def _look(self) -> None:
        for kind, pod in self._api.watch(PODS, self._version, seconds=3600):
            self._version = pod["metadata"]["resourceVersion"]
            if kind not in ("ADDED", "MODIFIED"):
                continue
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            with self._seen:
                if uid not in self._by_uid:
                    self._by_uid[uid] = time.monotonic()
                    self._newest[name] = uid, self._by_uid[uid]
                self._ready[uid] = pod["status"].get("phase") == "Running"
                self._seen.notify_all()

    def wait(self, pods: int, within: float = 600) -> list[float]:
        """Wait until so many pods have been seen; return when each was."""
        with self._seen:
            if not self._seen.wait_for(lambda: len(self._by_uid) >= pods, within):
                raise AssertionError(f"{len(self._by_uid)} of {pods} pods after {within} s")
            return sorted(self._by_uid.values())

    def all_run(self, within: float = 600) -> None:
        """Wait until every pod runs."""
        with self._seen:
            if not self._seen.wait_for(lambda: all(self._ready.values()), within):
                raise AssertionError(f"some pods do not run after {within} s")

    def replaced(self, name: str, uid: str, within: float = 60) -> float:
        """Wait until another pod has the name; return when it was seen."""
        with self._seen:
            if not self._seen.wait_for(lambda: self._newest[name][0] != uid, within):
                raise AssertionError(f"{name} was not replaced within {within} s")
            return self._newest[name][1]

    def running(self, name: str, within: float = 60) -> str:
        """Wait until the newest pod of this name runs; return its uid."""
        with self._seen:
            if not self._seen.wait_for(lambda: self._ready[self._newest[name][0]], within):
                raise AssertionError(f"{name} does not run within {within} s")
            return self._newest[name][0]


def job(name: str, ps: int, workers: int) -> Json:
    template = {"spec": {"containers": [{"name": "trainer", "image": "none", "command": ["x"]}]}}
    return {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name},
        "spec": {
            "replicaSpecs": {
                "ps": {"replicas": ps, "template": template},
                "worker": {"replicas": workers, "template": template},
            },
            "runPolicy": {"backoffLimit": 1000, "restartBackoff": {"initialSeconds": 0}},
        },
    }


def fail(api: Api, name: str) -> float:
    """End a pod with exit code 1; return when the API server had taken it."""
    pod = api.get(f"{PODS}/{name}")
    end = podstatus.End(1, "Error", "ValueError: bench")
    status = podstatus.exited(pod, now(), end, None)
    api.patch(f"{PODS}/{name}/status", {"status": status}, STRATEGIC)
    return time.monotonic()


@contextmanager
def world() -> Iterator[tuple[control.Cluster, Operator]]:
    """A control plane with fake nodes and the operator, with its defaults."""
    with control.running() as cluster, tempfile.TemporaryDirectory() as folder:
        cluster.apply(ROOT / "crds/trainingjobs.capstan.dev.yaml")
        nodes = subprocess.Popen(
            [sys.executable, pathlib.Path(__file__).with_name("fake_nodes.py"), cluster.kubeconfig],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            if nodes.stdout is None or nodes.stdout.readline() != b"ready\n":
                sys.exit("bench: the fake nodes did not come up; their messages are above")
            operator = Operator(cluster.kubeconfig, pathlib.Path(folder) / "operator.log")
            try:
                operator.wait_ready()
                yield cluster, operator
            finally:
                operator.kill()
        finally:
            nodes.communicate()


def measure(cluster: control.Cluster, operator: Operator) -> Iterator[Json]:
    """Yield the rows, in the order in which they are measured."""
    jobs, ps, workers = (int(os.environ.get(*said)) for said in
                         (("JOBS", "200"), ("PS", "2"), ("WORKERS", "8")))  # fmt: skip
    api, tasks = cluster.api, ps + workers
    seen = Sightings(api)
    # An API server holds back for two seconds what is created of a kind that is younger than two
    # seconds. That is not the operator's time, and a dry run takes it all.
    api.post(JOBS, job("first", ps, workers), dryRun="All")
    began = time.monotonic()
    api.post(JOBS, job("first", ps, workers))
    yield row(f"one job of {tasks}: all pods created", "s", [seen.wait(tasks)[-1] - began], 1)
    began = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda i: api.post(JOBS, job(f"j{i}", ps, workers)), range(jobs)))
    times = seen.wait((jobs + 1) * tasks)[tasks:]
    rate = len(times) / (times[-1] - began)
    yield row(f"{jobs} jobs at once: pods created", "1/s", [rate], 90, more=True)
    memory = psutil.Process(operator.pid).memory_info().rss / 1e6
    yield row(f"memory with {jobs} jobs, {jobs * tasks} pods", "MB", [memory], 250)
    seen.all_run()
    _until_idle(operator)
    yield from _replacements(api, seen, jobs, workers)
    yield row(
        f"restart of the operator: {jobs} jobs looked at", "s", [_restart(operator, jobs)], 2.5
    )


def _replacements(api: Api, seen: Sightings, jobs: int, workers: int) -> Iterator[Json]:
    alone = []
    for i in range(min(ALONE, jobs * workers)):
        name = f"j{i % jobs}-worker-{i // jobs}"
        alone.append(_replace(api, seen, name, seen.running(name)) * 1e3)
        # One at a time: the one before is over when its job runs as before.
        _runs(api, f"j{i % jobs}")
    yield row("a failed pod to its replacement, one at a time", "ms", alone, 25)
    together: list[float] = []
    for turn in range(3):
        some = [f"j{(turn * TOGETHER + i) % jobs}-worker-1" for i in range(min(TOGETHER, jobs))]
        uids = [seen.running(name) for name in some]
        with ThreadPoolExecutor(TOGETHER) as pool:
            together += pool.map(
                lambda one: _replace(api, seen, *one) * 1e3, zip(some, uids, strict=True)
            )
        for name in some:
            _runs(api, name.partition("-")[0])
    yield row(f"the same, {TOGETHER} at once", "ms", together, 350)


def _replace(api: Api, seen: Sightings, name: str, uid: str) -> float:
    failed = fail(api, name)
    return seen.replaced(name, uid) - failed


def _runs(api: Api, name: str, within: float = 60) -> None:
    """Wait until a job is Running, as its status says."""
    deadline, never = time.monotonic() + within, threading.Event()
    while (phase := api.get(f"{JOBS}/{name}")["status"]["phase"]) != "Running":
        if time.monotonic() > deadline:
            raise AssertionError(f"{name} is {phase} after {within} s")
        never.wait(0.05)


def _until_idle(operator: Operator) -> None:
    """Wait until the operator has nothing to do for a second."""
    never = threading.Event()
    passes, before = -1.0, 0.0
    while passes != before:
        before = passes
        never.wait(1)
        passes = operator.metrics().get('capstan_reconcile_seconds_count{result="ok"}', 0)


def _restart(operator: Operator, jobs: int, within: float = 600) -> float:
    operator.stop()
    began = time.monotonic()
    operator.start()
    operator.wait_ready()
    never = threading.Event()
    while (
        done := operator.metrics().get('capstan_reconcile_seconds_count{result="ok"}', 0)
    ) < jobs:
        if time.monotonic() > began + within:
            raise AssertionError(f"{done:.0f} of {jobs} jobs looked at after {within} s")
        never.wait(0.05)
    return time.monotonic() - began


def row(what: str, unit: str, values: list[float], goal: float, *, more: bool = False) -> Json:
    """One row: median, 99th percentile, maximum; `goal` is for the median."""
    ordered = sorted(values)
    return {
        "row": what,
        "unit": unit,
        "p50": round(statistics.median(ordered), 3),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 3),
        "max": round(ordered[-1], 3),
        "goal": f"{'at least' if more else 'at most'} {goal:g}",
    }


def main() -> None:
    rows = []
    with world() as (cluster, operator):
        for one in measure(cluster, operator):
            rows.append(one)
            print(json.dumps(one), flush=True, file=sys.stderr if sys.stdout.isatty() else None)
    if sys.stdout.isatty():
        table = rich.table.Table(*rows[0])
        for one in rows:
            table.add_row(*map(str, one.values()))
        rich.console.Console().print(table)


if __name__ == "__main__":
    main()
