"""A fake kubelet that runs no containers and writes the status of pods as a real kubelet does.

A bound pod runs and is ready at once. A deleted pod obeys SIGTERM at once (`podsync`). Tests call
methods of the kubelet for everything else.
"""

from typing import Any

from testbed import podstatus, podsync, registry
from testbed.api import now

Json = dict[str, Any]


class Kubelet(podsync.PodSync):
    """The kubelet of several nodes. Threads may share it. Methods take a pod as its manifest or as
    `namespace/name`.

    A method that changes a pod returns when the API server has the new status, and raises ApiError
    if the API server refuses it.
    """

    # Events of a pod.

    def exit(
        self,
        pod: Json | str,
        code: int,
        *,
        reason: str = "",
        message: str = "",
        container: str | None = None,
    ) -> None:
        """End a container, by default the first, with this code and termination message."""
        reason = reason or ("Error" if code else "Completed")
        end = podstatus.End(code, reason, message)
        self._write(pod, lambda old: podstatus.exited(old, now(), end, container))

    def exit_all(self, pod: Json | str, code: int) -> None:
        """End all containers with this code, in one status."""
        end = podstatus.End(code, "Error" if code else "Completed")

        def ended(old: Json) -> Json:
            for container in old["spec"]["containers"]:
                old = {**old, "status": podstatus.exited(old, now(), end, container["name"])}
            status: Json = old["status"]
            return status

        self._write(pod, ended)

    def oom(self, pod: Json | str) -> None:
        """Let the first container exceed its memory limit."""
        self.exit(pod, podstatus.SIGKILLED, reason="OOMKilled")

    def evict(self, pod: Json | str) -> None:
        """Evict the pod because its node is short of memory."""
        message = "The node was low on resource: memory."
        self._write(pod, lambda old: podstatus.evicted(old, now(), message))

    def init_fails(self, pod: Json | str, code: int = 1, message: str = "") -> None:
        """Let the first init container fail."""
        self._write(pod, lambda old: podstatus.init_failed(old, now(), code, message))

    def image_pull_fails(self, pod: Json | str) -> None:
        """Let the pod wait for an image that cannot be pulled."""
        self._write(pod, lambda old: podstatus.image_missing(old, now()))

    def unready(self, pod: Json | str) -> None:
        """Let the pod run without being ready."""
        self._write(pod, lambda old: podstatus.running(old, now(), ready=False))

    def run_at(self, pod: Json | str, address: str) -> None:
        """Let the pod run and be ready at this IP address."""
        place = {"podIP": address, "podIPs": [{"ip": address}]}
        self._write(pod, lambda old: podstatus.running(old, now()) | place)

    def at_start(self, pod: str, act: podsync.Act | None) -> None:
        """Call `act(manifest)` instead of `run` whenever a pod of this name starts.

        An example: `kubelet.at_start("space/job-worker-0", lambda pod: kubelet.exit(pod, 1))`. None
        restores `run`.
        """
        with self._changed:
            self._at_start.pop(pod, None)
            if act is not None:
                self._at_start[pod] = act

    def ignore_sigterm(self, pod: str) -> None:
        """Let pods of this name ignore SIGTERM: SIGKILL ends them after their grace period."""
        with self._changed:
            self._stubborn.add(pod)

    # Events of a node and of the kubelet.

    def join(self, node: str) -> None:
        """Serve one more node. Returns when pods can be scheduled on it."""
        with self._changed:
            self.nodes.append(node)
        registry.register(self._api, node)
        registry.wait_untainted(self._api)

    def leave(self, node: str) -> None:
        """Delete the node if it exists. The kubelet does not end the node's pods."""
        with self._changed:
            self.nodes.remove(node)
            self._silent.discard(node)
        if self._api.find(f"/api/v1/nodes/{node}") is not None:
            self._api.delete(f"/api/v1/nodes/{node}")

    def not_ready(self, node: str) -> None:
        """Silence the node: its pods neither start nor end, and it writes no status.

        Returns when the scheduler places no more pods there.
        """
        with self._changed:
            self._silent.add(node)
        registry.silence(self._api, node)

    def back(self, node: str) -> None:
        """Make the node ready again with its pods unchanged. The scheduler uses it again."""
        registry.revive(self._api, node)
        with self._changed:
            self._silent.discard(node)
        self._sync_all()

    def pause(self) -> None:
        """Stop starting and ending pods. The methods that change pods still work."""
        with self._changed:
            self._paused = True

    def resume(self) -> None:
        """Start and end the pods that were bound or deleted meanwhile, and go on doing so."""
        with self._changed:
            self._paused = False
        self._sync_all()

    def reset(self) -> None:
        """Forget the settings of a test, and make all nodes ready again.

        Raises AssertionError if the API server has refused a request that no test made.
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
