"""The load of an operator whose cluster has many finished jobs: restart, memory and idle time.

One job runs to its end under the operator. All others are copies of this job, with its Service and
its status, that the bench writes itself. Their pods are gone, as after a garbage collection.
"""

import json
import pathlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil

from measure import (
    JOBS,
    NAMESPACE,
    PODS,
    Json,
    Measured,
    Size,
    cpu_seconds,
    job,
    wait_quiet,
    wait_reconciled,
)
from testbed import podstatus, wait
from testbed.api import MERGE, STRATEGIC, Api, now
from testbed.control import Cluster
from testbed.operator import Operator

SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
SECONDS = 60.0
"""How long the idle time is measured."""
BETWEEN_SECONDS = 45.0
"""The time between two comparisons while they are measured. The operator is quiet in between."""
COMPARED_SECONDS = 300.0
"""The time between two comparisons of an operator with its default flags."""


def finished(cluster: Cluster, jobs: int, size: Size, folder: pathlib.Path) -> Iterator[Measured]:
    """Yield the rows of an operator that serves `jobs` finished jobs."""
    served = Operator(cluster.kubeconfig, folder / "operator.log")
    try:
        served.wait_ready()
        model = _model(cluster.api, size)
        # An operator would start the copies before they have a status.
        served.stop()
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda i: _copy(cluster.api, model, f"over-{i}"), range(jobs - 1)))
        began = time.monotonic()
        served.start()
        served.wait_ready()
        wait_reconciled(served, jobs)
        seconds = time.monotonic() - began
        title = f"{jobs} finished jobs"
        yield Measured(f"restart of the operator: {title} reconciled", "s", [seconds], 6)
        wait_quiet(served)
        memory = psutil.Process(served.pid).memory_info().rss / 1e6
        yield Measured(f"memory with {title}", "MB", [memory], 250)
        idle = _share(served, SECONDS)
        yield Measured(f"{title}: idle share of a core", "", [idle], 0.005)
        served.kill()
        flags = (f"--resync-seconds={BETWEEN_SECONDS:g}",)
        served = Operator(cluster.kubeconfig, folder / "comparing.log", flags)
        served.wait_leading()
        wait_reconciled(served, jobs)
        wait_quiet(served)
        extra = (_share(served, 2 * BETWEEN_SECONDS) - idle) * BETWEEN_SECONDS
        yield Measured(f"{title}: one comparison", "s", [extra], 0.005 * COMPARED_SECONDS)
    finally:
        served.kill()


def _model(api: Api, size: Size) -> Json:
    """Run a job until it has succeeded, and return it. Delete its pods."""
    api.post(JOBS, job("model", size))

    def pods() -> list[Json]:
        found = api.list(PODS)
        running = [pod for pod in found if pod["status"].get("phase") == "Running"]
        return found if len(running) == size.tasks else []

    for pod in wait.until(pods):
        if "-worker-" in pod["metadata"]["name"]:
            ended = podstatus.exited(pod, now(), podstatus.End(0, "Completed", ""), None)
            path = f"{PODS}/{pod['metadata']['name']}/status"
            api.patch(path, {"status": ended}, STRATEGIC)

    def at_rest() -> Json | None:
        found = api.get(f"{JOBS}/model")
        over = found.get("status", {}).get("phase") == "Succeeded"
        states = {row["state"] for row in found.get("status", {}).get("tasks", ())}
        return found if over and states <= {"Succeeded", "Stopped"} else None

    model = wait.until(at_rest)
    api.delete(PODS)
    wait.until(lambda: not api.list(PODS))
    return model


def _copy(api: Api, model: Json, name: str) -> None:
    """Write a finished job like the model, and its Service."""
    body = {key: model[key] for key in ("apiVersion", "kind", "spec")}
    made = api.post(JOBS, {**body, "metadata": {"name": name}})
    # The status names the job in its selector, and its pods.
    status = json.loads(json.dumps(model["status"]).replace("model", name))
    api.patch(f"{JOBS}/{name}/status", {"status": status}, MERGE)
    owner = {
        "apiVersion": made["apiVersion"],
        "kind": made["kind"],
        "name": name,
        "uid": made["metadata"]["uid"],
        "controller": True,
    }
    labels = {"capstan.dev/job-name": name}
    metadata = {"name": name, "labels": labels, "ownerReferences": [owner]}
    spec = {"clusterIP": "None", "selector": labels, "publishNotReadyAddresses": True}
    api.post(SERVICES, {"metadata": metadata, "spec": spec})


def _share(served: Operator, seconds: float) -> float:
    """Return the share of a core that the operator uses in this time."""
    began, busy = time.monotonic(), cpu_seconds(served.pid)
    threading.Event().wait(seconds)
    return (cpu_seconds(served.pid) - busy) / (time.monotonic() - began)
