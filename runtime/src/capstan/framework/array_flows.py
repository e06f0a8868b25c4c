"""TensorArrays in structures: the flow of an array stands for it as a tensor of control flow."""

from collections.abc import Sequence
from typing import Any

from capstan.framework import graph as graphs
from capstan.framework.tensor_array import TensorArray


def flow_of(leaf: Any) -> Any:
    """Return the flow of a TensorArray, and any other value as it is."""
    return leaf.flow if isinstance(leaf, TensorArray) else leaf


def with_flows(leaves: Sequence[Any], tensors: Sequence[graphs.Tensor]) -> list[Any]:
    """Return `tensors`. Where `leaves` has a TensorArray, return the array with that flow."""
    return [
        leaf.with_flow(tensor) if isinstance(leaf, TensorArray) else tensor
        for leaf, tensor in zip(leaves, tensors, strict=True)
    ]
