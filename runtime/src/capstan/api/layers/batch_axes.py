"""The axes of batch normalization, and the transformations of normalized activations."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, creation_ops, reduce_ops, smart_cond
from capstan.core import tensor_shape


def sizes(
    shape: tensor_shape.TensorShape,
    axes: Sequence[int],
    virtual_batch_size: int | None,
    adjustment: Any,
) -> dict[int, int | None]:
    """Return the known size of each axis that keeps its moments apart.

    Raises:
        ValueError: an axis is unknown or repeats, its size is unknown, or the axes do not fit the
            virtual batches.
    """
    known = shape.as_list()
    found: dict[int, int | None] = {}
    for given in axes:
        axis = given + len(known) if given < 0 else given
        if not 0 <= axis < len(known):
            raise ValueError(f"Invalid axis: {given}")
        if axis in found:
            raise ValueError(f"Duplicate axis: {list(axes)}")
        if known[axis] is None:
            raise ValueError(f"Input has undefined `axis` dimension. Input shape: {shape}")
        found[axis] = known[axis]
    if virtual_batch_size is None:
        return found
    if virtual_batch_size <= 0:
        raise ValueError(
            "virtual_batch_size must be a positive integer that divides the true batch size of "
            "the input Tensor"
        )
    if 0 in found:
        raise ValueError(
            "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot "
            "include 0"
        )
    if adjustment is not None:
        raise ValueError("When using virtual_batch_size, adjustment cannot be specified")
    return found


def adjusted(adjustment: Callable[[Any], Any], inputs: Any, training: Any) -> tuple[Any, Any]:
    """Return the factor and the addend of an adjustment, and 1 and 0 outside of training."""
    factor, addend = adjustment(array_ops.shape(inputs))
    return (
        smart_cond.smart_cond(training, lambda: factor, lambda: creation_ops.ones_like(factor)),
        smart_cond.smart_cond(training, lambda: addend, lambda: creation_ops.zeros_like(addend)),
    )


def composed(factor: Any, addend: Any, scale: Any, offset: Any) -> tuple[Any, Any]:
    """Return the factor and the addend of two transformations, of which the second may be None."""
    if scale is not None:
        factor, addend = factor * scale, addend * scale
    return factor, addend if offset is None else addend + offset


def of_parts(moment: Any) -> Any:
    """Return the mean of a moment over the parts of a batch."""
    return reduce_ops.reduce_mean(moment, axis=1, keepdims=True)
