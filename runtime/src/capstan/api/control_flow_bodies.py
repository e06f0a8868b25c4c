"""Branches and loops as functions: the parts that `cond`, `switch_case` and `while_loop` share
when they are built with control flow v2 (python/ops/control_flow_util_v2.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.framework import array_flows, body_graph, convert, defaults, nest
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["control_flow_v2_enabled", "disable_control_flow_v2", "enable_control_flow_v2"]

_LOWERED = "_lower_using_switch_merge"


def enable_control_flow_v2() -> None:
    """Build conditionals, loops and TensorArrays as control flow v2.

    `cond` and `while_loop` then add an `If` or a `While`, which calls functions of the graph. A
    TensorArray is a list. The choice holds for the whole process, and for graphs built afterwards.
    """
    defaults.BEHAVIOUR.control_flow_v2 = True


def disable_control_flow_v2() -> None:
    """Undo `enable_control_flow_v2`."""
    defaults.BEHAVIOUR.control_flow_v2 = False


def control_flow_v2_enabled() -> bool:
    """Return whether conditionals and loops in the default graph are built as functions."""
    return body_graph.is_functional(graphs.get_default_graph())


def traced(body: body_graph.BodyGraph, function: Callable[[], Any], returned: Any = None) -> Any:
    """Build the results of `function` in `body`, and return them in their structure.

    `body.outputs` has the tensors of the results. A result that is an operation becomes a copy of
    `returned`, a tensor.

    Raises:
        TypeError: a result is an operation, and `returned` is None.
    """
    with body.as_default():
        result = nest.mapped(lambda leaf: _result(leaf, returned), function(), composites=True)
        leaves = [leaf for leaf in nest.flatten(result, composites=True) if leaf is not None]
        body.outputs += [body.capture(array_flows.flow_of(leaf)) for leaf in leaves]
        body.order_effects()
    return result


def _result(leaf: Any, returned: Any) -> Any:
    if isinstance(leaf, graphs.Operation) and returned is not None:
        with leaf.graph.control_dependencies([leaf]):
            return raw.Identity(returned)
    flow = array_flows.flow_of(leaf)
    if leaf is None or flow is not leaf:
        return leaf
    return convert.convert_to_tensor(leaf)


def results(structure: Any, outputs: Sequence[graphs.Tensor]) -> Any:
    """Return copies of the outputs of a call, in `structure`.

    TensorFlow makes the copies so that a fetch of one result does not compute the others.
    """
    op = outputs[0].op
    op._set_attr(_LOWERED, True)
    copies = iter([raw.Identity(tensor, name="Identity") for tensor in outputs])
    op.graph.prevent_fetching(op)
    return nest.mapped(
        lambda leaf: None if leaf is None else array_flows.with_flows([leaf], [next(copies)])[0],
        structure,
        composites=True,
    )


def scalar(value: Any) -> graphs.Tensor:
    """Return `value` as a tensor without axes. The size of each axis is 1."""
    tensor = convert.convert_to_tensor(value)
    squeezed: graphs.Tensor = tensor if tensor.shape.ndims == 0 else raw.Squeeze(tensor)
    return squeezed
