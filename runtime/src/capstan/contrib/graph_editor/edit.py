"""Parts of a graph that are detached from the rest, connected or bypassed
(contrib/graph_editor/edit.py).

`sgv` is a view or what `subgraph.make_view` takes. A view is changed as its part of the graph is.
"""

from typing import Any

from capstan.api import creation_ops
from capstan.contrib.graph_editor import control_outputs as controls
from capstan.contrib.graph_editor import elements, filters, placeholders, reroute, subgraph

__all__ = [
    "bypass", "connect", "detach", "detach_control_inputs", "detach_control_outputs",
    "detach_inputs", "detach_outputs",
]  # fmt: skip


def detach_control_inputs(sgv: Any) -> None:
    """Make no operation of the view wait for an operation outside of it by a control input."""
    view = subgraph.make_view(sgv)
    within = set(view.ops)
    for op in view.ops:
        reroute.remove_control_inputs(op, [cop for cop in op.control_inputs if cop not in within])


def detach_control_outputs(sgv: Any, control_outputs: Any) -> None:
    """Make no operation outside wait for an operation of the view by a control input.

    Raises:
        TypeError: `control_outputs` is not a ControlOutputs.
    """
    if not isinstance(control_outputs, controls.ControlOutputs):
        raise TypeError(f"Expected a util.ControlOutputs, got: {type(control_outputs)}")
    view = subgraph.make_view(sgv)
    within = set(view.ops)
    control_outputs.update()
    for op in view.ops:
        for waiting in control_outputs.get(op):
            if waiting not in within:
                reroute.remove_control_inputs(waiting, op)


def detach_inputs(sgv: Any, control_inputs: bool = False) -> tuple[Any, list[Any]]:
    """Make the view read placeholders of unknown shape in place of its inputs.

    If `control_inputs`, detach those as well. Return the view and the placeholders.
    """
    view = subgraph.make_view(sgv)
    made: list[Any] = []
    if view:
        with view.graph.as_default():
            made = [
                creation_ops.placeholder(t.dtype.base_dtype, None, placeholders.placeholder_name(t))
                for t in view.inputs
            ]
    reroute.swap_inputs(view, made)
    if control_inputs:
        detach_control_inputs(view)
    return view, made


def detach_outputs(sgv: Any, control_outputs: Any = None) -> tuple[Any, list[Any]]:
    """Make all operations outside of the view read placeholders in place of its outputs.

    With a ControlOutputs, detach those as well. Return the view, with the outputs that operations
    read, and the placeholders.
    """
    view = subgraph.make_view(sgv)
    view = view.remap_outputs([i for i, t in enumerate(view.outputs) if t.consumers()])
    outside = subgraph.SubGraphView(view.consumers())
    leaving = set(view.outputs)
    outside = outside.remap_inputs([i for i, t in enumerate(outside.inputs) if t in leaving])
    made: list[Any] = []
    if view:
        with view.graph.as_default():
            made = [placeholders.make_placeholder_from_tensor(t) for t in outside.inputs]
    read = subgraph.SubGraphView(view.ops, view.passthroughs).remap_outputs(outside.inputs)
    reroute.swap_outputs(read, made)
    if control_outputs is not None:
        detach_control_outputs(view, control_outputs)
    return view, made


def detach(
    sgv: Any, control_inputs: bool = False, control_outputs: Any = None, control_ios: Any = None
) -> tuple[Any, list[Any], list[Any]]:
    """Detach the inputs and the outputs of a view.

    `select.check_cios` explains the arguments for control inputs. Return the view, the placeholders
    that it reads, and those that the rest of the graph reads.
    """
    control_inputs, control_outputs = filters.check_cios(
        control_inputs, control_outputs, control_ios
    )
    view = subgraph.make_view(sgv)
    _, inputs = detach_inputs(view, control_inputs)
    _, outputs = detach_outputs(view, control_outputs)
    return view, inputs, outputs


def connect(sgv0: Any, sgv1: Any, disconnect_first: bool = False) -> tuple[Any, Any]:
    """Make the second view read the outputs of the first one as its inputs. Return the views.

    If `disconnect_first`, detach the outputs of the first view before.
    """
    view0, view1 = subgraph.make_view(sgv0), subgraph.make_view(sgv1)
    elements.check_graphs(view0, view1)
    if disconnect_first:
        detach_outputs(view0)
    reroute.reroute_inputs(subgraph.SubGraphView(passthrough_ts=view0.outputs), view1)
    return view0, view1


def bypass(sgv: Any) -> tuple[Any, list[Any]]:
    """Make what reads the outputs of a view read its inputs, and detach the inputs.

    Return the view and the placeholders that it reads.

    Raises:
        ValueError: the inputs and the outputs differ in number, types or static shapes.
    """
    view = subgraph.make_view(sgv)
    inputs = list(view.inputs)
    view, made = detach_inputs(view)
    reroute.reroute_ts(inputs, view.outputs)
    return view, made
