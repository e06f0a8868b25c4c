"""Compute a node before the step: the evaluator that constant folding asks for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import node
from capstan.framework import opdef
from capstan.graph import infer
from capstan.kernels import registry
from capstan.resources import containers

Array = np.ndarray[Any, Any]


def evaluate(item: node.Node, values: Sequence[Array]) -> Sequence[Array] | None:
    """Return the outputs of a stateless node, or None when it cannot be computed.

    A node that fails stays in the graph, so that the step that needs it fails as if nothing had
    been tried.
    """
    attrs = infer.attributes(item)
    kernel = registry.find(item.op, "CPU", attrs)
    if kernel is None:
        return None
    row = opdef.lookup(item.op)
    outputs = opdef.expand(row.output_arguments, attrs)
    context = registry.NodeContext(
        name=item.name,
        op=item.op,
        device="",
        attrs=attrs,
        input_dtypes=[dtype for dtype, _ in opdef.expand(row.input_arguments, attrs)],
        input_shapes=[value.shape for value in values],
        output_dtypes=[dtype for dtype, _ in outputs],
        output_shapes=[None] * len(outputs),
        resources=containers.ResourceManager(),
        constants=dict(enumerate(values)),
    )
    try:
        with np.errstate(all="ignore"):
            result = kernel.make(context)(*values)
    except Exception:  # noqa: BLE001 - whatever is wrong is wrong in the step too, and is told there
        return None
    results = result if isinstance(result, tuple) else (result,)
    return [
        np.array(value, dtype=dtype.as_numpy_dtype)
        for value, (dtype, _) in zip(results, outputs, strict=True)
    ]
