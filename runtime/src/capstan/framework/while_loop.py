"""The operations of `tf.while_loop` (`WhileContext.BuildLoop` of python/ops/control_flow_ops.py).

A loop variable enters the loop through an `Enter`. The condition reads it from a `Merge`. A
`Switch` passes it to the body, or to an `Exit` that leaves the loop. The body computes its next
value, which a `NextIteration` passes to the `Merge`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import (
    array_flows,
    composite,
    cond_context,
    control_context,
    convert,
    nest,
    tensor_array,
    while_context,
)
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


@runtime_checkable
class VariableType(Protocol):
    """The type of a loop variable in all iterations: a `tf.TensorSpec`, or another TypeSpec."""

    def loop_invariant(self, variable: Any) -> tensor_shape.TensorShape:
        """Return the shape invariant of a loop variable of this type."""


def build(
    context: while_context.WhileContext,
    condition: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
) -> tuple[Any, list[Any]]:
    """Build the loop `context`. Return the result of the body, and the final value of each leaf.

    Raises:
        TypeError: the body returns another structure than `loop_vars`.
        ValueError: the shape of a loop variable contradicts its shape invariant, or the body
            returns another number of values or a value of another type.
    """
    loop_vars = nest.mapped(converted, loop_vars, composites=True)
    leaves = nest.flatten(loop_vars, composites=True)
    flows = [array_flows.flow_of(leaf) for leaf in leaves]
    allowed = invariants(loop_vars, shape_invariants)
    with context.entered():
        merges = _entered(context, flows, allowed)
        condition_vars = _packed(loop_vars, leaves, merges)
        context.pivot = raw.LoopCond(
            convert.convert_to_tensor(condition(*condition_vars)), name="LoopCond"
        )
        switches = [cond_context.switched(merge, context.pivot) for merge in merges]
        values = [raw.Identity(switch[1]) for switch in switches]
        context.pivot_for_body = values[0]
        body_vars = _packed(loop_vars, leaves, values)
        result = body(*body_vars)
        if not nest.is_nested(result):
            result = [result]
        nest.check_same(list(body_vars), list(result), composites=True)
        results = nest.flatten(result, composites=True)
        if len(results) != len(merges):
            raise ValueError(
                "Number of inputs and outputs of 'body' must match 'loop_vars'. Got "
                f"{len(merges)} for the number of inputs/outputs, and {len(results)} for "
                "'loop_vars'."
            )
        following = [convert.convert_to_tensor(array_flows.flow_of(leaf)) for leaf in results]
        for merge, value in zip(merges, following, strict=True):
            _close(merge, value)
        exits = [context.exited(switch[0]) for switch in switches]
    return result, array_flows.with_flows(results, exits)


def _packed(loop_vars: Any, leaves: Sequence[Any], tensors: Sequence[graphs.Tensor]) -> Any:
    """Return `tensors` in the structure of the loop variables, whose leaves are `leaves`."""
    return nest.packed(loop_vars, array_flows.with_flows(leaves, tensors), composites=True)


def converted(leaf: Any) -> Any:
    """Return the initial value of a loop variable: a TensorArray or a tensor."""
    if isinstance(leaf, tensor_array.TensorArray):
        return leaf
    tensor = convert.convert_to_tensor(leaf)
    # A loop variable is a value: assignments to a variable do not change it.
    return raw.Identity(tensor) if tensor.dtype.is_ref_dtype else tensor


def invariants(loop_vars: Any, given: Any) -> list[tensor_shape.TensorShape]:
    """Return the shape invariant of each leaf. The default is the shape that enters the loop."""
    found: list[tensor_shape.TensorShape] = []
    for variable, invariant in _pairs(loop_vars, given):
        if isinstance(invariant, VariableType):
            invariant = invariant.loop_invariant(variable)
        if not isinstance(invariant, tensor_shape.TensorShape | None):
            raise TypeError(
                f"'shape' must be one of TypeSpec, TensorShape or None. Received: {type(invariant)}"
            )
        if composite.is_composite(variable):
            found += composite.invariants(variable, invariant)
        else:
            flow = array_flows.flow_of(variable)
            found.append(_invariant(flow, invariant))
    return found


def _invariant(
    flow: graphs.Tensor, given: tensor_shape.TensorShape | None
) -> tensor_shape.TensorShape:
    """Return the shape of a loop variable in all iterations, as shape rules see it."""
    if given is None:
        return flow.inferred_shape
    if flow.dtype is not dtypes.resource:
        return given
    if given.ndims == 0:
        # The handle of a variable has the shape of the variable. Several handles do not fit.
        return flow.inferred_shape if flow.shape.ndims == 0 else given
    return tensor_shape.unchecked(shapes.from_handles(given.internal))


def _pairs(variables: Any, invariants: Any) -> list[tuple[Any, Any]]:
    """Return each loop variable with its shape invariant. Both structures must be the same.

    In place of a structure of invariants, None stands for the default of all its variables.
    """
    if not nest.is_nested(variables):
        return [(variables, invariants)]
    if invariants is None:
        return [(variable, None) for variable in nest.flatten(variables)]
    if not nest.is_nested(invariants) or len(variables) != len(invariants):
        raise ValueError(
            "The two structures don't have the same nested structure: "
            f"{variables!r} and {invariants!r}."
        )
    keys = sorted(variables) if isinstance(variables, dict) else range(len(variables))
    return [pair for key in keys for pair in _pairs(variables[key], invariants[key])]


def _entered(
    context: while_context.WhileContext,
    flows: Sequence[graphs.Tensor],
    invariants: Sequence[tensor_shape.TensorShape],
) -> list[graphs.Tensor]:
    """Make the loop variables. Return the Merge of each."""
    sources = list(flows)
    if context.outer is not None:
        sources = [context.outer.admit(flow) for flow in flows]
    entered = []
    with control_context.outside(context.graph):
        for source, invariant in zip(sources, invariants, strict=True):
            tensor = context.enter(source, keep_shape=False)
            if not _is_within(source.inferred_shape, invariant):
                raise ValueError(
                    f"The shape invariant specified for {source.name} is not compatible with the "
                    f"initial shape of the loop variable. It enters the loop with shape "
                    f"{source.shape}, but the specified shape invariant is {invariant}."
                )
            tensor.infer_shape(invariant)
            context.graph.prevent_feeding(tensor)
            entered.append(tensor)
    _wait_for_outer(context, entered)
    context.own_enters(entered)
    context.start(entered)
    context.enters = list(entered)
    merges = [while_context.merged(tensor) for tensor in entered]
    context.pivot_for_pred = merges[0]
    return merges


def _wait_for_outer(context: while_context.WhileContext, entered: Sequence[graphs.Tensor]) -> None:
    """Let an Enter of a constant of the outer loop run in each iteration of the outer loop."""
    outer, pivot = context.outer, None
    while outer is not None and pivot is None:
        pivot = outer.pivot_for_control
        outer = outer.outer
    if pivot is None:
        return
    for tensor in entered:
        if control_context.is_constant_enter(tensor.op.inputs[0].op):
            tensor.op._add_control_inputs([pivot.op])


def _close(merge: graphs.Tensor, value: graphs.Tensor) -> None:
    check_shape(merge.op.inputs[0].op.inputs[0], merge.inferred_shape, value)
    if value.dtype.base_dtype is not merge.dtype.base_dtype:
        raise ValueError(
            f"Input 1 of node {merge.op.name} was passed {value.dtype.base_dtype.name} from "
            f"{value.name} incompatible with expected {merge.dtype.base_dtype.name}."
        )
    while_context.close(merge, value)


def check_shape(start: graphs.Tensor, allowed: tensor_shape.TensorShape, value: Any) -> None:
    """Check that `value`, a loop variable after one iteration, has a shape that is `allowed`."""
    if not _is_within(value.inferred_shape, allowed):
        raise ValueError(
            f"Input tensor '{start.name}' enters the loop with shape {start.shape}, but has shape "
            f"{value.shape} after one iteration. To allow the shape to vary across iterations, use "
            "the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
        )


def _is_within(shape: tensor_shape.TensorShape, invariant: tensor_shape.TensorShape) -> bool:
    """Return whether every tensor of `shape` has a shape that `invariant` allows."""
    if invariant.ndims is None:
        return True
    if shape.ndims != invariant.ndims:
        return False
    return all(
        allowed is None or size == allowed
        for size, allowed in zip(shape.as_list(), invariant.as_list(), strict=True)
    )
