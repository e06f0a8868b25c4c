"""A story: the actions of a user and of a cluster on jobs in one namespace, and their results."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from testbed import wait
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.wait import PATIENCE_SECONDS

Json = dict[str, Any]

NAME = "train"
TRAINER: Mapping[str, Any] = {"name": "trainer", "image": "capstan/digits:dev"}

JOBS = "/apis/capstan.dev/v1alpha1/namespaces/{}/trainingjobs"
PODS = "/api/v1/namespaces/{}/pods"
SERVICES = "/api/v1/namespaces/{}/services"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/capstan-operator"


def replica(
    replicas: int = 1, *, containers: Sequence[Mapping[str, Any]] = (TRAINER,), **fields: Any
) -> Json:
    """Return a replica type. `fields` are its other fields. A field `pod` has fields of the pod's
    spec.
    """
    pod = fields.pop("pod", {})
    template = {"spec": {"containers": list(containers), **pod}}
    return {"replicas": replicas, "template": template, **fields}


def job(name: str = NAME, *, run_policy: Json | None = None, **replicas: Json) -> Json:
    """Return a job, by default of one ps and two workers. Its tasks restart without a pause."""
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
        self,
        cluster: Cluster,
        kubelet: Kubelet,
        operator: Operator,
        namespace: str,
        before: Mapping[str, float] | None = None,
    ) -> None:
        """Take the parts of the story. `before` are the operator's metrics at its beginning, if the
        operator has served other stories.
        """
        self.cluster = cluster
        self.kubelet = kubelet
        self.operator = operator
        self.namespace = namespace
        self._before = before or {}
        self._jobs = JOBS.format(namespace)
        self._pods = PODS.format(namespace)
        self._services = SERVICES.format(namespace)

    # Actions of a user.

    def submit(self, manifest: Json) -> Json:
        return self.cluster.api.post(self._jobs, manifest)

    def started(self, manifest: Json | None = None) -> Json:
        """Submit a job and wait until all its tasks run. Return its status."""
        name = self.submit(manifest or job())["metadata"]["name"]
        return self.until(lambda status: status["phase"] == "Running", name)

    def delete_job(self, name: str = NAME, how: str = "Background") -> None:
        self.cluster.api.delete(f"{self._jobs}/{name}", {"propagationPolicy": how})

    def kubectl(self, *words: object, input: str | None = None) -> str:  # noqa: A002 - as above it
        """Run kubectl in the namespace of the story and return its output."""
        return self.cluster.kubectl(*words, "-n", self.namespace, input=input).stdout

    def describe(self, name: str = NAME) -> str:
        """Return the output of `kubectl describe`, with single spaces."""
        return " ".join(self.kubectl("describe", "tjob", name).split())

    # The state of the cluster.

    def job(self, name: str = NAME) -> Json:
        return self.cluster.api.get(f"{self._jobs}/{name}")

    def find_job(self, name: str = NAME) -> Json | None:
        return self.cluster.api.find(f"{self._jobs}/{name}")

    def status(self, name: str = NAME) -> Json:
        """Return the status of a job, or an empty dict if the job has none yet."""
        status: Json = self.job(name).get("status", {})
        return status

    def pods(self) -> dict[str, Json]:
        """Return all pods of the namespace, by name."""
        return {pod["metadata"]["name"]: pod for pod in self.cluster.api.list(self._pods)}

    def pod(self, task: str, name: str = NAME) -> Json:
        return self.cluster.api.get(f"{self._pods}/{name}-{task}")

    def find_pod(self, task: str, name: str = NAME) -> Json | None:
        return self.cluster.api.find(f"{self._pods}/{name}-{task}")

    def pod_key(self, task: str, name: str = NAME) -> str:
        """Return the name by which the fake kubelet knows the pod of a task."""
        return f"{self.namespace}/{name}-{task}"

    def change_pod(self, task: str, status: Json) -> None:
        """Write a status of a pod that no method of the fake kubelet writes."""
        self.cluster.api.patch(f"{self._pods}/{NAME}-{task}/status", {"status": status})

    def delete_pod(self, task: str, **options: Any) -> None:
        self.cluster.api.delete(f"{self._pods}/{NAME}-{task}", options)

    def admit(self) -> None:
        """Remove the gates of all pods, as Kueue does when a queue has quota for them."""
        for name, pod in self.pods().items():
            if pod["spec"].get("schedulingGates"):
                path = f"{self._pods}/{name}"
                self.cluster.api.patch(path, {"spec": {"schedulingGates": None}})

    def service(self, name: str = NAME) -> Json:
        return self.cluster.api.get(f"{self._services}/{name}")

    def find_service(self, name: str = NAME) -> Json | None:
        return self.cluster.api.find(f"{self._services}/{name}")

    def endpoints(self, name: str = NAME) -> dict[str, list[str]]:
        """Return the addresses behind a Service, by their host names in DNS."""
        path = f"/apis/discovery.k8s.io/v1/namespaces/{self.namespace}/endpointslices"
        slices = self.cluster.api.list(path, labelSelector=f"kubernetes.io/service-name={name}")
        endpoints = [found for each in slices for found in each.get("endpoints") or ()]
        return {
            endpoint["hostname"]: endpoint["addresses"]
            for endpoint in endpoints
            if "hostname" in endpoint
        }

    def events(self) -> list[tuple[str, str]]:
        """Return the reason and the note of all events about jobs, oldest first."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        events = [
            event
            for event in self.cluster.api.list(path)
            if event["regarding"]["kind"] == "TrainingJob"
        ]
        events.sort(key=lambda event: event["eventTime"])
        return [(event["reason"], event["note"]) for event in events]

    def notes(self, reason: str) -> list[str]:
        """Return the notes of all events with this reason, oldest first."""
        return [note for event_reason, note in self.events() if event_reason == reason]

    def counted(self) -> dict[str, float]:
        """Return by how much the operator's counters of restarts and of ends of jobs have grown
        since the story began. Counters that have not grown are left out.
        """
        prefixes = (
            "capstan_task_restarts_total",
            "capstan_job_restarts_total",
            "capstan_jobs_finished",
        )
        return {
            name: value
            for name, value in self._growth().items()
            if name.startswith(prefixes) and value
        }

    def counter(self, name: str) -> float:
        """Return by how much one of the operator's counters has grown since the story began."""
        return self._growth().get(name, 0.0)

    def _growth(self) -> dict[str, float]:
        now = self.operator.metrics()
        return {name: value - self._before.get(name, 0.0) for name, value in now.items()}

    # Waiting.

    def until(
        self, holds: Callable[[Json], object], name: str = NAME, within: float = PATIENCE_SECONDS
    ) -> Json:
        """Wait until `holds` is true of a job's status, and return that status."""

        def status_that_holds() -> Json | None:
            status = self.status(name)
            return status if status and holds(status) else None

        return wait.until(
            status_that_holds, within, lambda: json.dumps(self.status(name), indent=1)
        )

    def until_row(
        self, task: str, within: float = PATIENCE_SECONDS, name: str = NAME, **fields: object
    ) -> Json:
        """Wait until the row of a task has these fields, and return the row. The value of an absent
        field is "".
        """

        def shows(status: Json) -> bool:
            task_row = row(status, task)
            return all(task_row.get(field, "") == value for field, value in fields.items())

        return row(self.until(shows, name, within), task)

    def until_running(self, task: str, attempt: int, name: str = NAME) -> Json:
        """Wait until this attempt of a task runs and the job runs. Return the status."""
        return self.until(
            lambda status: (
                status["phase"] == "Running"
                and row(status, task)["attempt"] == attempt
                and row(status, task)["state"] in ("Running", "Succeeded")
            ),
            name,
        )

    def wait_note(self, reason: str, within: float = PATIENCE_SECONDS) -> str:
        """Wait for an event with this reason, and return the note of the last such event."""
        notes = wait.until(
            lambda: self.notes(reason), within, lambda: f"no {reason} in {self.events()}"
        )
        return notes[-1]


def row(status: Json, task: str) -> Json:
    """Return the row of a task. Raises AssertionError if the status has none."""
    rows = {row["name"]: row for row in status.get("tasks", ())}
    assert task in rows, f"no row {task} in {status}"
    found: Json = rows[task]
    return found


def condition(status: Json, kind: str) -> Json:
    """Return the condition of this type, or an empty dict if the status has none."""
    conditions = status.get("conditions", ())
    return next((condition for condition in conditions if condition["type"] == kind), {})
