"""The value that the global step has at the begin of a step (python/training/training_util.py)."""

from typing import Any, Final

from capstan.api import state_ops, variables
from capstan.framework import graph as graphs
from capstan.train import steps

KEY: Final = "global_step_read_op_cache"
"""The collection with the tensor that reads the global step."""


def global_step_read(graph: graphs.Graph | None = None) -> Any:
    """Return the tensor that `get_or_create_global_step_read` has made for a graph, or None.

    Raises:
        RuntimeError: the graph has several of them.
    """
    graph = graphs.get_default_graph() if graph is None else graph
    found = graph.get_collection(KEY)
    if len(found) > 1:
        raise RuntimeError(
            f"There are multiple items in collection {KEY}. There should be only one."
        )
    return found[0] if found else None


def get_or_create_global_step_read(graph: graphs.Graph | None = None) -> Any:
    """Return a tensor with the value of the global step before `increment_global_step`.

    Each call returns the same tensor. The result is None if the graph has no global step.

    Raises:
        RuntimeError: as `global_step_read`.
    """
    graph = graphs.get_default_graph() if graph is None else graph
    found, step = global_step_read(graph), steps.get_global_step(graph)
    if found is not None or step is None:
        return found
    with graph.as_default(), graph.name_scope(f"{step.op.name}/"):
        # A step that only initializes the variables may read it, too.
        value = step.initialized_value() if isinstance(step, variables.Variable) else step
        read = value + 0
        graph.add_to_collection(KEY, read)
    return read


def increment_global_step(increment: Any, graph: graphs.Graph | None = None) -> Any:
    """Return an operation that adds to the global step after its value was read.

    Raises:
        ValueError: the graph has no global step.
        RuntimeError: as `global_step_read`.
    """
    graph = graphs.get_default_graph() if graph is None else graph
    step = steps.get_global_step(graph)
    if step is None:
        raise ValueError(
            "Global step tensor should be created by tf.train.get_or_create_global_step before "
            "calling increment."
        )
    read = get_or_create_global_step_read(graph)
    with (
        graph.as_default(),
        graph.name_scope(f"{step.op.name}/"),
        graph.control_dependencies([read]),
    ):
        return state_ops.assign_add(step, increment)
