"""A story of one job: what a user and a cluster do to it, and what then is to be seen of it."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from testbed.api import ApiError
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator

Json = dict[str, Any]
There = TypeVar("There")

PATIENCE_SECONDS = 90.0
"""How long anything is waited for, unless said otherwise: until a machine has done it that is busy
with other things, too; and it takes Kubernetes half a minute to collect objects of a new kind."""

NAME = "train"
TRAINER: Mapping[str, Any] = {"name": "trainer", "image": "capstan/digits:dev"}

JOBS = "/apis/capstan.dev/v1alpha1/namespaces/{}/trainingjobs"
PODS = "/api/v1/namespaces/{}/pods"
SERVICES = "/api/v1/namespaces/{}/services"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/capstan-operator"


def replica(
    replicas: int = 1, *, containers: Sequence[Mapping[str, Any]] = (TRAINER,), **given: Any
) -> Json:
    """A replica type; `given` are its other fields, and `pod` other fields of the pod's spec."""
    pod = given.pop("pod", {})
    template = {"spec": {"containers": list(containers), **pod}}
    return {"replicas": replicas, "template": template, **given}


def job(name: str = NAME, *, run_policy: Json | None = None, **replicas: Json) -> Json:
    """A job of one ps and two workers, unless said otherwise; what fails is restarted at once."""
    policy = {"restartBackoff": {"initialSeconds": 0}, **(run_policy or {})}
    kinds = replicas or {"ps": replica(1), "worker": replica(2)}
    return {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name},
        "spec": {"replicaSpecs": kinds, "runPolicy": policy},
    }


class Story:
    """A namespace that an operator serves. Tasks are named as in the status: `worker-1`."""

    def __init__(
        self, cluster: Cluster, kubelet: Kubelet, operator: Operator, namespace: str
    ) -> None:
        """Nothing is done yet."""
        self.cluster = cluster
        self.kubelet = kubelet
        self.operator = operator
        self.namespace = namespace
        self._jobs = JOBS.format(namespace)
        self._pods = PODS.format(namespace)
        self._services = SERVICES.format(namespace)

    # What a user does.

    def submit(self, manifest: Json) -> Json:
        return self.cluster.api.post(self._jobs, manifest)

    def started(self, manifest: Json | None = None) -> Json:
        """Submit a job; return its status as soon as all tasks run."""
        name = self.submit(manifest or job())["metadata"]["name"]
        return self.until(lambda status: status["phase"] == "Running", name)

    def delete_job(self, name: str = NAME, how: str = "Background") -> None:
        self.cluster.api.delete(f"{self._jobs}/{name}", {"propagationPolicy": how})

    def kubectl(self, *words: object, input: str | None = None) -> str:  # noqa: A002 - as above it
        """What kubectl prints, in the namespace of the story."""
        return self.cluster.kubectl(*words, "-n", self.namespace, input=input).stdout

    def describe(self, name: str = NAME) -> str:
        """What kubectl describe prints: runs of spaces are one."""
        return " ".join(self.kubectl("describe", "tjob", name).split())

    # What there is.

    def job(self, name: str = NAME) -> Json:
        return self.cluster.api.get(f"{self._jobs}/{name}")

    def find_job(self, name: str = NAME) -> Json | None:
        return self.cluster.api.find(f"{self._jobs}/{name}")

    def status(self, name: str = NAME) -> Json:
        """The status, empty before the first."""
        status: Json = self.job(name).get("status", {})
        return status

    def pods(self) -> dict[str, Json]:
        """All pods of the namespace, by name."""
        return {pod["metadata"]["name"]: pod for pod in self.cluster.api.list(self._pods)}

    def pod(self, task: str, name: str = NAME) -> Json:
        return self.cluster.api.get(f"{self._pods}/{name}-{task}")

    def find_pod(self, task: str, name: str = NAME) -> Json | None:
        return self.cluster.api.find(f"{self._pods}/{name}-{task}")

    def pod_key(self, task: str, name: str = NAME) -> str:
        """How the fake kubelet calls the pod of a task."""
        return f"{self.namespace}/{name}-{task}"

    def change_pod(self, task: str, status: Json) -> None:
        """Give a pod a status that no verb of the fake kubelet makes."""
        self.cluster.api.patch(f"{self._pods}/{NAME}-{task}/status", {"status": status})

    def delete_pod(self, task: str, **options: Any) -> None:
        self.cluster.api.delete(f"{self._pods}/{NAME}-{task}", options)

    def service(self, name: str = NAME) -> Json:
        return self.cluster.api.get(f"{self._services}/{name}")

    def find_service(self, name: str = NAME) -> Json | None:
        return self.cluster.api.find(f"{self._services}/{name}")

    def endpoints(self, name: str = NAME) -> dict[str, list[str]]:
        """The addresses behind a Service, by the host name under which DNS has them."""
        path = f"/apis/discovery.k8s.io/v1/namespaces/{self.namespace}/endpointslices"
        slices = self.cluster.api.list(path, labelSelector=f"kubernetes.io/service-name={name}")
        found = [one for each in slices for one in each.get("endpoints") or ()]
        return {one["hostname"]: one["addresses"] for one in found if "hostname" in one}

    def news(self) -> list[tuple[str, str]]:
        """Reason and note of all events about jobs, oldest first."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        events = [
            event
            for event in self.cluster.api.list(path)
            if event["regarding"]["kind"] == "TrainingJob"
        ]
        events.sort(key=lambda event: event["eventTime"])
        return [(event["reason"], event["note"]) for event in events]

    def notes(self, reason: str) -> list[str]:
        """The notes of all events with this reason, oldest first."""
        return [note for word, note in self.news() if word == reason]

    def counted(self) -> dict[str, float]:
        """The operator's counters of restarts and ends of jobs that are not zero."""
        ours = (
            "capstan_task_restarts_total",
            "capstan_job_restarts_total",
            "capstan_jobs_finished",
        )
        samples = self.operator.metrics().items()
        return {
            name: value
            for name, value in samples
            if name.startswith(ours) and value and "_created" not in name
        }

    # What is waited for.

    def until(
        self, holds: Callable[[Json], object], name: str = NAME, within: float = PATIENCE_SECONDS
    ) -> Json:
        """Return the status of a job as soon as this is true of it, once it has one."""

        def seen() -> Json | None:
            status = self.status(name)
            return status if status and holds(status) else None

        return self.wait(seen, within, lambda: json.dumps(self.status(name), indent=1))

    def until_row(
        self, task: str, within: float = PATIENCE_SECONDS, name: str = NAME, **fields: object
    ) -> Json:
        """Return the row of a task as soon as these are its fields; 0 and "" may be left out."""

        def shows(status: Json) -> bool:
            one = row(status, task)
            return all(one.get(field, "") == value for field, value in fields.items())

        return row(self.until(shows, name, within), task)

    def until_running(self, task: str, attempt: int, name: str = NAME) -> Json:
        """Return the status as soon as this attempt of a task runs, and so does the job."""
        return self.until(
            lambda status: (
                status["phase"] == "Running"
                and row(status, task)["attempt"] == attempt
                and row(status, task)["state"] in ("Running", "Succeeded")
            ),
            name,
        )

    def wait_said(self, reason: str, within: float = PATIENCE_SECONDS) -> str:
        """Return the note of the last event with this reason as soon as there is one."""
        told = self.wait(
            lambda: self.notes(reason),
            within,
            lambda: f"{reason} in {self.news()}",
        )
        return told[-1]

    def wait(
        self,
        what: Callable[[], There | None],
        within: float = PATIENCE_SECONDS,
        else_show: Callable[[], str] = str,
    ) -> There:
        """Return what is there as soon as it is. Raises AssertionError when time is up."""
        deadline = time.monotonic() + within
        never = threading.Event()
        while not (there := what()):
            assert time.monotonic() < deadline, f"not within {within} s: {else_show()}"
            never.wait(0.05)
        return there


def row(status: Json, task: str) -> Json:
    """The row of a task."""
    named = {one["name"]: one for one in status.get("tasks", ())}
    assert task in named, f"no row {task} in {status}"
    found: Json = named[task]
    return found


def condition(status: Json, kind: str) -> Json:
    """A condition; empty if there is none of this type."""
    return next((one for one in status.get("conditions", ()) if one["type"] == kind), {})


def refused(call: Callable[[], object]) -> ApiError:
    """Return how the API server refuses what this does."""
    try:
        call()
    except ApiError as error:
        return error
    raise AssertionError("it was not refused")
