"""The elements of tensors of integers that are known in part before a step.

The shape `[batch, 37]` of a `tf.reshape` is such a tensor. The static shape of the result then has
37 (TensorFlow: `ConstantPartialShape` in core/common_runtime/shape_refiner.cc).
"""

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.framework import facts, operation
from capstan.framework.tensor import Tensor

MOST = 64
"""The largest number of elements that are followed. The number is a guess. Shapes have fewer."""


def of(tensor: Tensor, depth: int = operation.MAX_DEPTH) -> shapes.Shape:
    """Return the elements of a tensor of integers in row-major order. None is an unknown element.

    Return None if the number of elements is unknown or large. The evaluation follows at most
    `depth` operations.
    """
    if not tensor.dtype.is_integer:
        return None
    count = shapes.num_elements(tensor.static_shape)
    if count is not None and count > MOST:
        return None
    op = tensor.op
    value = op.constant_value(depth)
    if value is not None and len(op.outputs) == 1:
        return tuple(value.ravel().tolist()) if value.size <= MOST else None
    row = op.row
    if depth and row is not None and row.sizes is not None:
        inputs = op.inputs
        context = facts.SizesContext(
            op.node.attrs,
            [each.static_shape for each in inputs],
            lambda index: inputs[index].op.constant_value(depth - 1),
            lambda index: of(inputs[index], depth - 1),
        )
        found = row.sizes(context, tensor.value_index)
        if found is not None:
            return found
    return None if count is None else (None,) * count


def crosses_switch(tensor: Tensor) -> bool:
    """Return whether a `Switch` is among the operations that compute a tensor.

    What is known of such a tensor holds only if the step takes the branch.
    """
    waiting, seen = [tensor.op], {tensor.op}
    while waiting:
        op = waiting.pop()
        if op.row is not None and op.row.role is facts.Role.SWITCH:
            return True
        new = {each.op for each in op.inputs} - seen
        seen |= new
        waiting += new
    return False


def value(tensor: Tensor) -> Array | None:
    """Return the value of a tensor if it is known before any step, or None.

    An example is an element of the shape of a tensor, if its static shape has this size.
    """
    found = tensor.op.constant_value()
    if found is not None:
        return found
    row, shape = tensor.op.row, tensor.static_shape
    if row is None or row.sizes is None or shape is None or None in shape:
        return None
    elements = of(tensor)
    if elements is None or None in elements:
        return None
    return np.array(elements, tensor.dtype.base_dtype.as_numpy_dtype).reshape(shape)
