"""The global step, which counts the updates of the model (python/training/training_util.py).

The global step is the integer variable `global_step` in the collection GLOBAL_STEP. All workers
share it. An optimizer adds one with every update.
"""

from typing import Any

import numpy as np

from capstan.api import init_ops, logging, variable_replicas, variable_scope, variables
from capstan.core import dtypes
from capstan.framework import collections
from capstan.framework import graph as graphs

_Graph = graphs.Graph
_NAME = "global_step"


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Return the value of a global step, a scalar or a tensor with one element. Blocks."""
    return int(np.asarray(sess.run(global_step_tensor)).item())


def get_global_step(graph: _Graph | None = None) -> Any:
    """Return the global step of a graph, or None if the graph has no global step.

    Raises:
        TypeError: the graph's global step is not an integer scalar.
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
        ValueError: the graph already has a global step.
    """
    graph = graphs.get_default_graph() if graph is None else graph
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return variable_scope.get_variable(
            _NAME,
            dtype=dtypes.int64,
            shape=(),
            initializer=init_ops.Zeros,
            trainable=False,
            aggregation=variable_replicas.VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[
                collections.GraphKeys.GLOBAL_VARIABLES,
                collections.GraphKeys.GLOBAL_STEP,
            ],
        )


def get_or_create_global_step(graph: _Graph | None = None) -> Any:
    """Return the global step of a graph. Create it if the graph has no global step."""
    graph = graphs.get_default_graph() if graph is None else graph
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor: Any) -> None:
    """Check that a tensor or variable can be a global step.

    Raises:
        TypeError: `global_step_tensor` is not an integer scalar.
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


def assert_or_get_global_step(graph: _Graph | None = None, global_step_tensor: Any = None) -> Any:
    """Return `global_step_tensor` after `assert_global_step`, or `get_global_step(graph)`."""
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


def require_global_step(hook_name: str) -> Any:
    """Return the global step of the default graph for the hook `hook_name`.

    Raises:
        RuntimeError: the graph has no global step.
    """
    tensor = get_global_step()
    if tensor is None:
        raise RuntimeError(f"Global step should be created to use {hook_name}.")
    return tensor
