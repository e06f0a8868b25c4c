"""One session of a master: its graph, its placement, and the signatures compiled from it."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import collector, config, function, node
from capstan.framework.ops import rowwise
from capstan.graph import infer
from capstan.placement import available, place
from capstan.services import (
    callables,
    compiler,
    debugged,
    partial_runs,
    registrations,
    repeated,
    run_metadata,
    session_graph,
    signature,
    step,
    step_run,
    worker,
)
from capstan.transport import cancellation as cancellations
from capstan.transport import interfaces

Array = np.ndarray[Any, Any]


class MasterSession:
    """One session. Thread-safe: runs and compilations are concurrent, extensions are serialized."""

    def __init__(
        self,
        home: worker.Worker,
        registered: registrations.Registrations,
        settings: config.SessionConfig,
        steps: step.Steps,
        *,
        is_in_process: bool,
    ) -> None:
        """Open a session of an empty graph.

        `home` is the worker of the master's task. `registered` has the handle and the tasks of the
        session, and no part yet. `is_in_process` is false in a cluster.
        """
        self.handle = registered.session
        self.settings = settings
        self._resources = home.resources
        self._home = home.task
        self._tasks = registered.tasks
        self._registrations = registered
        self._steps = steps
        incarnations = {task.name: task.status.incarnation for task in self._tasks.values()}
        self._observer = run_metadata.Observer(settings, home.task, incarnations)
        self._dumped = debugged.DumpedRuns(is_in_process=is_in_process)
        self._lock = threading.Lock()
        self._placer = place.Placer(
            available.Available(
                {
                    device.name: task.status.kernels
                    for task in self._tasks.values()
                    for device in task.status.devices
                }
            ),
            settings.allow_soft_placement,
        )
        self._compiler = compiler.Compiler(home.task, self._placer, self._registrations)
        self._graph = session_graph.SessionGraph()
        self._requests: dict[signature.Signature, signature.Request] = {}
        self._variants: dict[signature.Signature, signature.Variants] = {}
        self._repeated: dict[signature.Signature, repeated.Repeated | None] = {}
        self.partial_runs = partial_runs.PartialRuns(
            self.handle, home.task, home.resources, steps, lambda: self._graph, self._compile
        )
        self.callables = callables.Callables(lambda: self._graph)

    def begin(
        self, nodes: Sequence[node.Node], functions: Sequence[function.Function] = ()
    ) -> None:
        """Make `nodes` the graph at version 0. They may call `functions`.

        Raises:
            InvalidArgumentError: two nodes, or two different functions, have one name.
        """
        with self._lock, collector.paused(len(nodes)):
            self._graph = self._graph.extended(nodes, self._placer, 0, functions)

    def extend(
        self,
        nodes: Sequence[node.Node],
        version: int,
        functions: Sequence[function.Function] = (),
    ) -> int:
        """Add `nodes` and `functions` to the graph at `version`. Return the new version.

        If this raises, the graph has none of them. A function may be sent again.

        A node that cannot be placed fails the steps that need it, not the extension.

        Raises:
            AbortedError: the graph is at another version.
            InvalidArgumentError: the graph already has a node, or another function, with the name
                of a new one.
        """
        with self._lock:
            if self._graph.version != version:
                raise errors.AbortedError(
                    None,
                    None,
                    f"Session {self.handle} is at graph version {self._graph.version}, not "
                    f"{version}: another client extended it; create a new session",
                )
            with collector.paused(len(nodes)):
                extended = self._graph.extended(nodes, self._placer, version + 1, functions)
            resizes_more = extended.resized != self._graph.resized
            self._graph = extended
            if resizes_more:
                # The steps compiled so far rely on the old shapes of these variables.
                self._requests, self._variants, self._repeated = {}, {}, {}
                self.partial_runs.forget_steps()
            elif any(rowwise.adds_elements(new) for new in nodes):
                # A new operation may share the queue of a repeated step (`repeated.find`).
                self._repeated = {}
        return version + 1

    def placed(self, nodes: Sequence[node.Node]) -> list[tuple[str, str, str]]:
        """Return name, op and device of each node that has a device."""
        placed = self._graph.placement.devices
        return [(new.name, new.op, placed[new.name]) for new in nodes if new.name in placed]

    @property
    def placement_notes(self) -> Sequence[str]:
        """The device specifications that the last extension ignored, in TensorFlow's words."""
        return self._graph.placement.notes

    def run(
        self,
        requested: signature.Signature,
        feeds: Sequence[Array],
        deadline: float | None,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Array]:
        """Run one step. Return a copy of each fetch, in the order of the signature.

        Raises:
            OpError: as `step.Steps.run`, or the graph of the step is invalid.
        """
        self._dumped.count()
        request = self._requests.get(requested)
        if request is None:
            request = self._request(requested)
        return request.run(feeds, self._steps, deadline, cancellation)

    def repeat(
        self,
        requested: signature.Signature,
        feeds: Sequence[Array],
        deadline: float | None,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Array]:
        """Run a step that the caller repeats until it fails, or do the work of several such steps.

        Raises:
            OpError: like `run`. The steps before the failed step are done.
        """
        # An extension replaces first the graph and then this dict, if it changes such steps. Steps
        # that were found in the old graph are therefore never kept for the new graph.
        kept = self._repeated
        if requested not in kept:
            step = repeated.find(self._graph, requested, self._home, self._compile)
            kept.setdefault(requested, step)  # All threads use the step of the first thread.
        found = kept[requested]
        if found is None:
            return self.run(requested, feeds, deadline, cancellation)
        if found.run(self._steps, deadline, cancellation):
            self._dumped.count()
            return []
        mark = found.mark()
        try:
            return self.run(requested, feeds, deadline, cancellation)
        except errors.OutOfRangeError:
            if not found.gave_back(mark):
                raise
            return []  # the caller tries again

    def run_with_metadata(
        self,
        requested: signature.Signature,
        feeds: Sequence[Array],
        options: interfaces.StepOptions,
        deadline: float | None,
        cancellation: cancellations.Cancellation | None = None,
    ) -> tuple[list[Array], Any]:
        """Run one step as `run`. Return its fetches and its RunMetadata.

        The metadata is None if neither `options` nor the settings of the session ask for any. A
        step that measures its times, or dumps tensors, is compiled apart from the same step without
        times and dumps.
        """
        wanted = self._observer.wanted(options)
        watches = options.watches
        if wanted is None and not watches:
            return self.run(requested, feeds, deadline, cancellation), None
        if watches:
            requested, feeds = self._dumped.begin(requested, feeds, watches)
        else:
            self._dumped.count()
        request = self._request(requested._replace(traced=wanted is not None and wanted.step_stats))
        metadata = None

        def observe(compiled: step_run.CompiledStep, fetched: Mapping[node.Edge, Array]) -> None:
            nonlocal metadata
            if wanted is not None:
                metadata = self._observer.metadata(wanted, compiled, fetched)

        def begin(compiled: step_run.CompiledStep) -> None:
            debugged.write_graphs(compiled, watches)

        values = request.run(feeds, self._steps, deadline, cancellation, observe, begin)
        return values, metadata

    def partial_run_setup(self, requested: signature.Signature) -> str:
        """Begin a partial run of a signature, as `partial_runs.PartialRuns.begin`."""
        handle = self.partial_runs.begin(requested)
        self._dumped.count()
        return handle

    def _request(self, requested: signature.Signature) -> signature.Request:
        """Create and keep the request for a signature.

        Signatures with the same names in another order share the compiled variants.
        """
        in_order = requested.in_order()
        with self._lock:
            variants = self._variants.get(in_order)
            if variants is None:
                variants = signature.Variants(in_order, self._compile_whole)
                self._variants[in_order] = variants
            return self._requests.setdefault(requested, signature.Request(requested, variants))

    def _compile_whole(
        self,
        requested: signature.Signature,
        facts: Mapping[node.Edge, infer.Fed],
        deadline: float | None,
    ) -> step_run.CompiledStep:
        """Compile a signature over the whole graph, as `_compile`."""
        graph = self._graph
        return self._compile(graph.nodes, graph.functions, requested, facts, deadline)

    def _compile(
        self,
        nodes: Mapping[str, node.Node],
        functions: function.Library,
        requested: signature.Signature,
        facts: Mapping[node.Edge, infer.Fed],
        deadline: float | None,
    ) -> step_run.CompiledStep:
        """Compile a signature over some nodes of the graph, as `Compiler.compile`."""
        return self._compiler.compile(self._graph, nodes, functions, requested, facts, deadline)

    def close(self) -> None:
        """Cancel the steps in flight, and deregister the parts from every task.

        A task that does not answer keeps its parts until the master registers a part there again.
        """
        self._steps.close()
        self._registrations.close()
        self._resources.registry.clear([self.handle])

    def list_devices(self) -> tuple[interfaces.Device, ...]:
        """Return the devices of every task, in the order of the cluster."""
        return tuple(device for task in self._tasks.values() for device in task.status.devices)
