"""TensorArrays in structures. Control flow passes the flow of a TensorArray, which is a tensor."""

from collections.abc import Sequence
from typing import Any

from capstan.framework import graph as graphs
from capstan.framework.tensor_array import TensorArray


def flow_of(leaf: Any) -> Any:
    """Return the flow of `leaf` if it is a TensorArray, else `leaf`."""
    return leaf.flow if isinstance(leaf, TensorArray) else leaf


def with_flows(leaves: Sequence[Any], tensors: Sequence[graphs.Tensor]) -> list[Any]:
    """Return `tensors`, but each flow of a TensorArray in `leaves` as a TensorArray.

    If `leaves` has a TensorArray, the tensor at its position is the new flow of the TensorArray.
    """
    return [
        leaf.with_flow(tensor) if isinstance(leaf, TensorArray) else tensor
        for leaf, tensor in zip(leaves, tensors, strict=True)
    ]
