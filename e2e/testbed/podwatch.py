"""A watch of all pods of a namespace. It records states that must never occur."""

import threading
from typing import Any

import urllib3

from testbed.api import ApiError
from testbed.control import Cluster
from testbed.story import JOBS, PODS

Json = dict[str, Any]


class PodWatch:
    """Watches pods while its block runs. `faults` describes each task that had two pods at once,
    and each pod whose attempt was not yet in the status of its job.
    """

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        """Prepare the watch. The block starts it."""
        self._cluster = cluster
        self._pods = PODS.format(namespace)
        self._jobs = JOBS.format(namespace)
        self._over = threading.Event()
        self._alive: dict[str, dict[str, str]] = {}
        self.faults: list[str] = []
        self.created: list[tuple[str, int]] = []
        """The task and the attempt of each created pod."""
        self.changes = 0
        """The number of creations, changes and deletions of pods."""
        self._thread = threading.Thread(target=self._run, name="pod-watch")

    def __enter__(self) -> "PodWatch":
        self._version = self._cluster.api.get(self._pods)["metadata"]["resourceVersion"]
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._look()
            except (ApiError, urllib3.exceptions.HTTPError) as error:
                self.faults.append(f"the test's watch broke: {error}")
                return

    def _look(self) -> None:
        # The API server sends a bookmark two seconds before the end of a watch. Without bookmarks,
        # the version of a quiet namespace would become too old.
        for kind, pod in self._cluster.api.watch(self._pods, self._version, seconds=4):
            self._version = pod["metadata"]["resourceVersion"]
            if kind != "BOOKMARK":
                self._see(kind, pod)

    def _see(self, kind: str, pod: Json) -> None:
        self.changes += 1
        name = f"{label(pod, 'replica-type')}-{label(pod, 'replica-index')}"
        task = f"{label(pod, 'job-name')}/{name}"
        uid = pod["metadata"]["uid"]
        alive = self._alive.setdefault(task, {})
        if kind == "DELETED":
            alive.pop(uid, None)
            return
        if kind == "ADDED":
            self.created.append((task, int(label(pod, "attempt"))))
            self._check_status(task, pod)
        alive[uid] = label(pod, "attempt")
        if len(alive) > 1:
            self.faults.append(f"{task} has two pods: attempts {sorted(alive.values())}")

    def _check_status(self, task: str, pod: Json) -> None:
        """Check that the status names the pod's attempt: the operator must write the status before
        it creates the pod.
        """
        job_name, _, name = task.partition("/")
        attempt = int(label(pod, "attempt"))
        status = self._cluster.api.get(f"{self._jobs}/{job_name}").get("status", {})
        attempts = {row["name"]: row["attempt"] for row in status.get("tasks", ())}
        shown = attempts.get(name, 0)
        if shown < attempt:
            self.faults.append(f"{task} has a pod of attempt {attempt}, its status {shown}")


def label(pod: Json, name: str) -> str:
    """Return the value of the pod's label `capstan.dev/NAME`."""
    return str(pod["metadata"]["labels"][f"capstan.dev/{name}"])
