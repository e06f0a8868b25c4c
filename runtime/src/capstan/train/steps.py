"""The global step: how many updates the model has seen (python/training/training_util.py).

It is the variable `global_step`, an integer in the collection of that name. An optimizer adds one
with every update; all workers share it.
"""

from typing import Any

from capstan.api import logging, variable_scope, variables
from capstan.core import dtypes
from capstan.framework import collections
from capstan.framework import graph as graphs

_Graph = graphs.Graph
_NAME = "global_step"


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Return the value of a global step in a session; blocks."""
    return int(sess.run(global_step_tensor))


def get_global_step(graph: _Graph | None = None) -> Any:
    """Return the global step of a graph, or None when it has none.

    Raises:
        TypeError: what is called so is no integer scalar.
    """
    graph = graphs.get_default_graph() if graph is None else graph
    found = graph.get_collection(collections.GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        logging.error("Multiple tensors in global_step collection.")
        return None
    try:
        tensor = found[0] if found else graph.get_tensor_by_name(f"{_NAME}:0")
    except KeyError:
        return None
    assert_global_step(tensor)
    return tensor


def create_global_step(graph: _Graph | None = None) -> Any:
    """Add a global step, an int64 variable that starts at 0, and return it.

    Raises:
        ValueError: the graph has one.
    """
    graph = graphs.get_default_graph() if graph is None else graph
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return variable_scope.get_variable(
            _NAME,
            dtype=dtypes.int64,
            initializer=0,
            trainable=False,
            collections=[
                collections.GraphKeys.GLOBAL_VARIABLES,
                collections.GraphKeys.GLOBAL_STEP,
            ],
        )


def get_or_create_global_step(graph: _Graph | None = None) -> Any:
    """Return the global step of a graph, adding one where there is none."""
    graph = graphs.get_default_graph() if graph is None else graph
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor: Any) -> None:
    """Check that something may be a global step.

    Raises:
        TypeError: it is not an integer scalar.
    """
    if not isinstance(global_step_tensor, variables.Variable | graphs.Tensor):
        raise TypeError(
            f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.'
        )
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(
            f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}'
        )
    shape = global_step_tensor.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


def require_global_step(who: str) -> Any:
    """Return the global step of the default graph for a hook that cannot do without.

    Raises:
        RuntimeError: there is none.
    """
    tensor = get_global_step()
    if tensor is None:
        raise RuntimeError(f"Global step should be created to use {who}.")
    return tensor
