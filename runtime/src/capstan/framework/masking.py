"""`tf.boolean_mask`, which `tensor[mask]` also calls (python/ops/array_ops.py)."""

from typing import Any

import numpy as np

from capstan.core import shapes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def boolean_mask(
    tensor: Any, mask: Any, name: str = "boolean_mask", axis: int | None = None
) -> Any:
    """Return the parts of `tensor` where `mask` is true.

    The result has one axis in place of the axes that the mask covers.

    Raises:
        ValueError: the mask is a scalar, its rank is unknown, or its shape does not match.
    """
    graph = graphs.graph_of((tensor, mask))
    with graph.as_default(), graph.name_scope(name or "boolean_mask"):
        tensor = convert.convert_to_tensor(tensor, name="tensor")
        mask = convert.convert_to_tensor(mask, name="mask")
        count = mask.shape.ndims
        if count is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  "
                "E.g. shape=[None] is ok, but shape=None is not."
            )
        if count == 0:
            raise ValueError("mask cannot be scalar.")
        at = axis or 0
        static = tensor.shape.internal
        if static is not None and not shapes.is_compatible(
            static[at : at + count], mask.shape.internal
        ):
            raise ValueError(
                f"Shapes {tensor_shape.TensorShape(static[at : at + count])} and {mask.shape} are "
                "incompatible"
            )
        if count > 1:
            sizes = raw.Shape(tensor)
            outer = raw.Slice(sizes, [0], [at])
            inner = raw.Slice(sizes, [at + count], [-1])
            merged = raw.ConcatV2([outer, np.array([-1], np.int32), inner], 0)
            tensor, mask = raw.Reshape(tensor, merged), raw.Reshape(mask, [-1])
            if static is not None:
                size = tensor_shape.TensorShape(static[at : at + count]).num_elements()
                tensor.set_shape([*static[:at], size, *static[at + count :]])
        chosen = raw.Squeeze(raw.Where(mask), squeeze_dims=[1])
        return raw.GatherV2(tensor, chosen, at)
