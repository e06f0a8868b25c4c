"""Kernels of special functions, which compute in float64 whatever the type of their input is."""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.registry import Function, NodeContext


def in_float64(function: Function) -> Any:
    """Return the `make` of a kernel that rounds the float64 results of `function` to its type.

    `function` takes and returns an array of float64. Its warnings about numbers are dropped.
    """

    def make(node: NodeContext) -> Function:
        target = node.output_dtypes[0].as_numpy_dtype

        def compute(x: Array) -> Any:
            with np.errstate(all="ignore"):
                return function(x.astype(np.float64)).astype(target)

        return compute

    return make
