"""A watch of all pods of a namespace, to see what must not be at any moment."""

import threading
from typing import Any

import urllib3

from testbed.api import ApiError
from testbed.control import Cluster
from testbed.story import JOBS, PODS

Json = dict[str, Any]


class PodWatch:
    """Watches while the block runs. `wrong` tells of two pods of one task, and of pods of an
    attempt that the status of their job did not name yet.
    """

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        """Watch nothing yet."""
        self._cluster = cluster
        self._pods = PODS.format(namespace)
        self._jobs = JOBS.format(namespace)
        self._over = threading.Event()
        self._alive: dict[str, dict[str, str]] = {}
        self.wrong: list[str] = []
        self.made: list[tuple[str, int]] = []
        """Each pod that was made: task and attempt."""
        self.changes = 0
        """How often pods were made, changed and deleted."""
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
                self.wrong.append(f"the test's watch broke: {error}")
                return

    def _look(self) -> None:
        for kind, pod in self._cluster.api.watch(self._pods, self._version, seconds=2):
            self._version = pod["metadata"]["resourceVersion"]
            if kind != "BOOKMARK":
                self._see(kind, pod)

    def _see(self, kind: str, pod: Json) -> None:
        self.changes += 1
        task = f"{of(pod, 'job-name')}/{of(pod, 'replica-type')}-{of(pod, 'replica-index')}"
        uid = pod["metadata"]["uid"]
        alive = self._alive.setdefault(task, {})
        if kind == "DELETED":
            alive.pop(uid, None)
            return
        if kind == "ADDED":
            self.made.append((task, int(of(pod, "attempt"))))
            self._judge(task, pod)
        alive[uid] = of(pod, "attempt")
        if len(alive) > 1:
            self.wrong.append(f"{task} has two pods: attempts {sorted(alive.values())}")

    def _judge(self, task: str, pod: Json) -> None:
        """See that the status names the attempt: it must be written before the pod is made."""
        name, _, row = task.partition("/")
        attempt = int(of(pod, "attempt"))
        status = self._cluster.api.get(f"{self._jobs}/{name}").get("status", {})
        shown = {one["name"]: one["attempt"] for one in status.get("tasks", ())}.get(row, 0)
        if shown < attempt:
            self.wrong.append(f"{task} has a pod of attempt {attempt}, its status {shown}")


def of(pod: Json, label: str) -> str:
    """The value of one of Capstan's labels."""
    return str(pod["metadata"]["labels"][f"capstan.dev/{label}"])
