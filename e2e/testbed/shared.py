"""One operator that many stories share, each in a namespace of its own.

An operator takes seconds to start, and a story that neither stops it nor gives it flags needs none
of its own. The operator is told its namespaces when it starts; stories then use them up one by one,
so that no two operators ever serve the same namespace.
"""

import pathlib
from collections.abc import Mapping

from testbed import wait
from testbed.control import Cluster
from testbed.operator import Operator
from testbed.story import JOBS

_NAMESPACES = 12
"""How many one operator process serves: it keeps three watches open for each of them."""


class SharedOperator:
    """Gives each story a namespace that one running operator serves. One thread only."""

    def __init__(self, cluster: Cluster, folder: pathlib.Path, env: Mapping[str, str]) -> None:
        """Nothing runs yet. The logs will be in `folder`; `env` is the operators' environment."""
        self._cluster = cluster
        self._folder = folder
        self._env = env
        self._operator: Operator | None = None
        self._unused: list[str] = []
        self._started = 0

    def take(self) -> tuple[Operator, str]:
        """Return an operator that leads, and a new namespace that it serves.

        Starts the next operator if all namespaces of the last one are used up, or if that one does
        not lead any more. Raises AssertionError if the next one does not come up.
        """
        operator = self._operator
        if operator is None or not self._unused or not operator.leads():
            operator = self._next()
        namespace = self._unused.pop()
        self._cluster.make_namespace(namespace)
        return operator, namespace

    def give_back(self, namespace: str) -> None:
        """Delete the namespace, once the operator has forgotten the jobs in it.

        If their pods went first, the operator would count those as restarts, and the next story
        would find that in its counters.
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
        flags = [f"--namespace={name}" for name in self._unused]
        # The namespaces come later, and every operator has a Lease of its own.
        flags += ["--lease-namespace=default", f"--lease-name={self._unused[0]}"]
        self._operator = Operator(self._cluster.kubeconfig, log, tuple(flags), self._env)
        self._operator.wait_leading()
        return self._operator


def _jobs(operator: Operator) -> float:
    samples = operator.metrics().items()
    return sum(value for name, value in samples if name.startswith("capstan_jobs{"))
