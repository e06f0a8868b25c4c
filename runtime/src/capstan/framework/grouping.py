"""Operations that only wait for other operations: `tf.group`, `tf.tuple`, `tf.no_op`."""

from collections.abc import Iterable, Sequence
from typing import Any

from capstan.framework import graph as graphs
from capstan.framework import indexed_slices, nest
from capstan.framework.raw import raw


def no_op(name: str | None = None) -> graphs.Operation:
    """Return an operation that does nothing but can have control inputs."""
    op: graphs.Operation = raw.NoOp(name=name)
    return op


def group(*inputs: Any, name: str | None = None) -> graphs.Operation:
    """Return an operation that runs after all of `inputs`, which may be nests.

    Inputs on several devices are first grouped by device, so that each device sends one signal.

    Raises:
        TypeError: an input is not an operation, tensor or variable.
    """
    ops = [_operation(value) for value in nest.flatten(list(inputs)) if value is not None]
    graph = graphs.graph_of(ops)
    by_device: dict[str, list[graphs.Operation]] = {}
    for op in ops:
        by_device.setdefault(op.device, []).append(op)
    with graph.as_default(), graph.name_scope("group_deps" if name is None else name) as scope:
        if len(by_device) <= 1:
            return _waiting(graph, ops, next(iter(by_device), ""), scope or None)
        gathered = [
            _waiting(graph, by_device[device], device, None) for device in sorted(by_device)
        ]
        with graph.control_dependencies(gathered):
            return no_op(scope or None)


def tuple_of(
    tensors: Sequence[Any], name: str | None = None, control_inputs: Iterable[Any] | None = None
) -> list[Any]:
    """Return copies of `tensors`. Each copy waits for all `tensors` and all `control_inputs`.

    In the list, IndexedSlices stay IndexedSlices and None stays None.

    Raises:
        ValueError: there is no tensor among `tensors`.
    """
    with graphs.graph_of(t for t in tensors if t is not None).name_scope(name or "tuple"):
        waited = [_operation(t) for t in tensors if t is not None]
        if not waited:
            raise ValueError("Must have at least one Tensor")
        gate = group(*waited, *(control_inputs or ()))
        return [None if t is None else _gated(t, gate) for t in tensors]


def _gated(value: Any, gate: graphs.Operation) -> Any:
    if isinstance(value, indexed_slices.IndexedSlices):
        return indexed_slices.IndexedSlices(
            _gated(value.values, gate), value.indices, value.dense_shape
        )
    with gate.graph.control_dependencies([gate]), gate.graph.colocate_with(value.op):
        return raw.Identity(value, name="control_dependency")


def _operation(value: Any) -> graphs.Operation:
    if isinstance(value, indexed_slices.IndexedSlices):
        value = value.values
    op = value if isinstance(value, graphs.Operation) else getattr(value, "op", None)
    if not isinstance(op, graphs.Operation):
        raise TypeError(
            f"Expected tf.group() expected Tensor objects not {type(value).__name__}: {value!r}"
        )
    return op


def _waiting(
    graph: graphs.Graph, ops: Sequence[graphs.Operation], device: str, name: str | None
) -> graphs.Operation:
    with graph.control_dependencies(ops):
        if not device:
            return no_op(name)
        with graph.device(device):
            return no_op(name)
