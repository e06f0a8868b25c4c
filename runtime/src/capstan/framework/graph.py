"""The graph that a client builds: `tf.Graph` (python/framework/ops.py).

A graph only grows: operations are never removed, and the known part of a tensor's shape never
shrinks. Any number of threads may build one graph: each thread has its own scopes, and adding an
operation is atomic. The rest of the runtime sees a graph as `core.node.Node` values, which
`Graph.nodes` returns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

from capstan.core import attr_value, dtypes, graph_def, node
from capstan.framework import (
    control_context,
    defaults,
    elements,
    function_def,
    names,
    new_outputs,
    opdef,
    scopes,
)
from capstan.framework.operation import Operation
from capstan.framework.tensor import Tensor

__all__ = [
    "Graph",
    "Operation",
    "Tensor",
    "get_default_graph",
    "graph_of",
    "reset_default_graph",
]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an operation. See `Graph.changing`."""

    op: Operation
    is_edit: bool


class Graph(elements.Elements):
    """Operations by name, the tensors between them, and named collections. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._changed: list[Change] = []

    # --- operations

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Add an operation. `framework.raw` also converts inputs and infers attributes.

        `attrs` holds Python values or AttrValues, with the defaults. `dtypes` are the types of the
        outputs. If `dtypes` is None, the OpDef determines the types. `name` is made unique, unless
        it ends with a slash.
        `input_types` and `op_def` are accepted for compatibility with TensorFlow and ignored.

        Raises:
            RuntimeError: the graph is finalized.
            ValueError: the name is invalid, an input belongs to another graph, or the shapes do
                not fit the op.
            NotFoundError: `dtypes` is None and the op is not registered.
        """
        attrs = {key: attr_value.plain(value) for key, value in (attrs or {}).items()}
        for tensor in inputs:
            if tensor.graph is not self:
                raise ValueError(
                    f"{tensor!r} is not an element of the graph that {op_type} is added to"
                )
        row = opdef.lookup(op_type) if dtypes is None or opdef.is_defined(op_type) else None
        self._add_scoped_attrs(op_type, row, attrs)
        unique = self._take_name(names.text(name or op_type))
        control = self._scopes.control_inputs(tensor.op for tensor in inputs)
        context = self._scopes.control_flow_context
        control_context.check_inputs(unique, row, context, inputs)
        if context is not None:
            context, inputs, control = context.admit_operation(row, inputs, control)
        known = None
        if row is not None and compute_shapes:
            known = new_outputs.shapes_of(row, unique, attrs, inputs)
        op = Operation(
            self,
            op_type,
            unique,
            inputs,
            new_outputs.types_of(row, attrs) if dtypes is None else _as_dtypes(dtypes),
            known,
            attrs,
            control,
        )
        self._place(op, compute_device)
        self._add(op)
        if context is not None:
            op.control_flow_context = context
            context.note(op)
        return op

    def _add_scoped_attrs(
        self, op_type: str, row: opdef.OpDef | None, attrs: dict[str, Any]
    ) -> None:
        """Add the container and the gradient that the scopes of the thread give to an operation."""
        if self._scopes.container and row is not None and row.effect.makes and "container" in attrs:
            attrs["container"] = attrs["container"] or self._scopes.container.encode()
        if op_type in self._scopes.gradients:
            named = self._scopes.gradients[op_type].encode()
            attrs.setdefault(scopes.GRADIENT, named)

    def _place(self, op: Operation, compute_device: bool) -> None:
        if compute_device:
            for function in self._scopes.device_functions():
                op._set_device(function(op))
        if not self._scopes.colocated:
            return
        groups = set(op.node.attrs.get("_class", ()))
        others = [other for other in self._scopes.colocated if not isinstance(other, bytes)]
        for other in others:
            groups.update(other.colocation_groups())
            if other.device and not op.device:
                op._set_device(other.device)
        if not others:
            groups.update(self._scopes.colocated)
        op._set_attr("_class", sorted(groups))

    def _add(self, op: Operation) -> None:
        with self._lock:
            self._check_not_finalized()
            if op.name in self._operations:
                raise ValueError(f"Duplicate node name in graph: '{op.name}'")
            self._operations[op.name] = op
            self._in_order.append(op)
            op.note_added(len(self._in_order))
        self._scopes.note(op)

    def _take_name(self, name: str) -> str:
        if name.endswith("/"):
            name = name[:-1]
            names.check_op_name(name)
            with self._lock:
                self._names.take(name)
            return name
        names.check_op_name(name)
        return self.unique_name(name)

    def nodes(self, since: int = 0) -> list[node.Node]:
        """Return the IR of the operations added after version `since`, in order."""
        with self._lock:
            return [op.node for op in self._in_order[since:]]

    @contextmanager
    def changing(self, op: Operation, *, is_edit: bool = False) -> Iterator[None]:
        """Within the block, make `op` call other functions or read other tensors.

        Sessions that have sent `op` then fail, because they lack what the change adds. If
        `is_edit`, they keep the old operation, as in TensorFlow, and warn. No session reads the
        operations of the graph before the block ends.
        """
        with self._lock:
            yield
            self._changed.append(Change(op, is_edit))

    @property
    def changes(self) -> int:
        """The number of blocks of `changing` that have ended."""
        return len(self._changed)

    def since(self, version: int, changes: int) -> tuple[list[node.Node], list[Change]]:
        """Return `nodes(version)`, and the changes after the first `changes`.

        No change is noted between the two reads.
        """
        with self._lock:
            return [op.node for op in self._in_order[version:]], self._changed[changes:]

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Return the GraphDef of all operations, or of the operations added after `from_version`.

        The GraphDef has all functions of the graph.
        """
        with self._lock:
            ops = self._in_order[from_version or 0 :]
            functions = dict(self._functions)
        message = graph_def.encode((_with_shapes(op) if add_shapes else op.node) for op in ops)
        if functions:
            message.library.CopyFrom(function_def.encode(functions))
        return message

    @property
    def graph_def_versions(self) -> Any:
        """The VersionDef of `as_graph_def`."""
        return graph_def.encode(()).versions

    def switch_to_thread_local(self) -> None:
        """Do nothing: the scopes of a graph always belong to one thread each."""

    @property
    def _c_graph(self) -> Self:
        """The graph that functions of `python.pywrap_tensorflow` take."""
        return self

    @property
    def version(self) -> int:
        """The number of operations. It grows with every operation that is added."""
        return len(self._in_order)


def _with_shapes(op: Operation) -> node.Node:
    known = [each.shape for each in op.outputs]
    return replace(op.node, attrs={**op.node.attrs, "_output_shapes": known})


def _as_dtypes(given: Sequence[Any]) -> list[dtypes.DType]:
    return [dtypes.as_dtype(dtype) for dtype in given]


def get_default_graph() -> Graph:
    """Return the graph that new operations of this thread are added to."""
    top: Graph | None = defaults.GRAPHS.top
    if top is None:
        top = defaults.GRAPHS.outermost
    if top is None:
        top = defaults.GRAPHS.outermost = Graph()
    return top


def reset_default_graph() -> None:
    """Give this thread a new, empty default graph.

    Raises:
        AssertionError: called inside `with graph.as_default():`.
    """
    if defaults.GRAPHS.top is not None:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared "
            "graph, exit the nesting and create a new graph."
        )
    defaults.GRAPHS.outermost = Graph()


def graph_of(values: Iterable[Any]) -> Graph:
    """Return the graph of the tensors and operations among `values` and in their lists.

    If there are none, return the default graph. While a function is built, return its graph.

    Raises:
        ValueError: the values belong to different graphs.
    """
    current = get_default_graph()
    if current.building_function:
        return current  # the graph of a function captures the tensors of other graphs
    first: Any = None
    for value in values:
        for element in value if isinstance(value, list | tuple) else (value,):
            owner = getattr(element, "graph", None)
            if not isinstance(owner, Graph):
                continue
            if first is None:
                first = element
            elif owner is not first.graph:
                raise ValueError(f"{element} must be from the same graph as {first}.")
    return get_default_graph() if first is None else first.graph
