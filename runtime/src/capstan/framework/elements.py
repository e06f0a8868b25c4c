"""Lookup of the operations and tensors of a graph by name, with TensorFlow's error messages."""

from collections.abc import Mapping
from typing import Any


def wanted(allow_tensor: bool, allow_operation: bool) -> str:
    """Return the kinds that a caller accepts, as text for messages.

    Raises:
        ValueError: the caller accepts neither kind.
    """
    kinds = ["Tensor"] * allow_tensor + ["Operation"] * allow_operation
    if not kinds:
        raise ValueError("allow_tensor and allow_operation can't both be False.")
    return " or ".join(kinds)


def by_name(
    operations: Mapping[str, Any], name: str, *, allow_tensor: bool, allow_operation: bool
) -> Any:
    """Return the tensor `op:index` or the operation `op`.

    Raises:
        KeyError: the graph has no element of that name.
        ValueError: the name is malformed, or it names an element of a kind that is not allowed.
    """
    kinds = wanted(allow_tensor, allow_operation)
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


def _tensor(operations: Mapping[str, Any], name: str) -> Any:
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
