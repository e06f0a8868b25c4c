"""Faults at random in a cluster of real nodes: tasks, pods, nodes, the operator, the API server.

A `Chaos` keeps jobs running, injects faults, and holds each ended job to its ledger.
"""

import contextlib
import dataclasses
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime

import psutil
import urllib3

from testbed import digits
from testbed.api import ApiError
from testbed.digits import Story, container
from testbed.installation import OPERATOR
from testbed.ledger import DELETED, KILLED, Ledger, Pod
from testbed.nodes import Nodes
from testbed.process import HasEnded

PODS = "/api/v1/pods"
JOBS_AT_ONCE = 2
NODES = 3
MINUTE = 60
GONE = 410
_NEVER = threading.Event()


@dataclasses.dataclass
class Ended:
    """A job that has succeeded. `accuracy` is None if its log was lost with a node."""

    seconds: float
    restarts: dict[str, int]
    epoch: int
    accuracy: float | None


class Chaos:
    """The jobs, the faults and the ledger of one run. Only one thread may use it."""

    def __init__(self, nodes: Nodes, seed: int) -> None:
        """Begin without jobs and faults. The cluster has an operator and NODES nodes."""
        self.ended: list[Ended] = []
        self.injected: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.ledger = Ledger()
        self._nodes = nodes
        self._dice = random.Random(seed)
        self._stories: list[Story] = []
        self._submitted = 0
        self._dead: list[str] = []
        self._cut_off: dict[str, float] = {}
        with nodes.network.entered():
            found = nodes.control.api.get(PODS)
        self._version: str = found["metadata"]["resourceVersion"]
        self._faults: dict[Callable[[], str | None], int] = {
            self.kill_task: 40,
            self.delete_pod: 20,
            self.kill_operator: 15,
            self.break_api_server: 12,
            self.cut_power: 6,
            self.cut_off: 4,
        }

    def run(self, seconds: float, tell: Callable[[str], None]) -> None:
        """Inject faults for `seconds`, and then let the jobs end. `tell` gets a line a minute.

        Raises AssertionError if a job fails, or has not ended 15 minutes after the last fault.
        """
        began = time.monotonic()
        told, fault_at = began, began + MINUTE
        while time.monotonic() < began + seconds:
            self._look()
            while len(self._stories) < JOBS_AT_ONCE:
                self._submit()
            if time.monotonic() >= fault_at:
                self._inject()
                fault_at = time.monotonic() + self._dice.uniform(4, 20)
            if time.monotonic() > told + MINUTE:
                told = time.monotonic()
                tell(f"{(told - began) / MINUTE:.0f} min: {self.summary()}")
        last = time.monotonic() + 15 * MINUTE
        while self._stories:
            self._look()
            assert time.monotonic() < last, self._unfinished()
        tell(f"{(time.monotonic() - began) / MINUTE:.0f} min: {self.summary()}")

    def summary(self) -> str:
        faults = ", ".join(f"{number} {fault}" for fault, number in sorted(self.injected.items()))
        return f"{len(self.ended)} jobs ended; {faults or 'no fault yet'}; {len(self.wrong)} wrong"

    # The faults. Each returns its name, or None if there is nothing that it could hit.

    def kill_task(self) -> str | None:
        """`kill -9` a task."""
        if (victim := self._victim()) is None:
            return None
        uid, pod = victim
        if not self._kill(self._processes(pod.name, pod.job)):
            return None
        self.ledger.hit(uid, KILLED)
        return f"kill -9 of a {pod.task.partition('-')[0]}"

    def delete_pod(self) -> str | None:
        """Delete a pod as a user does."""
        if (victim := self._victim()) is None:
            return None
        uid, pod = victim
        path = f"/api/v1/namespaces/{pod.job}/pods/{pod.name}"
        try:
            with self._nodes.network.entered():
                self._nodes.control.api.delete(path, {"preconditions": {"uid": uid}})
        except ApiError:
            return None  # The job has ended.
        self.ledger.hit(uid, DELETED)
        return f"deletion of a pod of a {pod.task.partition('-')[0]}"

    def kill_operator(self) -> str | None:
        """`kill -9` the leading operator. Its pod goes too, so that no restart has to wait."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{OPERATOR}/leases/capstan-operator"
        with self._nodes.network.entered():
            lease = self._nodes.control.api.get(path)
        leader, _, _ = (lease["spec"].get("holderIdentity") or "").partition("_")
        if not self._kill(self._processes(leader, OPERATOR, "operator")):
            return None
        with self._nodes.network.entered(), contextlib.suppress(ApiError):
            self._nodes.control.api.delete(f"/api/v1/namespaces/{OPERATOR}/pods/{leader}")
        return "kill -9 of the operator"

    def break_api_server(self) -> str:
        """Freeze or kill the API server for some seconds, and kill a task in this time."""
        control = self._nodes.control
        victim = self._victim()
        processes = self._processes(victim[1].name, victim[1].job) if victim else []
        freezes = self._dice.random() < 0.5
        if freezes:
            control.freeze_api_server()
        else:
            control.stop_api_server()
        _NEVER.wait(self._dice.uniform(0.5, 3))
        if victim and self._kill(processes):
            self.ledger.hit(victim[0], KILLED)
        _NEVER.wait(self._dice.uniform(0.5, 7))
        with self._nodes.network.entered():
            control.recover()
        return "freeze of the API server" if freezes else "kill -9 of the API server"

    def cut_power(self) -> str | None:
        """Cut the power of a node. A new node takes its place."""
        if (node := self._node()) is None:
            return None
        self._nodes.kill_node(node)
        self.ledger.lose(node)
        self._dead.append(node)
        self._nodes.add_nodes(1)
        return "loss of a node's power"

    def cut_off(self) -> str | None:
        """Cut a node's connection to the API server. The node loses its power a minute later."""
        if self._cut_off or (node := self._node()) is None:
            return None
        self._nodes.cut_off(node)
        self.ledger.lose(node)
        self._cut_off[node] = time.monotonic()
        self._nodes.add_nodes(1)
        return "loss of a node's connection to the API server"

    # Jobs and nodes.

    def _inject(self) -> None:
        [fault] = self._dice.choices(list(self._faults), weights=list(self._faults.values()))
        if name := fault():
            self.injected[name] += 1

    def _look(self) -> None:
        """Read the events of three seconds, check ended jobs, and remove nodes without power."""
        try:
            with self._nodes.network.entered():
                # A scheduler ends itself if a restart of the API server has confused its cache.
                self._nodes.control.recover()
                self._read_events()
        except urllib3.exceptions.HTTPError:
            return  # The API server is starting.
        for story in list(self._stories):
            self._check(story)
        self._remove_dead_nodes()

    def _read_events(self) -> None:
        api = self._nodes.control.api
        try:
            for kind, pod in api.watch(PODS, self._version, seconds=3):
                self._version = pod["metadata"]["resourceVersion"]
                if kind != "BOOKMARK":
                    self.ledger.see(kind, pod)
        except ApiError as refusal:
            # A new API server has no old events.
            if refusal.status != GONE:
                raise
            found = api.get(PODS)
            self._version = found["metadata"]["resourceVersion"]
            self.ledger.see_all(found["items"])

    def _submit(self) -> None:
        """Start a job of some two minutes. Every third job encrypts its connections."""
        story = Story(self._nodes, self._namespace())
        job = digits.slow_example()
        container(job, "worker")["command"] = [*digits.TRAIN_SLOWLY, "--steps=6000"]
        pace = {"SLOW_SECONDS": "0.03", "SLOW_ATTEMPTS": "1000000"}
        container(job, "worker")["env"] = [
            {"name": name, "value": value} for name, value in pace.items()
        ]
        job["spec"]["runPolicy"] |= {
            "backoffLimit": 1000,
            "infrastructureBackoffLimit": 1000,
            "restartBackoff": {"initialSeconds": 1, "factor": 1},
        }
        if self._submitted % 3 == 2:
            job["spec"]["cluster"] = {"tls": {"mode": "Mutual"}}
        digits.keep_checkpoints(self._nodes, job, story.namespace)
        story.submit(job)
        self._stories.append(story)
        self._submitted += 1

    def _namespace(self) -> str:
        """Make a namespace. If a program of the control plane ends meanwhile, start it again."""
        while True:
            try:
                return self._nodes.namespace()
            except HasEnded:
                with self._nodes.network.entered():
                    self._nodes.control.recover()

    def _check(self, story: Story) -> None:
        """Hold a job to its ledger if the job has ended."""
        status = story.status()
        if status["phase"] not in ("Succeeded", "Failed"):
            return
        self._stories.remove(story)
        assert status["phase"] == "Succeeded", json.dumps(status, indent=1)
        ended = datetime.fromisoformat(status["completionTime"])
        began = datetime.fromisoformat(status["startTime"])
        found = re.search(r"test accuracy (0\.\d+)", self._log(story))
        accuracy = float(found[1]) if found else None
        self.ended.append(
            Ended((ended - began).total_seconds(), status["restarts"], status["epoch"], accuracy)
        )
        faults = self.ledger.faults_in(story.namespace, status, ended.timestamp())
        self.wrong += [f"{story.namespace}: {fault}" for fault in faults]
        if accuracy is None and not self._was_lost(story.namespace):
            self.wrong.append(f"{story.namespace}: worker-0 did not print its accuracy")
        elif accuracy is not None and accuracy <= 0.9:
            self.wrong.append(f"{story.namespace}: the accuracy is {accuracy}")
        self._nodes.kubectl("delete", "namespace", story.namespace, "--wait=false")

    def _log(self, story: Story) -> str:
        """Return the log of worker 0, or an empty string if its node does not answer."""
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            return story.log("worker-0")
        return ""

    def _was_lost(self, job: str) -> bool:
        """Return whether the last pod of worker 0 was on a node that is gone."""
        pods = [
            pod for pod in self.ledger.pods.values() if (pod.job, pod.task) == (job, "worker-0")
        ]
        return pods[-1].is_lost()

    def _victim(self) -> tuple[str, Pod] | None:
        """Draw a running pod that no fault has hit and that the status of its job names."""
        named = {
            row["uid"]
            for story in self._stories
            for row in story.status()["tasks"]
            if "uid" in row and row["state"] in ("Starting", "Running")
        }
        running = [(uid, pod) for uid, pod in self.ledger.unhurt().items() if uid in named]
        return self._dice.choice(running) if running else None

    def _processes(
        self, pod: str, namespace: str, container: str = "trainer"
    ) -> list[psutil.Process]:
        """Return the processes of a container. There are none if its pod or its node is gone."""
        try:
            ids = self._nodes.processes(pod, namespace=namespace, container=container)
            return [psutil.Process(number) for number in ids]
        except (AssertionError, KeyError, psutil.NoSuchProcess):
            return []

    def _kill(self, processes: list[psutil.Process]) -> bool:
        """`kill -9` the first process of a container. Return whether it ran."""
        try:
            processes[0].kill()
        except (IndexError, psutil.NoSuchProcess):
            return False
        return True

    def _node(self) -> str | None:
        """Draw a node that works. Return None if the cluster needs all its nodes."""
        working = sorted(set(self._nodes.nodes) - set(self._cut_off))
        return self._dice.choice(working) if len(working) >= NODES else None

    def _remove_dead_nodes(self) -> None:
        """End nodes that were cut off a minute ago, and delete nodes whose pods are replaced."""
        for node, since in list(self._cut_off.items()):
            if time.monotonic() > since + MINUTE:
                del self._cut_off[node]
                self._nodes.kill_node(node)
                self._dead.append(node)
        for node in list(self._dead):
            if not any(pod.node == node for pod in self.ledger.alive().values()):
                self._dead.remove(node)
                self._nodes.kubectl("delete", "node", node)

    def _unfinished(self) -> str:
        return "\n".join(json.dumps(story.status(), indent=1) for story in self._stories)


def table(chaos: Chaos, minutes: float) -> list[str]:
    """Return the lines of a Markdown table of a run."""
    restarts: Counter[str] = Counter()
    for job in chaos.ended:
        restarts.update(job.restarts)
    accuracies = [job.accuracy for job in chaos.ended if job.accuracy is not None]
    rows: list[tuple[str, object]] = [
        ("minutes of faults", f"{minutes:g}"),
        *((name, number) for name, number in sorted(chaos.injected.items())),
        ("jobs that succeeded", len(chaos.ended)),
        ("lowest accuracy", f"{min(accuracies, default=0):.3f}"),
        ("jobs whose accuracy was lost with a node", len(chaos.ended) - len(accuracies)),
        ("pods created", len(chaos.ledger.pods)),
        ("pods that a fault hit", sum(bool(pod.faults) for pod in chaos.ledger.pods.values())),
        ("restarts charged to `backoffLimit`", restarts["application"]),
        ("restarts charged to `infrastructureBackoffLimit`", restarts["infrastructure"]),
        ("restarts lost or counted twice, pods too many", len(chaos.wrong)),
    ]
    return ["| | |", "|---|---:|", *(f"| {name} | {value} |" for name, value in rows)]
