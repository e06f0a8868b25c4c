"""Compute a node before the step: the evaluator that constant folding asks for."""

from collections.abc import Sequence

import numpy as np

from capstan.core import node
from capstan.core.arrays import Array
from capstan.executor import bind
from capstan.resources import containers


def evaluate(item: node.Node, values: Sequence[Array]) -> Sequence[Array] | None:
    """Return the outputs of a stateless node, or None when it cannot be computed.

    A node that fails stays in the graph, so that the step that needs it fails as if nothing had
    been tried.
    """
    known = {edge: value.shape for edge, value in zip(item.inputs, values, strict=True)}
    constants = dict(zip(item.inputs, values, strict=True))
    try:
        bound = bind.bind(item, known, constants, containers.ResourceManager().for_session())
        with np.errstate(all="ignore"):
            found = bind.results(bound.function(*values), bound.outputs)
    except Exception:  # noqa: BLE001 - what is wrong here is wrong in the step, and is told there
        return None
    return [
        np.array(value, dtype=dtype.as_numpy_dtype)
        for value, (dtype, _) in zip(found, bound.outputs, strict=True)
    ]
