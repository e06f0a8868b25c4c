"""The loop of the fake kubelet. It starts the pods that are bound to its nodes, and ends deleted
pods.

It serves several nodes at once. It sees pods only through the API, and the real scheduler
binds them.
"""

import calendar
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import urllib3

from testbed import pods, podstatus, registry
from testbed.api import STAMP, STRATEGIC, Api, ApiError, now

Json = dict[str, Any]
Act = Callable[[Json], None]

_WRITERS = 8
_AGAIN_SECONDS = 0.5
"""The pause before an act is repeated that the server did not carry out."""


class PodSync:
    """The pods of several nodes. Threads may share it."""

    def __init__(self, api: Api, nodes: int = 3) -> None:
        """Do nothing before `start`."""
        self.nodes = [f"fake-{number}" for number in range(nodes)]
        self.faults: list[str] = []
        self._api = api
        self._changed = threading.Condition()
        # The lock of the condition guards all attributes below.
        self._pods: dict[str, Json] = {}
        self._busy: set[str] = set()
        self._begun: set[str] = set()
        self._at_start: dict[str, Act] = {}
        self._stubborn: set[str] = set()
        self._silent: set[str] = set()
        self._paused = False
        self._closed = False
        self._writers = ThreadPoolExecutor(_WRITERS, "kubelet-writer")
        self._watcher = threading.Thread(target=self._watch, name="kubelet", daemon=True)

    def start(self) -> None:
        """Register the nodes and begin. Returns when pods can be scheduled on them."""
        for node in self.nodes:
            registry.register(self._api, node)
        self._watcher.start()
        registry.wait_untainted(self._api)

    def close(self) -> None:
        """Stop, also if `start` has failed. The nodes remain registered."""
        with self._changed:
            self._closed = True
        if self._watcher.is_alive():
            self._watcher.join()
        self._writers.shutdown(cancel_futures=True)

    def run(self, pod: Json | str) -> None:
        """Let the pod run and be ready."""
        self._write(pod, lambda old: podstatus.running(old, now()))

    def _watch(self) -> None:
        """Follow all pods of all nodes until `close`. Start again whenever the server goes away."""
        version = ""
        while not self._closed:
            try:
                version = self._look(version)
            except (ApiError, urllib3.exceptions.HTTPError):
                version = ""
                with self._changed:
                    self._changed.wait(0.2)

    def _look(self, version: str) -> str:
        """Watch pods for a short time, so that the kubelet notices `close`. Return the version from
        which the next watch must start.
        """
        bound = {"fieldSelector": "spec.nodeName!="}
        if not version:
            listed = self._api.get("/api/v1/pods", **bound)
            with self._changed:
                self._pods = {pods.key(pod): pod for pod in listed["items"]}
            self._sync_all()
            version = listed["metadata"]["resourceVersion"]
        for kind, pod in self._api.watch("/api/v1/pods", version, seconds=2, **bound):
            version = pod["metadata"]["resourceVersion"]
            if kind == "BOOKMARK":
                continue
            with self._changed:
                if kind == "DELETED":
                    self._pods.pop(pods.key(pod), None)
                    continue
                if not pods.is_newer(pod, self._pods.get(pods.key(pod))):
                    continue
                self._pods[pods.key(pod)] = pod
            self._sync(pod)
        return version

    def _sync_all(self) -> None:
        with self._changed:
            known = list(self._pods.values())
        for pod in known:
            self._sync(pod)

    def _sync(self, pod: Json) -> None:
        """Start or end the pod in a thread of the pool, if the pod must start or end."""
        node = pod["spec"].get("nodeName")
        with self._changed:
            if self._closed or self._paused or node in self._silent or node not in self.nodes:
                return
            uid = pod["metadata"]["uid"]
            if "deletionTimestamp" in pod["metadata"]:
                self._writers.submit(self._unless_gone, self._end, pod)
            elif uid not in self._begun and pod["status"]["phase"] == "Pending":
                self._begun.add(uid)
                act = self._at_start.get(pods.key(pod), self.run)
                self._writers.submit(self._unless_gone, act, pod)

    def _unless_gone(self, act: Act, pod: Json) -> None:
        """Call `act`. Ignore that the pod is gone or was replaced. Record other refusals.

        If the server is away or overloaded, the act is repeated later.
        """
        try:
            act(pod)
        except ApiError as error:
            if error.status >= 500:
                self._later(_AGAIN_SECONDS, self._repeat, act, pod)
            elif error.status not in (404, 409) and not pods.is_replaced(error):
                self.faults.append(str(error))
        except urllib3.exceptions.HTTPError:
            self._later(_AGAIN_SECONDS, self._repeat, act, pod)
        except Exception as error:  # noqa: BLE001 - `reset` raises it in a test
            self.faults.append(repr(error))

    def _repeat(self, act: Act, pod: Json) -> None:
        """Call an act again from its beginning, unless the pod has ended.

        The server may have carried out a request whose answer was lost. The watch may not have
        reported this yet, so the pod is read.
        """
        if self._closed:
            return
        try:
            newest = self._api.find(pods.path(pod))
        except (ApiError, urllib3.exceptions.HTTPError):
            self._later(_AGAIN_SECONDS, self._repeat, act, pod)
            return
        if newest is None or newest["metadata"]["uid"] != pod["metadata"]["uid"]:
            return
        phase = newest["status"]["phase"]
        is_over = "deletionTimestamp" in newest["metadata"] or act == self.run
        with self._changed:
            if phase == "Pending":
                self._begun.discard(pod["metadata"]["uid"])
            elif phase == "Running" and not is_over and not self._closed:
                self._writers.submit(self._unless_gone, act, newest)
        self._sync(newest)

    def _later(self, seconds: float, act: Callable[..., object], *arguments: object) -> None:
        later = threading.Timer(seconds, act, arguments)
        later.daemon = True
        later.start()

    def _end(self, pod: Json) -> None:
        """End a deleted pod: write its last status, then remove it."""
        ends = calendar.timegm(time.strptime(pod["metadata"]["deletionTimestamp"], STAMP))
        with self._changed:
            stubborn = pods.key(pod) in self._stubborn
        if stubborn and ends > time.time() and pod["status"]["phase"] == "Running":
            self._later(ends - time.time(), lambda: self._sync(self._newest(pod)))
            return
        if pod["status"]["phase"] not in ("Succeeded", "Failed"):
            code = podstatus.SIGKILLED if stubborn else podstatus.SIGTERMED
            self._write(pod, lambda old: podstatus.killed(old, now(), code))
        only_this_pod = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        self._api.delete(pods.path(pods.key(pod)), only_this_pod)

    def _write(self, pod: Json | str, change: Callable[[Json], Json]) -> None:
        """Change a pod's status. Changes of one pod never overlap."""
        manifest = self._api.get(pods.path(pod)) if isinstance(pod, str) else pod
        with self._alone(manifest["metadata"]["uid"]) as uid:
            status = change(self._newest(manifest))
            body = {"metadata": {"uid": uid}, "status": status}
            written = self._api.patch(f"{pods.path(pods.key(manifest))}/status", body, STRATEGIC)
            with self._changed:
                self._begun.add(uid)
                if pods.is_newer(written, self._pods.get(pods.key(written))):
                    self._pods[pods.key(written)] = written

    def _newest(self, pod: Json) -> Json:
        """Return the newer version of the pod: the caller's or the watch's."""
        with self._changed:
            known = self._pods.get(pods.key(pod))
        return pod if known is None or pods.is_newer(pod, known) else known

    @contextlib.contextmanager
    def _alone(self, uid: str) -> Iterator[str]:
        with self._changed:
            self._changed.wait_for(lambda: uid not in self._busy)
            self._busy.add(uid)
        try:
            yield uid
        finally:
            with self._changed:
                self._busy.discard(uid)
                self._changed.notify_all()
