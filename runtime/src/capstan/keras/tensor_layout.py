"""The layout and the making of tensors in `tf.keras.backend` (python/keras/backend.py).

The functions are those of `tf` with the names and the arguments of Keras.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import (
    array_ops,
    creation_ops,
    gather_ops,
    math_ops,
    nn,
    ordering_ops,
    sparse_layout_ops,
    sparse_math_ops,
)
from capstan.api.layers import settings
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import gradients as backward
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor


def expand_dims(x: Any, axis: int = -1) -> Any:
    """Return the tensor with a new axis of size 1, by default the last one."""
    return array_ops.expand_dims(x, axis)


def shape(x: Any) -> Any:
    """Return the sizes of the axes of a tensor, in a step."""
    return array_ops.shape(x)


def stop_gradient(variables: Any) -> Any:
    """Return a tensor, or each of a list, without a gradient."""
    if isinstance(variables, list | tuple):
        return [array_ops.stop_gradient(each) for each in variables]
    return array_ops.stop_gradient(variables)


def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return ones in the shape of a tensor, and by default of its type."""
    return creation_ops.ones_like(x, dtype=dtype, name=name)


def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return zeros in the shape of a tensor, and by default of its type."""
    return creation_ops.zeros_like(x, dtype=dtype, name=name)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> Any:
    """Return the numbers from `start` to below `stop`, or from 0 to below `start`.

    There are none if `start` is negative and the only argument.
    """
    if stop is None:
        start, stop = 0, max(start, 0) if isinstance(start, int) else start
    return math_ops.cast(math_ops.range(start, stop, step), dtype)


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """Return a constant, by default of the type `floatx`."""
    given: dict[str, Any] = {} if name is None else {"name": name}
    return convert.constant(value, dtype or settings.SETTINGS.floatx, shape, **given)


def cast(x: Any, dtype: Any) -> Any:
    return math_ops.cast(x, dtype)


def cast_to_floatx(x: Any) -> Any:
    """Return an array of the type `floatx`."""
    return np.asarray(x, dtypes.as_dtype(settings.SETTINGS.floatx).as_numpy_dtype)


def dtype(x: Any) -> str:
    """Return the name of the type of a tensor or variable."""
    name: str = x.dtype.base_dtype.name
    return name


def concatenate(tensors: Sequence[Any], axis: int = -1) -> Any:
    """Return tensors joined along an axis. They may all be sparse."""
    if axis < 0:
        rank = tensors[0].shape.ndims
        axis = axis % rank if rank else 0
    if all(isinstance(each, SparseTensor) for each in tensors):
        return sparse_layout_ops.sparse_concat(axis, tensors)
    return array_ops.concat([to_dense(each) for each in tensors], axis)


def stack(x: Any, axis: int = 0) -> Any:
    return array_ops.stack(x, axis=axis)


def reshape(x: Any, shape: Any) -> Any:
    return array_ops.reshape(x, shape)


def flatten(x: Any) -> Any:
    return array_ops.reshape(x, [-1])


def batch_flatten(x: Any) -> Any:
    """Return a matrix with a row for each example."""
    sizes = x.shape.as_list()[1:]
    width = -1 if None in sizes else int(np.prod(sizes))
    return array_ops.reshape(x, array_ops.stack([-1 if width >= 0 else raw.Shape(x)[0], width]))


def permute_dimensions(x: Any, pattern: Sequence[int]) -> Any:
    """Return the axes in another order."""
    return array_ops.transpose(x, list(pattern))


def transpose(x: Any) -> Any:
    return array_ops.transpose(x)


def squeeze(x: Any, axis: int) -> Any:
    """Return the tensor without an axis, whose size is 1."""
    return array_ops.squeeze(x, [axis])


def tile(x: Any, n: Any) -> Any:
    return array_ops.tile(x, [n] if isinstance(n, int) else n)


def repeat(x: Any, n: int) -> Any:
    """Return a matrix of vectors `n` times: the result has the shape (examples, n, size)."""
    return array_ops.tile(array_ops.expand_dims(x, 1), array_ops.stack([1, n, 1]))


def repeat_elements(x: Any, rep: int, axis: int) -> Any:
    """Return each slice along an axis `rep` times, as `numpy.repeat`."""
    rank = x.shape.ndims
    axis %= rank
    sizes = [raw.Shape(x)[place] for place in range(rank)]
    wide = array_ops.expand_dims(x, axis + 1)
    tiled = array_ops.tile(wide, [rep if place == axis + 1 else 1 for place in range(rank + 1)])
    sizes[axis] = sizes[axis] * rep
    result = array_ops.reshape(tiled, array_ops.stack(sizes))
    known = x.shape.as_list()
    known[axis] = None if known[axis] is None else known[axis] * rep
    result.set_shape(known)
    return result


def reverse(x: Any, axes: Any) -> Any:
    return ordering_ops.reverse(x, [axes] if isinstance(axes, int) else axes)


def gather(reference: Any, indices: Any) -> Any:
    """Return the rows of `reference` at the indices."""
    return gather_ops.gather(reference, indices)


def one_hot(indices: Any, num_classes: int) -> Any:
    return creation_ops.one_hot(indices, num_classes, axis=-1)


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    """Add a bias to each channel. A bias with more axes is added to each example.

    The channels are the last axis of such a bias.

    Raises:
        ValueError: the bias has neither one axis nor those of an example.
    """
    rank, own = x.shape.ndims, bias.shape.ndims
    if own not in (1, rank - 1):
        raise ValueError(
            f"Unexpected bias dimensions {own}, expected 1 or {rank - 1} dimensions, but got "
            f"bias shape {bias.shape}"
        )
    is_first = rank > 2 and settings.data_format(data_format) == "channels_first"
    if own == 1 and not is_first:
        return nn.bias_add(x, bias)
    if own == 1:
        return x + array_ops.reshape(bias, [1, -1, *(1,) * (rank - 2)])
    if is_first:
        bias = array_ops.transpose(bias, [own - 1, *range(own - 1)])
    return x + array_ops.expand_dims(bias, 0)


def is_sparse(tensor: Any) -> bool:
    return isinstance(tensor, SparseTensor)


def to_dense(tensor: Any) -> Any:
    """Return a sparse tensor as a dense one, and a dense one as it is."""
    return sparse_math_ops.sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


def gradients(loss: Any, variables: Any) -> list[Any]:
    """Return the gradients of `loss` with respect to each variable."""
    return backward.gradients(loss, variables)
