"""The partial runs of a session (`partial_run`): their compiled steps, and their handles."""

import functools
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import function, node
from capstan.graph import infer, portion
from capstan.resources import containers
from capstan.services import partial_run, session_graph, signature, step, step_run
from capstan.transport import cancellation as cancellations

Array = np.ndarray[Any, Any]
Compile = Callable[
    [
        Mapping[str, node.Node],
        function.Library,
        signature.Signature,
        Mapping[node.Edge, infer.Fed],
        float | None,
    ],
    step_run.CompiledStep,
]
"""Compiles a signature over some nodes, as `compiler.Compiler.compile`."""


class PartialRuns:
    """The partial runs of one session. Thread-safe."""

    def __init__(
        self,
        session: str,
        task: str,
        resources: containers.ResourceManager,
        steps: step.Steps,
        graph: Callable[[], session_graph.SessionGraph],
        compile_step: Compile,
    ) -> None:
        """Manage the partial runs of `session`, which has its staging areas on the CPU of `task`.

        `resources` are those of the task. `graph` returns the present graph of the session.
        """
        self._session = session
        self._resources = resources
        self._cpu = f"{task}/device:CPU:0"
        self._steps = steps
        self._graph = graph
        self._compile = compile_step
        self._lock = threading.Lock()
        self._setups: dict[signature.Signature, partial_run.Prepared] = {}
        self._runs: dict[str, partial_run.PartialRun] = {}
        self._numbers = itertools.count(1)

    def begin(self, requested: signature.Signature) -> str:
        """Begin a partial run of a signature, and return its handle.

        Raises:
            NotFoundError, InvalidArgumentError: as `portion.set_up`.
        """
        with self._lock:
            prepared = self._setups.get(requested)
            if prepared is None:
                prepared = self._setups[requested] = self._prepare(requested)
        number = next(self._numbers)
        handle = str(number)
        self._runs[handle] = prepared.begin(number, self._steps)
        return handle

    def run(
        self,
        handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        deadline: float | None,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Array]:
        """Run a portion of a partial run, as `partial_run.PartialRun.run`.

        Raises:
            InvalidArgumentError: there is no such partial run, or it is over.
        """
        found = self._runs.get(handle)
        if found is None:
            raise partial_run.no_such_run()
        fed = {node.parse_tensor(name): value for name, value in feeds.items()}
        wanted = list(map(node.parse_tensor, fetches))
        try:
            return found.run(fed, wanted, deadline, cancellation)
        finally:
            if found.is_over:
                self._runs.pop(handle, None)

    def forget_steps(self) -> None:
        """Forget the compiled steps. Partial runs that have begun keep theirs."""
        with self._lock:
            self._setups.clear()

    def _prepare(self, requested: signature.Signature) -> partial_run.Prepared:
        """Prepare the partial runs of a signature. Partial runs share the compiled step."""
        graph = self._graph()
        feeds, fetches = requested.edges()
        setup = portion.set_up(
            graph.nodes, feeds, fetches, requested.targets, self._session, str(next(self._numbers))
        )
        opened = portion.step(setup, self._cpu)
        names = signature.Signature((opened.number.tensor,), (), opened.targets)
        compile_step = functools.partial(self._compile, opened.nodes, graph.functions)
        request = signature.Request(names, signature.Variants(names.in_order(), compile_step))
        return partial_run.Prepared(setup, request, self._resources, self._cpu)
