"""Profiles of a graph and of the steps of a session (python/profiler/model_analyzer.py)."""

import sys
from collections.abc import Mapping
from typing import Any, Final

from capstan.api.profiler import advice, reports
from capstan.api.profiler.op_log import merge_default_with_oplog
from capstan.api.profiler.option_builder import ProfileOptionBuilder
from capstan.api.profiler.options import parse
from capstan.api.profiler.profile_data import ProfileData
from capstan.errors import InvalidArgumentError
from capstan.framework.graph import get_default_graph

ALL_ADVICE: Final[Mapping[str, Mapping[str, str]]] = {
    "ExpensiveOperationChecker": {},
    "AcceleratorUtilizationChecker": {},
    "JobChecker": {},
    "OperationChecker": {},
}
"""The options of every checker of `advise`. TensorFlow has no public JobChecker."""


class Profiler:
    """A profile of several steps of a graph.

        profiler = tf.profiler.Profiler(session.graph)
        session.run(train_op, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
                    run_metadata=metadata)
        profiler.add_step(step, metadata)
        profiler.profile_operations(tf.profiler.ProfileOptionBuilder.time_and_memory())

    A process may have several profilers.
    """

    def __init__(self, graph: Any = None, op_log: Any = None) -> None:
        """Profile `graph`, or the default graph. `op_log` adds types of nodes, an OpLogProto."""
        self._graph = graph or get_default_graph()
        self._data = _data(self._graph, merge_default_with_oplog(self._graph, op_log))

    def add_step(self, step: int, run_meta: Any) -> None:
        """Add the RunMetadata of a traced run. A step may have the metadata of several runs."""
        op_log = merge_default_with_oplog(self._graph, run_meta=run_meta)
        self._data.add_graph(self._graph.as_graph_def(add_shapes=True))
        self._data.add_step(step, run_meta)
        self._data.add_op_log(op_log)

    def profile_python(self, options: Mapping[str, Any]) -> Any:
        """Show the lines of the program, and return a MultiGraphNodeProto."""
        return _show(self._data, "code", options)

    def profile_operations(self, options: Mapping[str, Any]) -> Any:
        """Show the op types, and return a MultiGraphNodeProto."""
        return _show(self._data, "op", options)

    def profile_name_scope(self, options: Mapping[str, Any]) -> Any:
        """Show the nodes below their name scopes, and return a GraphNodeProto."""
        return _show(self._data, "scope", options)

    def profile_graph(self, options: Mapping[str, Any]) -> Any:
        """Show the nodes above their inputs, and return a GraphNodeProto."""
        return _show(self._data, "graph", options)

    def advise(self, options: Mapping[str, Mapping[str, str]] | None) -> Any:
        """Print what makes the last step slow, and return an AdviceProto.

        `options` has an entry for each checker that is to run, as ALL_ADVICE.
        """
        return advice.advise(self._data, options or {})

    def serialize_to_string(self) -> bytes:
        """Return the profile as a serialized ProfileProto, for programs that read it."""
        serialized: bytes = self._data.encode().SerializeToString()
        return serialized


def profile(
    graph: Any = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Mapping[str, Any] | int = 0,
) -> Any:
    """Show a view of a graph, and return it as a message.

    Args:
        graph: the graph, or None for the default graph.
        run_meta: the RunMetadata of a traced run, for times, memory and shapes.
        op_log: an OpLogProto, for types of nodes.
        cmd: the view: "scope" (nodes below their name scopes), "graph" (nodes above their inputs),
            "op" (op types) or "code" (lines of the program). The lines are the innermost five
            calls of the program that made each node. Those of Capstan are left out.
        options: options of a ProfileOptionBuilder. The default shows the trainable variables.

    Returns:
        A GraphNodeProto of the views "scope" and "graph", or else a MultiGraphNodeProto. It has
        the totals of all nodes, such as `total_float_ops` and `total_parameters`.

    Raises:
        InvalidArgumentError: there is no such view, or the options have an unknown output.
    """
    if cmd not in ("scope", "graph", "op", "code"):
        raise InvalidArgumentError(None, None, f"unknown cmd: {cmd}\n")
    graph = graph or get_default_graph()
    merged = merge_default_with_oplog(graph, op_log, run_meta, add_trace=cmd == "code")
    data = _data(graph, merged, run_meta)
    return _show(data, cmd, options or ProfileOptionBuilder.trainable_variables_parameter())


def advise(
    graph: Any = None, run_meta: Any = None, options: Mapping[str, Mapping[str, str]] | int = 0
) -> Any:
    """Print what makes a step slow, and return an AdviceProto.

    The arguments are those of `profile`. `options` has an entry for each checker that is to run.
    The default runs all.
    """
    graph = graph or get_default_graph()
    merged = merge_default_with_oplog(graph, None, run_meta, add_trace=True)
    checkers: Any = options or ALL_ADVICE
    return advice.advise(_data(graph, merged, run_meta), checkers)


def _data(graph: Any, op_log: Any, run_meta: Any = None) -> ProfileData:
    sys.stdout.write("Parsing Inputs...\n")
    data = ProfileData(graph.as_graph_def(add_shapes=True))
    if run_meta is not None and run_meta.HasField("step_stats"):
        data.add_step(0, run_meta)
    data.add_op_log(op_log)
    return data


def _show(data: ProfileData, view: str, options: Any) -> Any:
    return reports.show(data, view, parse(options))
