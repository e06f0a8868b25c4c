"""The measurements of a program that serves jobs, which is the operator or the bound."""

import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psutil
from sightings import Sightings

from testbed import podstatus
from testbed.api import STRATEGIC, Api, now
from testbed.operator import Operator

Json = dict[str, Any]

NAMESPACE = "default"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
JOBS = f"/apis/capstan.dev/v1alpha1/namespaces/{NAMESPACE}/trainingjobs"
ALONE = 60
"""The number of replacements that are measured one at a time."""
QUIET_SECONDS = 5.0
QUIET_SHARE = 0.1
"""An operator that uses at most this share of a core for some time has nothing left to read."""
TOGETHER = 20
"""The number of replacements that are measured at once."""


@dataclass(frozen=True)
class Size:
    """The number of jobs at once, and the number of tasks of each job."""

    jobs: int
    ps: int
    workers: int

    @property
    def tasks(self) -> int:
        return self.ps + self.workers


@dataclass(frozen=True)
class Measured:
    """The values of one row. `goal` is the goal for the median of the operator's values."""

    row: str
    unit: str
    values: list[float]
    goal: float
    more: bool = False
    """Whether larger values are better."""
    of_bound: bool = False
    """Whether the goal is a multiple of the bound of the same run."""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def line(self, bound: float | None) -> Json:
        """Return the row with its bound, which is None if only the operator has this row."""
        ordered = sorted(self.values)
        goal = f"{'at least' if self.more else 'at most'} {self.goal:g}"
        return {
            "row": self.row,
            "unit": self.unit,
            "p50": round(self.median, 3),
            "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 3),
            "max": round(ordered[-1], 3),
            "bound": bound and round(bound, 3),
            "ratio": round(self.median / bound, 2) if bound else None,
            "goal": f"{goal} of the bound" if self.of_bound else goal,
        }


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def reconciled(served: Operator) -> float:
    """Return how many passes the operator has made without an error since it started."""
    return served.metrics().get('capstan_reconcile_seconds_count{result="ok"}', 0.0)


def wait_reconciled(served: Operator, jobs: int, within: float = 600) -> None:
    """Wait until the operator has made as many passes as there are jobs."""
    deadline, never = time.monotonic() + within, threading.Event()
    while (done := reconciled(served)) < jobs:
        if time.monotonic() > deadline:
            raise AssertionError(f"the operator reconciled {done:.0f} of {jobs} jobs in {within} s")
        # To render the metrics takes the operator milliseconds.
        never.wait(0.1)


def wait_quiet(served: Operator) -> None:
    """Wait until the operator has read everything: until it uses little time for ten seconds.

    After its start, it compares its cache with the cluster more than once.
    """
    never, quiet = threading.Event(), 0
    while quiet < 2:
        busy = cpu_seconds(served.pid)
        never.wait(QUIET_SECONDS)
        share = (cpu_seconds(served.pid) - busy) / QUIET_SECONDS
        quiet = quiet + 1 if share < QUIET_SHARE else 0


def creations(api: Api, seen: Sightings, size: Size, port: int) -> Iterator[Measured]:
    """Submit one job, then all others at once. Return when all jobs run.

    The tasks of the jobs are asked for their progress at this port.
    """
    # An API server delays the creation of objects whose CRD is less than two seconds old. The
    # delay must not be measured, so a dry run waits for its end.
    api.post(JOBS, job("first", size, port), dryRun="All")
    began = time.monotonic()
    api.post(JOBS, job("first", size, port))
    times = [seen.wait(size.tasks)[-1] - began]
    yield Measured(f"one job of {size.tasks}: all pods created", "s", times, 1)
    began = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda i: api.post(JOBS, job(f"j{i}", size, port)), range(size.jobs)))
    pods = seen.wait((size.jobs + 1) * size.tasks)[size.tasks :]
    rate = len(pods) / (pods[-1] - began)
    yield Measured(f"{size.jobs} jobs at once: pods created", "1/s", [rate], 0.9, True, True)
    seen.all_run()
    until_running(api, *("first", *(f"j{i}" for i in range(size.jobs))))


def replacements(api: Api, seen: Sightings, size: Size) -> Iterator[Measured]:
    """Make workers of running jobs fail, first one at a time and then many at once."""
    alone = []
    for i in range(min(ALONE, size.jobs * size.workers)):
        name = f"j{i % size.jobs}"
        pod = f"{name}-worker-{i // size.jobs}"
        alone.append(_replace(api, seen, pod, seen.running(pod)) * 1e3)
        until_running(api, name)
    row = "a failed pod to its replacement, one at a time"
    yield Measured(row, "ms", alone, 1.3, of_bound=True)
    together: list[float] = []
    for turn in range(3):
        numbers = (turn * TOGETHER + i for i in range(min(TOGETHER, size.jobs)))
        names = [f"j{number % size.jobs}" for number in numbers]
        pods = [f"{name}-worker-{min(1, size.workers - 1)}" for name in names]
        uids = [seen.running(pod) for pod in pods]
        with ThreadPoolExecutor(TOGETHER) as pool:
            together += pool.map(lambda pod, uid: _replace(api, seen, pod, uid) * 1e3, pods, uids)
        until_running(api, *names)
    yield Measured(f"the same, {TOGETHER} at once", "ms", together, 1.1, of_bound=True)


def job(name: str, size: Size, port: int = 2222) -> Json:
    template = {"spec": {"containers": [{"name": "trainer", "image": "none", "command": ["x"]}]}}
    return {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name},
        "spec": {
            "replicaSpecs": {
                "ps": {"replicas": size.ps, "template": template},
                "worker": {"replicas": size.workers, "template": template},
            },
            "cluster": {"port": port},
            "runPolicy": {"backoffLimit": 1000, "restartBackoff": {"initialSeconds": 0}},
        },
    }


def _replace(api: Api, seen: Sightings, name: str, uid: str) -> float:
    """End a pod with exit code 1. Return the seconds until its replacement was seen."""
    pod = api.get(f"{PODS}/{name}")
    end = podstatus.End(1, "Error", "ValueError: bench")
    status = podstatus.exited(pod, now(), end, None)
    # The addresses do not change. All pods may have one address, which `exited` does not know.
    status = {name: value for name, value in status.items() if name not in ("podIP", "podIPs")}
    api.patch(f"{PODS}/{name}/status", {"status": status}, STRATEGIC)
    failed = time.monotonic()
    return seen.replaced(name, uid) - failed


def until_running(api: Api, *names: str, within: float = 300) -> None:
    """Wait until the status of each job has the phase Running."""
    deadline, never = time.monotonic() + within, threading.Event()
    for name in names:
        while (phase := _phase(api, name)) != "Running":
            if time.monotonic() > deadline:
                raise AssertionError(f"{name} is {phase} after {within} s")
            never.wait(0.05)


def _phase(api: Api, name: str) -> str:
    return str(api.get(f"{JOBS}/{name}").get("status", {}).get("phase"))
