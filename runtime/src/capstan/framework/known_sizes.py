"""The elements of vectors of integers that are known in part before a step.

The shape `[batch, 37]` of a `tf.reshape` is such a vector. The static shape of the result then has
37 (TensorFlow: `ConstantPartialShape` in core/common_runtime/shape_refiner.cc).
"""

from capstan.core import shapes
from capstan.framework import facts, operation


def of(tensor: operation.Tensor, depth: int = operation.MAX_DEPTH) -> shapes.Shape:
    """Return the elements of a scalar or vector of integers. None stands for an unknown element.

    Return None if the number of elements is unknown. The evaluation follows at most `depth`
    operations.
    """
    held = tensor.static_shape
    if not tensor.dtype.is_integer or (held is not None and len(held) > 1):
        return None
    op = tensor.op
    value = op.constant_value(depth)
    if value is not None and len(op.outputs) == 1:
        return tuple(value.ravel().tolist())
    row = op.op_def
    found: shapes.Shape = None
    if depth and row is not None and row.sizes is not None:
        inputs = op.inputs
        context = facts.SizesContext(
            op.node.attrs,
            [each.static_shape for each in inputs],
            lambda index: inputs[index].op.constant_value(depth - 1),
            lambda index: of(inputs[index], depth - 1),
        )
        found = row.sizes(context, tensor.value_index)
    if found is not None or held is None:
        return found
    if not held:
        return (None,)
    return None if held[0] is None else (None,) * held[0]
