"""`tf.contrib.copy_graph`: copies of operations in another graph (contrib/copy_graph).

`tf.contrib.graph_editor.copy` copies whole parts of a graph with their collections.
"""

from collections.abc import Iterable
from typing import Any

from capstan.api import resource_variables, variables
from capstan.client import session as sessions
from capstan.framework import collections as keys
from capstan.framework import graph as graphs

__all__ = ["copy_op_to_graph", "copy_variable_to_graph", "get_copied_op"]

_KEPT = (keys.GraphKeys.GLOBAL_VARIABLES, keys.GraphKeys.TRAINABLE_VARIABLES)
"""The collections that have the same names in all scopes."""


def copy_variable_to_graph(org_instance: Any, to_graph: Any, scope: str = "") -> Any:
    """Return a copy of a variable in another graph, with its initial value. Blocks.

    The copy has the name and the collections of the variable, with `scope` before them.

    Raises:
        TypeError: `org_instance` is not a variable.
    """
    if not isinstance(org_instance, variables.Variable):
        raise TypeError(f"{org_instance} is not a Variable")
    with org_instance.graph.as_default():
        first = org_instance.initialized_value()
        with sessions.Session() as session:
            value = session.run(first)
    collections = [
        name if name in _KEPT else _within(scope, name) for name in _collections_of(org_instance)
    ]
    with to_graph.as_default():
        return variables.Variable(
            value,
            org_instance.trainable,
            collections,
            validate_shape=False,
            name=_within(scope, org_instance.op.name),
            use_resource=isinstance(org_instance, resource_variables.ResourceVariable),
        )


def copy_op_to_graph(
    org_instance: Any, to_graph: Any, variables: Iterable[Any], scope: str = ""
) -> Any:
    """Return a copy of an operation or a tensor in another graph.

    The copy has the name of the operation, with `scope` before it. All that it needs is copied too,
    but for what the other graph has already. `variables` are the copies of variables.

    Raises:
        TypeError: `org_instance` is neither an operation nor a tensor.
    """
    known = {each.name for each in variables}
    if isinstance(org_instance, graphs.Tensor):
        return _copied_tensor(org_instance, to_graph, known, scope)
    if not isinstance(org_instance, graphs.Operation):
        raise TypeError(f"Could not copy instance: {org_instance}")
    return _copied_operation(org_instance, to_graph, known, scope)


def get_copied_op(org_instance: Any, graph: Any, scope: str = "") -> Any:
    """Return the copy of an operation or a tensor in `graph`.

    Raises:
        KeyError: there is no copy of this name.
    """
    return graph.as_graph_element(_within(scope, org_instance.name))


def _within(scope: str, name: str) -> str:
    return f"{scope}/{name}" if scope else name


def _collections_of(value: Any) -> list[str]:
    graph = value.graph
    return [
        name
        for name in graph.get_all_collection_keys()
        if any(value is each for each in graph.get_collection_ref(name))
    ]


def _copied_tensor(tensor: Any, to_graph: Any, known: set[str], scope: str) -> Any:
    name = _within(scope, tensor.name)
    if name in known:
        return to_graph.get_tensor_by_name(name)
    operation = _copied_operation(tensor.op, to_graph, known, scope)
    copy = operation.outputs[tensor.value_index]
    _collect(tensor, copy, scope)
    return copy


def _copied_operation(last: Any, to_graph: Any, known: set[str], scope: str) -> Any:
    """Copy an operation after all operations that it needs."""
    pending = [last]
    while pending:
        operation = pending[-1]
        if _present(operation, to_graph, scope) is not None:
            pending.pop()
            continue
        needed = [
            *(each.op for each in operation.inputs if _within(scope, each.name) not in known),
            *operation.control_inputs,
        ]
        missing = [each for each in needed if _present(each, to_graph, scope) is None]
        pending += missing
        if not missing:
            _collect(operation, _copied_alone(operation, to_graph, scope), scope)
            pending.pop()
    return _present(last, to_graph, scope)


def _present(operation: Any, graph: Any, scope: str) -> Any:
    """Return the operation of this name, or None."""
    try:
        return graph.get_operation_by_name(_within(scope, operation.name))
    except KeyError:
        return None


def _copied_alone(operation: Any, to_graph: Any, scope: str) -> Any:
    """Add an operation whose inputs the graph has already."""
    inputs = [
        to_graph.get_tensor_by_name(_within(scope, tensor.name)) for tensor in operation.inputs
    ]
    control = [_present(each, to_graph, scope) for each in operation.control_inputs]
    attrs = dict(operation.node.attrs)
    if scope and "_class" in attrs:
        attrs["_class"] = [
            each.replace(b"loc:@", f"loc:@{scope}/".encode()) for each in attrs["_class"]
        ]
    with (
        to_graph.as_default(),
        to_graph.control_dependencies(None),
        to_graph.control_dependencies(control),
    ):
        copy = to_graph.create_op(
            operation.type,
            inputs,
            [tensor.dtype for tensor in operation.outputs],
            name=f"{_within(scope, operation.name)}/",
            attrs=attrs,
            compute_device=False,
        )
    copy._set_device(operation.device)
    return copy


def _collect(value: Any, copy: Any, scope: str) -> None:
    for name in _collections_of(value):
        copy.graph.add_to_collection(_within(scope, name), copy)
