"""A kubelet that runs nothing: it writes the status that a real one writes when pods start and end.

It is the kubelet of several nodes at once, sees pods through the API alone, and lets the real
scheduler bind them. A pod that is bound runs and is ready at once; one that is deleted obeys
SIGTERM at once. Tests call its methods for anything else.
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


class Kubelet:
    """May be used by several threads at once. A pod is its manifest or `namespace/name`.

    Every verb returns when the API server has the new status, and raises ApiError if it refuses.
    """

    def __init__(self, api: Api, nodes: int = 3) -> None:
        """Nothing happens before `start`."""
        self.nodes = [f"fake-{number}" for number in range(nodes)]
        self.faults: list[str] = []
        self._api = api
        self._changed = threading.Condition()
        # All below belongs to the condition's lock.
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
        """Register the nodes and begin; returns when pods can be scheduled there."""
        for node in self.nodes:
            registry.register(self._api, node)
        self._watcher.start()
        registry.wait_untainted(self._api)

    def close(self) -> None:
        """Stop; the nodes stay registered."""
        with self._changed:
            self._closed = True
        self._watcher.join()
        self._writers.shutdown(cancel_futures=True)

    # Events in the life of a pod.

    def exit(
        self,
        pod: Json | str,
        code: int,
        *,
        reason: str = "",
        message: str = "",
        container: str | None = None,
    ) -> None:
        """A container ends, by default the first; what is in `message` is its last words."""
        reason = reason or ("Error" if code else "Completed")
        end = podstatus.End(code, reason, message)
        self._write(pod, lambda seen: podstatus.exited(seen, now(), end, container))

    def oom(self, pod: Json | str) -> None:
        """The first container takes more memory than it may."""
        self.exit(pod, podstatus.SIGKILLED, reason="OOMKilled")

    def evict(self, pod: Json | str) -> None:
        """The node is short of memory."""
        message = "The node was low on resource: memory."
        self._write(pod, lambda seen: podstatus.evicted(seen, now(), message))

    def init_fails(self, pod: Json | str, code: int = 1, message: str = "") -> None:
        """The first init container fails."""
        self._write(pod, lambda seen: podstatus.init_failed(seen, now(), code, message))

    def image_pull_fails(self, pod: Json | str) -> None:
        """The pod waits for its image."""
        self._write(pod, lambda seen: podstatus.image_missing(seen, now()))

    def unready(self, pod: Json | str) -> None:
        """The pod runs, and is not ready."""
        self._write(pod, lambda seen: podstatus.running(seen, now(), ready=False))

    def run(self, pod: Json | str) -> None:
        """The pod runs and is ready (again)."""
        self._write(pod, lambda seen: podstatus.running(seen, now()))

    def at_start(self, pod: str, act: Act | None) -> None:
        """Do `act(manifest)`, one of the verbs above, whenever a pod of this name is to start.

        `kubelet.at_start("space/job-worker-0", lambda pod: kubelet.exit(pod, 1))`; None is for
        running again, as pods do otherwise.
        """
        with self._changed:
            self._at_start.pop(pod, None)
            if act is not None:
                self._at_start[pod] = act

    def ignore_sigterm(self, pod: str) -> None:
        """A pod of this name takes all of its grace period to end, and ends by SIGKILL."""
        with self._changed:
            self._stubborn.add(pod)

    # Events in the life of a node, and of the kubelet.

    def join(self, node: str) -> None:
        """Be the kubelet of one more node; returns when pods can be scheduled there."""
        with self._changed:
            self.nodes.append(node)
        registry.register(self._api, node)
        registry.wait_untainted(self._api)

    def leave(self, node: str) -> None:
        """Delete the node, unless it is deleted already. Its kubelet does not end its pods."""
        with self._changed:
            self.nodes.remove(node)
            self._silent.discard(node)
        if self._api.find(f"/api/v1/nodes/{node}") is not None:
            self._api.delete(f"/api/v1/nodes/{node}")

    def not_ready(self, node: str) -> None:
        """The node falls silent: its pods neither start nor end, and it writes no status.

        Returns when the scheduler places no more pods there.
        """
        with self._changed:
            self._silent.add(node)
        registry.silence(self._api, node)

    def back(self, node: str) -> None:
        """The node is ready again, with its pods as they were, and the scheduler uses it again."""
        registry.revive(self._api, node)
        with self._changed:
            self._silent.discard(node)
        self._sync_all()

    def pause(self) -> None:
        """Pods neither start nor end by themselves; verbs still work."""
        with self._changed:
            self._paused = True

    def resume(self) -> None:
        """Start and end the pods that were to start or end meanwhile."""
        with self._changed:
            self._paused = False
        self._sync_all()

    def reset(self) -> None:
        """Forget the arrangements of tests, and have all nodes back.

        Raises AssertionError if the server has refused a request that this kubelet made by itself.
        """
        with self._changed:
            self._at_start.clear()
            self._stubborn.clear()
            silent = sorted(self._silent)
        for node in silent:
            self.back(node)
        self.resume()
        faults, self.faults = self.faults, []
        assert not faults, "the fake kubelet: " + "; ".join(faults)

    # The inside.

    def _watch(self) -> None:
        """See all pods of all nodes until closed; begin anew whenever the server goes away."""
        version = ""
        while not self._closed:
            try:
                version = self._look(version)
            except (ApiError, urllib3.exceptions.HTTPError):
                version = ""
                with self._changed:
                    self._changed.wait(0.2)

    def _look(self, version: str) -> str:
        """Watch for a short time, so as to notice the end, and return where to go on."""
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
        """Start or end a pod that is to be started or ended, elsewhere."""
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
        """Act. It is no fault if the pod is gone, or another has its name.

        If the server was away or overloaded, act again later.
        """
        try:
            act(pod)
        except ApiError as error:
            if error.status == 429 or error.status >= 500:
                self._again(pod)
            elif error.status not in (404, 409) and not pods.is_replaced(error):
                self.faults.append(str(error))
        except urllib3.exceptions.HTTPError:
            self._again(pod)
        except Exception as error:  # noqa: BLE001 - `reset` shows it, where a test can fail
            self.faults.append(repr(error))

    def _again(self, pod: Json) -> None:
        with self._changed:
            self._begun.discard(pod["metadata"]["uid"])
        self._later(0.5, pod)

    def _later(self, seconds: float, pod: Json) -> None:
        # The server may have done it, though its answer was lost.
        later = threading.Timer(seconds, lambda: self._sync(self._newest(pod)))
        later.daemon = True
        later.start()

    def _end(self, pod: Json) -> None:
        """The pod's processes end, its last status is written, and then it is gone."""
        ends = calendar.timegm(time.strptime(pod["metadata"]["deletionTimestamp"], STAMP))
        with self._changed:
            stubborn = pods.key(pod) in self._stubborn
        if stubborn and ends > time.time() and pod["status"]["phase"] == "Running":
            self._later(ends - time.time(), pod)
            return
        if pod["status"]["phase"] not in ("Succeeded", "Failed"):
            code = podstatus.SIGKILLED if stubborn else podstatus.SIGTERMED
            self._write(pod, lambda seen: podstatus.killed(seen, now(), code))
        of_this = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        self._api.delete(pods.path(pods.key(pod)), of_this)

    def _write(self, pod: Json | str, change: Callable[[Json], Json]) -> None:
        """Change a pod's status, one change of a pod at a time."""
        seen = self._api.get(pods.path(pod)) if isinstance(pod, str) else pod
        with self._alone(seen["metadata"]["uid"]) as uid:
            status = change(self._newest(seen))
            body = {"metadata": {"uid": uid}, "status": status}
            written = self._api.patch(f"{pods.path(pods.key(seen))}/status", body, STRATEGIC)
            with self._changed:
                self._begun.add(uid)
                if pods.is_newer(written, self._pods.get(pods.key(written))):
                    self._pods[pods.key(written)] = written

    def _newest(self, pod: Json) -> Json:
        """Return the newer version of the pod: the caller's, or that of the watch."""
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
