"""`group_norm` (contrib/layers/python/layers/normalization.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import nn, scope_block
from capstan.contrib.framework import argument_scopes
from capstan.contrib.layers import collecting, norms
from capstan.framework import convert
from capstan.framework.raw import raw


@argument_scopes.add_arg_scope
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    mean_close_to_zero: bool = False,
) -> Any:
    """Normalize each group of channels of each example to mean 0 and variance 1.

    The mean and the variance are those of the channels of a group and of `reduction_axes`. The
    variables `beta` and `gamma` have one number for each channel. `mean_close_to_zero` has no
    effect: the variance is exact for any mean.

    Raises:
        ValueError: the rank or a size of the inputs is unknown, an axis is beyond the rank,
            `channels_axis` is among `reduction_axes`, or the groups do not divide the channels.
    """
    inputs = convert.convert_to_tensor(inputs)
    shape = inputs.shape
    at, axes = _axes(inputs, channels_axis, reduction_axes)
    sizes = shape.as_list()
    channels = sizes[at]
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    inner = [groups, channels // groups]
    with scope_block.variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as block:
        split = raw.Reshape(inputs, _sizes(inputs, [*sizes[:at], *inner, *sizes[at + 1 :]]))
        along = [1] * at + inner + [1] * (len(sizes) - at - 1)
        beta, gamma = norms.parameters(
            [channels], inputs.dtype.base_dtype, center, scale, param_initializers,
            variables_collections, trainable, along,
        )  # fmt: skip
        over = [at + 1, *(axis + (axis > at) for axis in axes)]
        mean, variance = nn.moments(split, over, keepdims=True)
        outputs = nn.batch_normalization(split, mean, variance, beta, gamma, epsilon)
        outputs = raw.Reshape(outputs, raw.Shape(inputs))
        outputs.set_shape(shape)
        return collecting.finished(outputs, activation_fn, outputs_collections, block.name)


def _axes(inputs: Any, channels_axis: int, reduction_axes: Sequence[int]) -> tuple[int, list[int]]:
    """Return the axis of the channels and the axes of `reduction_axes`, from 0 on."""
    rank = inputs.shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    if not all(-rank <= axis < rank for axis in (channels_axis, *reduction_axes)):
        raise ValueError("Axis is out of bounds.")
    at, axes = channels_axis % rank, [axis % rank for axis in reduction_axes]
    sizes = inputs.shape.as_list()
    if sizes[at] is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channel dimension: {at}.")
    for axis in axes:
        if sizes[axis] is None:
            raise ValueError(f"Inputs {inputs.name} has undefined dimensions {axis}.")
    if at in axes:
        raise ValueError("reduction_axis must be mutually exclusive with channels_axis")
    return at, axes


def _sizes(inputs: Any, sizes: Sequence[int | None]) -> Any:
    """Return a shape for the inputs. At most one size, that of the batch, may be unknown."""
    if list(sizes).count(None) > 1:
        raise ValueError(
            f"Inputs {inputs.name} has more than one undefined dimension: {inputs.shape}."
        )
    return [-1 if size is None else size for size in sizes]
