"""Finds the resources of kernels, by the name that a node gives or by a handle."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from capstan.core import attr_value, dtypes, resource_name, shapes
from capstan.kernels.registry import NodeContext
from capstan.kernels.rejection import invalid
from capstan.resources import resource

Kind = TypeVar("Kind", bound=resource.Resource)


def named(
    node: NodeContext,
    kind: str,
    make: resource.Make[Kind],
    verify: Callable[[Kind], None] = lambda _: None,
    *,
    may_be_private: bool = True,
) -> Kind:
    """Return the resource that a node names. Make the resource if it does not exist.

    `kind` is as for `resource.Registry.find`. `verify` raises if a resource that another node made
    does not fit this node. A node without `shared_name` has a resource of its own in each session.
    If `may_be_private` is False, such a node shares the resource that has the node's name instead.

    Raises:
        InvalidArgumentError: the name of the resource begins with an underscore.
    """
    shared_name = attr_value.text(node.attrs.get("shared_name") or b"")
    if shared_name.startswith("_"):
        raise invalid(f"shared_name cannot start with '_':{shared_name}")
    name = resource_name.of_node(node.name, node.attrs, node.resources.default_container)
    is_private = may_be_private and not shared_name
    return node.resources.named(
        node.name, name, kind, node.device, make, verify, is_private=is_private
    )


def behind(handle: Any) -> Any:
    """Return the resource behind a handle, which may be the only element of an array."""
    return handle.item() if isinstance(handle, np.ndarray) else handle


def type_names(types: Sequence[dtypes.DType]) -> str:
    return ", ".join(map(dtypes.cpp_name, types))


def shape_list(known: Sequence[shapes.Shape]) -> str:
    """Write shapes as the messages of TensorFlow's kernels do."""
    return "[" + ", ".join(map(shapes.show, known)) + "]"


def check_signature(node: NodeContext, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Check the types of a node's inputs and outputs after its handle.

    Raises:
        InvalidArgumentError: the types differ from the types of the resource behind the handle.
    """
    if tuple(inputs) == tuple(node.input_dtypes[1:]) and tuple(outputs) == tuple(
        node.output_dtypes
    ):
        return
    handle = node.input_dtypes[0]
    kind = "resource" if handle is dtypes.resource else "string_ref"
    have = ", ".join([kind, *map(dtypes.cpp_name, node.input_dtypes[1:])])
    expected = ", ".join([kind, *map(dtypes.cpp_name, inputs)])
    raise invalid(
        f"Signature mismatch, have: {have}->{type_names(node.output_dtypes)} expected: "
        f"{expected}->{type_names(outputs)}"
    )
