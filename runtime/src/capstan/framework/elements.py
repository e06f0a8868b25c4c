"""The operations and tensors of a graph by name, with the error messages of TensorFlow's
python/framework/ops.py.
"""

from collections.abc import Mapping
from typing import Any

from capstan.framework import graph_state
from capstan.framework.operation import Operation
from capstan.framework.tensor import Tensor


class Elements(graph_state.GraphState):
    """The part of `tf.Graph` that finds operations and tensors. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._operations: dict[str, Operation] = {}
        self._in_order: list[Operation] = []

    def get_operations(self) -> list[Operation]:
        """Return all operations in the order of their creation."""
        with self._lock:
            return list(self._in_order)

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation called `name`.

        Raises:
            TypeError: `name` is not a string.
            KeyError: there is no such operation.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        operation: Operation = self.as_graph_element(name, allow_tensor=False)
        return operation

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor called `name`, such as `op:index`.

        Raises:
            TypeError: `name` is not a string.
            KeyError: there is no such tensor.
            ValueError: `name` is not of the form `op:index`.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        tensor: Tensor = self.as_graph_element(name, allow_operation=False)
        return tensor

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """Return the Tensor or Operation for `obj`: an element, its name, or a Variable.

        Raises:
            TypeError: `obj` is not an element, a name or a Variable.
            KeyError: the graph has no element of that name.
            ValueError: the element belongs to another graph, or is of a kind that is not allowed.
        """
        kinds = _wanted(allow_tensor, allow_operation)
        obj = obj._as_graph_element() if hasattr(obj, "_as_graph_element") else obj
        if isinstance(obj, str | bytes):
            name = obj if isinstance(obj, str) else obj.decode()
            with self._lock:
                return _by_name(
                    self._operations,
                    name,
                    allow_tensor=allow_tensor,
                    allow_operation=allow_operation,
                )
        if (isinstance(obj, Tensor) and allow_tensor) or (
            isinstance(obj, Operation) and allow_operation
        ):
            if obj.graph is not self:
                raise ValueError(f"{type(obj).__name__} {obj} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")


def _wanted(allow_tensor: bool, allow_operation: bool) -> str:
    """Return the kinds that a caller accepts, as text for messages.

    Raises:
        ValueError: the caller accepts neither kind.
    """
    kinds = ["Tensor"] * allow_tensor + ["Operation"] * allow_operation
    if not kinds:
        raise ValueError("allow_tensor and allow_operation can't both be False.")
    return " or ".join(kinds)


def _by_name(
    operations: Mapping[str, Operation], name: str, *, allow_tensor: bool, allow_operation: bool
) -> Operation | Tensor:
    """Return the tensor `op:index` or the operation `op`.

    Raises:
        KeyError: the graph has no element of that name.
        ValueError: the name is malformed, or it names an element of a kind that is not allowed.
    """
    kinds = _wanted(allow_tensor, allow_operation)
    if ":" in name:
        if not allow_tensor:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a {kinds}.")
        return _tensor(operations, name)
    if allow_operation:
        if name not in operations:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return operations[name]
    seen = "refers to an" if name in operations else "looks like an (invalid)"
    kind = "Operation" if name in operations else "Operation name"
    raise ValueError(
        f"The name {name!r} {seen} {kind}, not a {kinds}. Tensor names must be of the form "
        '"<op_name>:<output_index>".'
    )


def _tensor(operations: Mapping[str, Operation], name: str) -> Tensor:
    op_name, _, index = name.partition(":")
    if not (index.isascii() and index.isdigit()):
        raise ValueError(
            f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor names "
            'must be of the form "<op_name>:<output_index>".'
        )
    missing = (
        f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r},"
    )
    if op_name not in operations:
        raise KeyError(f"{missing} does not exist in the graph.")
    outputs = operations[op_name].outputs
    if int(index) >= len(outputs):
        raise KeyError(f"{missing} exists but only has {len(outputs)} outputs.")
    return outputs[int(index)]
