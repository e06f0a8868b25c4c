"""TensorArrays in structures. A loop or conditional passes the flow of a TensorArray, a tensor."""

from collections.abc import Sequence
from typing import Any

from capstan.framework import graph as graphs
from capstan.framework.tensor_array import TensorArray


def flow_of(leaf: Any) -> Any:
    """Return the flow of `leaf` if it is a TensorArray, else `leaf`."""
    return leaf.flow if isinstance(leaf, TensorArray) else leaf


def with_flows(leaves: Sequence[Any], tensors: Sequence[graphs.Tensor]) -> list[Any]:
    """Return `tensors`, with a TensorArray at each position at which `leaves` has one.

    The tensor at this position becomes the flow of the TensorArray.
    """
    return [
        leaf.with_flow(tensor) if isinstance(leaf, TensorArray) else tensor
        for leaf, tensor in zip(leaves, tensors, strict=True)
    ]
