"""One operator that many stories share, each in a namespace of its own.

An operator takes seconds to start. A story that does not stop the operator and needs no flags can
share one. An operator learns its namespaces only at its start, so their names are chosen then, and
each story takes one of them. Two operators never serve the same namespace.
"""

import pathlib
from collections.abc import Mapping

from testbed import wait
from testbed.control import Cluster
from testbed.operator import LONG_LEASE, Operator
from testbed.story import JOBS

_NAMESPACES = 12
"""The number of namespaces of one operator. The operator keeps three watches open for each."""


class SharedOperator:
    """Gives each story a namespace that a running operator serves. Only one thread may use it."""

    def __init__(self, cluster: Cluster, folder: pathlib.Path, env: Mapping[str, str]) -> None:
        """Start no operator yet. Logs go to `folder`; `env` is the operators' environment."""
        self._cluster = cluster
        self._folder = folder
        self._env = env
        self._operator: Operator | None = None
        self._unused: list[str] = []
        self._started = 0

    def take(self) -> tuple[Operator, str]:
        """Return an operator that leads, and a new namespace that it serves.

        Starts a new operator if all namespaces of the current one are used up, or if that operator
        does not lead any more. Raises AssertionError and HasEnded if the new one does not start.
        """
        operator = self._operator
        if operator is None or not self._unused or not operator.leads():
            operator = self._next()
        namespace = self._unused.pop()
        self._cluster.make_namespace(namespace)
        return operator, namespace

    def give_back(self, namespace: str) -> None:
        """Delete the jobs, wait until the operator has forgotten them, and delete the namespace.

        If the pods went before their jobs, the operator would count restarts, and the next story
        would find them in its counters.
        """
        jobs = JOBS.format(namespace)
        self._cluster.api.delete(jobs, {"propagationPolicy": "Background"})
        wait.until(lambda: not self._cluster.api.list(jobs))
        operator = self._operator
        if operator is not None and operator.leads():
            wait.until(lambda: not _jobs(operator), else_show=operator.tail)
        self._cluster.api.delete(f"/api/v1/namespaces/{namespace}")

    def close(self) -> None:
        """End the operator."""
        if self._operator is not None:
            self._operator.kill()

    def _next(self) -> Operator:
        self.close()
        self._started += 1
        self._unused = [self._cluster.unused_name() for _ in range(_NAMESPACES)]
        log = self._folder / f"operator-{self._started}.log"
        flags = [LONG_LEASE, *(f"--namespace={name}" for name in self._unused)]
        # The namespaces do not exist yet, so the Lease is elsewhere. Each operator has its own.
        flags += ["--lease-namespace=default", f"--lease-name={self._unused[0]}"]
        self._operator = Operator(self._cluster.kubeconfig, log, tuple(flags), self._env)
        self._operator.wait_leading()
        return self._operator


def _jobs(operator: Operator) -> float:
    samples = operator.metrics().items()
    return sum(value for name, value in samples if name.startswith("capstan_jobs{"))
