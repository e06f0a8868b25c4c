"""`tf.while_loop` (python/ops/control_flow_ops.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import functional_loops
from capstan.api.scoped import scoped
from capstan.core import tensor_shape
from capstan.framework import array_flows, body_graph, collections, convert, nest, while_context
from capstan.framework import graph as graphs
from capstan.framework import while_loop as builder
from capstan.framework.raw import raw

__all__ = ["while_loop"]


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat `body` while `cond` holds, and return the last values of `loop_vars`.

    `while_loop` calls `cond` and `body` once, with the loop variables as arguments. Each call
    builds a part of the graph. `cond` returns a boolean scalar. `body` returns the next values, in
    the structure of `loop_vars`: tensors, TensorArrays, IndexedSlices, SparseTensors and
    RaggedTensors in lists, tuples and dicts. A tensor from outside has the same value in every
    iteration.

    A loop variable keeps its shape and its type. `shape_invariants` has the structure of
    `loop_vars` and gives the part of each shape that all iterations share. The invariant of an
    IndexedSlices is the shape of its values, and that of a SparseTensor the shape of its dense
    shape. A type, such as a `tf.RaggedTensorSpec`, may stand for an invariant.

    If `maximum_iterations` is given, the loop runs at most that many times. `tf.gradients` goes
    through the loop unless `back_prop` is false. `parallel_iterations` and `swap_memory` are kept
    in the graph. Capstan runs one iteration after the other.

    A single loop variable is returned without its list, unless `return_same_structure` is true.

    Raises:
        TypeError: `cond` or `body` is not callable, the body returns another structure, or the
            type in `shape_invariants` is not that of the variable.
        ValueError: there are no loop variables, or `body` changes a shape that must stay the same.
    """
    _check(cond, body, loop_vars, parallel_iterations)
    if body_graph.is_functional(graphs.get_default_graph()):
        result = functional_loops.build(
            cond, body, loop_vars, shape_invariants, maximum_iterations, parallel_iterations, name
        )
        leaves = nest.flatten(result, composites=True)
        if not back_prop:
            flows = [raw.StopGradient(array_flows.flow_of(leaf)) for leaf in leaves]
            leaves = array_flows.with_flows(leaves, flows)
            result = nest.packed(result, leaves, composites=True)
        return leaves[0] if len(leaves) == 1 and not return_same_structure else result
    leaves = nest.flatten(loop_vars, composites=True)
    with scoped(name, "while", [getattr(leaf, "flow", leaf) for leaf in leaves]):
        unpacks = len(loop_vars) == 1 and not return_same_structure
        limit = None
        if maximum_iterations is not None:
            limit = _limit(maximum_iterations)
            cond, body, loop_vars = _counted(cond, body, loop_vars, limit, unpacks)
            if shape_invariants is not None:
                shape_invariants = (tensor_shape.TensorShape([]), shape_invariants)
        graph = graphs.get_default_graph()
        context = while_context.WhileContext(
            graph, limit, parallel_iterations, back_prop, swap_memory
        )
        if context.outer is None:
            graph.add_to_collection(collections.GraphKeys.WHILE_CONTEXT, context)
        structure, results = builder.build(context, cond, body, loop_vars, shape_invariants)
        packed = nest.packed(structure, results, composites=True)
        if limit is not None:
            return packed[1]
        return packed[0] if len(results) == 1 and not return_same_structure else packed


def _check(cond: Any, body: Any, loop_vars: Any, parallel_iterations: int) -> None:
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")


def _limit(maximum_iterations: Any) -> graphs.Tensor:
    limit = convert.convert_to_tensor(maximum_iterations, name="maximum_iterations")
    if limit.shape.ndims != 0:
        raise ValueError(f"'maximum_iterations' must be a scalar. Received shape: {limit.shape}")
    return limit


def _counted(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    limit: graphs.Tensor,
    unpacks: bool,
) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """Return condition, body and variables of the loop that also counts its iterations."""
    counter = convert.constant(0, limit.dtype.base_dtype, name="iteration_counter")
    variables = loop_vars[0] if unpacks else loop_vars

    def arguments(variables: Any) -> Any:
        return (variables,) if unpacks else variables

    def goes_on(count: Any, variables: Any) -> Any:
        is_below = raw.Less(count, limit)
        return raw.LogicalAnd(is_below, cond(*arguments(variables)))

    def counting(count: Any, variables: Any) -> Any:
        return raw.Add(count, 1, name="add"), body(*arguments(variables))

    return goes_on, counting, (counter, variables)
