"""The evaluator for constant folding, which computes a node before the step."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from capstan.core import dtypes
from capstan.core import node as ir
from capstan.core.arrays import Array
from capstan.executor import bind
from capstan.resources import containers


def evaluate(node: ir.Node, values: Sequence[Array]) -> Sequence[Array] | None:
    """Return the outputs of a stateless node.

    Return None if the kernel raises an error, may answer late, or returns a variant. The caller
    then keeps the node in the graph, so that the step runs the node and reports any error.
    """
    known = {edge: value.shape for edge, value in zip(node.inputs, values, strict=True)}
    constants = dict(zip(node.inputs, values, strict=True))
    here = containers.ResourceManager().for_session()
    host = here.devices.of("")
    try:
        # The values are in host memory, whatever the device of the node is.
        bound = bind.bind(replace(node, device=""), known, constants, here)
        if bound.kernel.is_asynchronous or any(
            dtype is dtypes.variant for dtype, _ in bound.outputs
        ):
            return None  # A constant cannot hold a variant.
        with np.errstate(all="ignore"):
            outputs = bind.results(bound.function(*values), bound.outputs)
    except Exception:  # noqa: BLE001 - the step raises and reports it again
        return None
    return [
        host.duplicate(np.asarray(value, dtype.as_numpy_dtype))
        for value, (dtype, _) in zip(outputs, bound.outputs, strict=True)
    ]
