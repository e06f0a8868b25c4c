"""A story of one job: a user and a cluster act on it, and a test looks at the results."""

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
    replicas: int = 1, *, containers: Sequence[Mapping[str, Any]] = (TRAINER,), **given: Any
) -> Json:
    """A replica type; `given` are its other fields, and `pod` other fields of the pod's spec."""
    pod = given.pop("pod", {})
    template = {"spec": {"containers": list(containers), **pod}}
    return {"replicas": replicas, "template": template, **given}


def job(name: str = NAME, *, run_policy: Json | None = None, **replicas: Json) -> Json:
    """A job, by default of one ps and two workers. Its tasks restart without a pause."""
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
        """Do nothing yet. `before` are the operator's metrics when the story begins, if it served
        other stories.
        """
        self.cluster = cluster
        self.kubelet = kubelet
        self.operator = operator
        self.namespace = namespace
        self._before = before or {}
        self._jobs = JOBS.format(namespace)
        self._pods = PODS.format(namespace)
        self._services = SERVICES.format(namespace)

    # Acts of a user.

    def submit(self, manifest: Json) -> Json:
        return self.cluster.api.post(self._jobs, manifest)

    def started(self, manifest: Json | None = None) -> Json:
        """Submit a job, wait until all its tasks run, and return its status then."""
        name = self.submit(manifest or job())["metadata"]["name"]
        return self.until(lambda status: status["phase"] == "Running", name)

    def delete_job(self, name: str = NAME, how: str = "Background") -> None:
        self.cluster.api.delete(f"{self._jobs}/{name}", {"propagationPolicy": how})

    def kubectl(self, *words: object, input: str | None = None) -> str:  # noqa: A002 - as above it
        """Return the output of kubectl, in the namespace of the story."""
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
        """Return the name by which the fake kubelet knows the pod of a task."""
        return f"{self.namespace}/{name}-{task}"

    def change_pod(self, task: str, status: Json) -> None:
        """Write the status of a pod, where no verb of the fake kubelet writes this one."""
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
        """Return the operator's counters of restarts and ends of jobs, since the story began.

        Those that are zero are left out.
        """
        ours = (
            "capstan_task_restarts_total",
            "capstan_job_restarts_total",
            "capstan_jobs_finished",
        )
        grown = self._grown()
        return {
            name: value
            for name, value in grown.items()
            if name.startswith(ours) and value and "_created" not in name
        }

    def counter(self, name: str) -> float:
        """Return by how much one of the operator's counters has grown since the story began."""
        return self._grown().get(name, 0.0)

    def _grown(self) -> dict[str, float]:
        now = self.operator.metrics()
        return {name: value - self._before.get(name, 0.0) for name, value in now.items()}

    # Waiting.

    def until(
        self, holds: Callable[[Json], object], name: str = NAME, within: float = PATIENCE_SECONDS
    ) -> Json:
        """Wait until a job has a status of which `holds` is true, and return the status."""

        def seen() -> Json | None:
            status = self.status(name)
            return status if status and holds(status) else None

        return wait.until(seen, within, lambda: json.dumps(self.status(name), indent=1))

    def until_row(
        self, task: str, within: float = PATIENCE_SECONDS, name: str = NAME, **fields: object
    ) -> Json:
        """Wait until the row of a task has these fields, and return it; "" is an absent field."""

        def shows(status: Json) -> bool:
            one = row(status, task)
            return all(one.get(field, "") == value for field, value in fields.items())

        return row(self.until(shows, name, within), task)

    def until_running(self, task: str, attempt: int, name: str = NAME) -> Json:
        """Wait until this attempt of a task runs, and the job too; return the status."""
        return self.until(
            lambda status: (
                status["phase"] == "Running"
                and row(status, task)["attempt"] == attempt
                and row(status, task)["state"] in ("Running", "Succeeded")
            ),
            name,
        )

    def wait_said(self, reason: str, within: float = PATIENCE_SECONDS) -> str:
        """Wait for an event with this reason, and return the note of the last one."""
        notes = wait.until(
            lambda: self.notes(reason), within, lambda: f"no {reason} in {self.news()}"
        )
        return notes[-1]


def row(status: Json, task: str) -> Json:
    """Return the row of a task. Raises AssertionError if the status has none."""
    rows = {row["name"]: row for row in status.get("tasks", ())}
    assert task in rows, f"no row {task} in {status}"
    found: Json = rows[task]
    return found


def condition(status: Json, kind: str) -> Json:
    """Return the condition of this type; empty if there is none."""
    return next((one for one in status.get("conditions", ()) if one["type"] == kind), {})
