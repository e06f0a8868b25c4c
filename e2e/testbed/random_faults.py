"""Faults of a cluster of real nodes: tasks, pods, nodes, the operator, the API server."""

import contextlib
import random
import threading
import time
from collections.abc import Callable

import psutil

from testbed.api import ApiError
from testbed.installation import OPERATOR
from testbed.ledger import DELETED, KILLED, Ledger, Pod
from testbed.nodes import Nodes

NODES = 3
"""The number of nodes that a cluster needs besides the one that is lost."""
_CUT_OFF_SECONDS = 60
_NEVER = threading.Event()


class Faults:
    """Draws faults, and records in the ledger which pods they hit. Only one thread may use it.

    `named` returns the UIDs of the pods that the statuses of unfinished jobs name.
    """

    def __init__(
        self,
        nodes: Nodes,
        ledger: Ledger,
        dice: random.Random,
        named: Callable[[], set[str]],
    ) -> None:
        self._nodes = nodes
        self._ledger = ledger
        self._dice = dice
        self._named = named
        self._dead: list[str] = []
        self._cut_off: dict[str, float] = {}
        self._shares: dict[Callable[[], str | None], int] = {
            self.kill_task: 40,
            self.delete_pod: 20,
            self.kill_operator: 15,
            self.break_api_server: 12,
            self.cut_power: 6,
            self.cut_off: 4,
        }

    def inject(self) -> str | None:
        """Draw a fault and let it happen. Return its name, or None if it could hit nothing."""
        [fault] = self._dice.choices(list(self._shares), weights=list(self._shares.values()))
        return fault()

    # Each fault returns its name, or None if there is nothing that it could hit.

    def kill_task(self) -> str | None:
        """`kill -9` a task."""
        if (victim := self._victim()) is None:
            return None
        uid, pod = victim
        if not self._kill(self._processes(pod.name, pod.job)):
            return None
        self._ledger.hit(uid, KILLED)
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
        self._ledger.hit(uid, DELETED)
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
            self._ledger.hit(victim[0], KILLED)
        _NEVER.wait(self._dice.uniform(0.5, 7))
        with self._nodes.network.entered():
            control.recover()
        return "freeze of the API server" if freezes else "kill -9 of the API server"

    def cut_power(self) -> str | None:
        """Cut the power of a node. A new node takes its place."""
        if (node := self._node()) is None:
            return None
        self._nodes.kill_node(node)
        self._ledger.lose(node)
        self._dead.append(node)
        self._nodes.add_nodes(1)
        return "loss of a node's power"

    def cut_off(self) -> str | None:
        """Cut a node's connection to the API server. The node loses its power a minute later."""
        if self._cut_off or (node := self._node()) is None:
            return None
        self._nodes.cut_off(node)
        self._ledger.lose(node)
        self._cut_off[node] = time.monotonic()
        self._nodes.add_nodes(1)
        return "loss of a node's connection to the API server"

    def remove_dead_nodes(self) -> None:
        """End nodes that were cut off a minute ago, and delete nodes whose pods are replaced."""
        for node, since in list(self._cut_off.items()):
            if time.monotonic() > since + _CUT_OFF_SECONDS:
                del self._cut_off[node]
                self._nodes.kill_node(node)
                self._dead.append(node)
        for node in list(self._dead):
            if not any(pod.node == node for pod in self._ledger.alive().values()):
                self._dead.remove(node)
                self._nodes.kubectl("delete", "node", node)

    def _victim(self) -> tuple[str, Pod] | None:
        """Draw a running pod that no fault has hit and that the status of its job names."""
        named = self._named()
        running = [(uid, pod) for uid, pod in self._ledger.unhurt().items() if uid in named]
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
