"""`tf.keras.layers` that combine several tensors (python/keras/layers/merge.py)."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, creation_ops, logic_ops, math_ops, reduce_ops
from capstan.api.layers import settings
from capstan.core import dtypes
from capstan.framework.raw import raw
from capstan.keras import built_in, products


class Merge(built_in.BuiltIn):
    """A layer whose inputs are a list of two tensors or more, with shapes that broadcast."""

    supports_masking = True

    def call(self, inputs: Any) -> Any:
        """Raises ValueError if there are fewer than two inputs, or their batches differ."""
        tensors = self._listed(inputs)
        rank = max(tensor.shape.ndims for tensor in tensors)
        return self._merged([_with_rank(tensor, rank) for tensor in tensors])

    def _listed(self, inputs: Any) -> list[Any]:
        if not isinstance(inputs, list | tuple) or len(inputs) < 2:
            raise ValueError(
                f"The layer {self.name} merges a list of at least 2 inputs. Got {inputs}"
            )
        batches = {tensor.shape.as_list()[0] for tensor in inputs} - {None}
        if len(batches) > 1:
            raise ValueError(
                f"The layer {self.name} cannot merge tensors with different batch sizes. Got "
                f"tensors with shapes: {[tensor.shape.as_list() for tensor in inputs]}"
            )
        return list(inputs)

    def _merged(self, tensors: list[Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must override _merged")

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Raises ValueError unless there is a list with a mask or None for each input."""
        given = [each for each in _checked(inputs, mask) if each is not None]
        masks = [math_ops.cast(each, dtypes.bool_) for each in given]
        return functools.reduce(logic_ops.logical_and, masks) if masks else None


def _checked(inputs: Any, masks: Any) -> Sequence[Any]:
    if masks is None:
        return []
    if not isinstance(masks, list | tuple) or len(masks) != len(inputs):
        raise ValueError(
            "`mask` and `inputs` of a merge layer should be lists of the same length. Got the "
            f"mask {masks} and the inputs {inputs}"
        )
    return masks


def _with_rank(tensor: Any, rank: int) -> Any:
    """Return a tensor with axes of size 1 behind the batch, so that it has this rank."""
    for _ in range(rank - tensor.shape.ndims):
        tensor = raw.ExpandDims(tensor, 1)
    return tensor


class Add(Merge):
    """Adds the tensors."""

    def _merged(self, tensors: list[Any]) -> Any:
        return functools.reduce(lambda one, other: one + other, tensors)


class Subtract(Merge):
    """Subtracts the second of two tensors from the first."""

    def _merged(self, tensors: list[Any]) -> Any:
        if len(tensors) != 2:
            raise ValueError(
                f"A `Subtract` layer should be called on exactly 2 inputs. Got {len(tensors)}"
            )
        return tensors[0] - tensors[1]


class Multiply(Merge):
    """Multiplies the tensors, element by element."""

    def _merged(self, tensors: list[Any]) -> Any:
        return functools.reduce(lambda one, other: one * other, tensors)


class Average(Merge):
    """Returns the mean of the tensors."""

    def _merged(self, tensors: list[Any]) -> Any:
        return functools.reduce(lambda one, other: one + other, tensors) / len(tensors)


class Maximum(Merge):
    """Returns the largest of the tensors, element by element."""

    def _merged(self, tensors: list[Any]) -> Any:
        return functools.reduce(math_ops.maximum, tensors)


class Minimum(Merge):
    """Returns the smallest of the tensors, element by element."""

    def _merged(self, tensors: list[Any]) -> Any:
        return functools.reduce(math_ops.minimum, tensors)


class Concatenate(Merge):
    """Joins the tensors along an axis, which counts the batch as 0."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return array_ops.concat(self._listed(inputs), self.axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Raises ValueError unless there is a list with a mask or None for each input."""
        if all(each is None for each in _checked(inputs, mask)):
            return None
        wide = [
            creation_ops.ones_like(tensor, dtypes.bool_) if each is None else _like(each, tensor)
            for tensor, each in zip(inputs, mask, strict=True)
        ]
        return reduce_ops.reduce_all(array_ops.concat(wide, self.axis), axis=-1)


def _like(mask: Any, tensor: Any) -> Any:
    """Return a mask, as booleans, with the shape of its tensor."""
    mask = math_ops.cast(mask, dtypes.bool_)
    if mask.shape.ndims == tensor.shape.ndims:
        return mask
    while mask.shape.ndims < tensor.shape.ndims:
        mask = raw.ExpandDims(mask, -1)
    return raw.BroadcastTo(mask, raw.Shape(tensor))


class Dot(Merge):
    """Sums the products of two tensors along an axis of each, for each example.

    `axes` is one axis for both tensors, or a pair. With `normalize`, the vectors along the axes
    have the norm 1, so that the products are cosines.
    """

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        """Raise TypeError or ValueError if `axes` is neither an int nor a pair of ints."""
        super().__init__(**kwargs)
        if not isinstance(axes, int | list | tuple):
            raise TypeError(f"Invalid type for `axes`: pass an int or two ints, not {axes!r}")
        pair = (axes, axes) if isinstance(axes, int) else tuple(axes)
        if len(pair) != 2 or not all(isinstance(axis, int) for axis in pair):
            raise ValueError(f"Invalid `axes` of a Dot layer: pass an int or two ints, not {axes}")
        self.axes = axes
        self.normalize = normalize

    def call(self, inputs: Any) -> Any:
        """Raises ValueError if there are not two inputs, or the axes do not fit their shapes."""
        if len(self._listed(inputs)) != 2:
            raise ValueError(f"A `Dot` layer should be called on exactly 2 inputs. Got {inputs}")
        pair = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        first, second = inputs
        if self.normalize:
            first, second = (_unit(each, axis) for each, axis in zip(inputs, pair, strict=True))
        return products.batch_dot(first, second, pair)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


def _unit(tensor: Any, axis: int) -> Any:
    squares = reduce_ops.reduce_sum(tensor * tensor, axis=axis, keepdims=True)
    return tensor * math_ops.rsqrt(math_ops.maximum(squares, settings.SETTINGS.epsilon**2))


def _as_list(inputs: Any) -> Any:
    """Return a tuple as a list. The layer refuses what is no list, such as a tensor."""
    return list(inputs) if isinstance(inputs, tuple) else inputs


def _functional(layer: Callable[..., Any]) -> Callable[..., Any]:
    def merge(inputs: Sequence[Any], **kwargs: Any) -> Any:
        return layer(**kwargs)(_as_list(inputs))

    return merge


def concatenate(inputs: Sequence[Any], axis: int = -1, **kwargs: Any) -> Any:
    """Return the tensors, joined along an axis."""
    return Concatenate(axis=axis, **kwargs)(_as_list(inputs))


def dot(inputs: Sequence[Any], axes: Any, normalize: bool = False, **kwargs: Any) -> Any:
    """Return the sums of products of two tensors, as `Dot` describes."""
    return Dot(axes=axes, normalize=normalize, **kwargs)(_as_list(inputs))


add = _functional(Add)
subtract = _functional(Subtract)
multiply = _functional(Multiply)
average = _functional(Average)
maximum = _functional(Maximum)
minimum = _functional(Minimum)
